"""The rules of the round: who speaks, what runs, what ends a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.base import ExecutionResult
from sandbox.fake import Scripted
from sessions.events import ApprovalEvent, ExecutionEvent, MessageEvent, NoticeEvent, ReviewEvent, StopEvent, TaskEvent
from tests.scripted_server import Reply
from tests.teams.table import APPROVE, MODELS, NO, YES, failed, ok, python, table, words
from utils.errors import ConfigurationError

DONE = "The answer is 2.\n\nSTOP"
TRACEBACK = 'Traceback (most recent call last):\n  File "block.py", line 1\nZeroDivisionError: division by zero\n'


async def test_an_error_is_mended_and_nobody_is_asked(tmp_path: Path) -> None:
    replies = [python("print(1/0)"), python("print(1+1)"), DONE]
    async with table(tmp_path, replies, results=[failed(TRACEBACK), ok("2\n")]) as t:
        stop = await t.conversation.run("Add one and one.")
        assert (stop.reason, stop.blocks_run, t.recorder.asked) == ("stopped", 2, [])
        assert t.ran == ["print(1/0)\n", "print(1+1)\n"]
        assert "ZeroDivisionError" in t.server.to_generator[1].last
        assert [event.seq for event in t.recorder.events] == list(range(1, len(t.recorder.events) + 1))
        assert list(t.store.events(t.conversation.session)) == t.recorder.events
        assert stop.usage.calls == 5


async def test_what_the_sandbox_notes_is_told_to_human_and_generator(tmp_path: Path) -> None:
    note = "the kernel was restarted, its variables are gone: it ended with the block"
    result = Scripted(result=ExecutionResult(3, "x\n", 0.1, notes=(note,)))
    async with table(tmp_path, [python("import os; os._exit(3)"), DONE], results=[result]) as t:
        await t.conversation.run("x")
        [notice] = [event for event in t.recorder.of(NoticeEvent) if event.kind == "sandbox"]
        assert notice.text == f"T{note[1:]}"
        assert note in t.generator_read


SHOWN = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"


@pytest.mark.parametrize(
    ("code", "result"),
    [
        (SHOWN + "\nplt.savefig(buffer)", ok()),
        (SHOWN, Scripted(files={"plot.png": b"x"})),
        (SHOWN, failed("NameError")),
        ("import matplotlib\nprint(matplotlib.__version__)", ok("3.10\n")),
        ("box.show()", ok()),
    ],
)
async def test_a_plot_that_was_saved_or_not_made_is_not_noted(tmp_path: Path, code: str, result: Scripted) -> None:
    async with table(tmp_path, [python(code), DONE], results=[result]) as t:
        await t.conversation.run("x")
        assert "picture" not in t.generator_read


async def test_each_run_has_its_approval_before_it(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)"), DONE], results=[ok("1\n")]) as t:
        await t.conversation.run("x")
        review, approval, run = (t.recorder.of(kind)[0] for kind in (ReviewEvent, ApprovalEvent, ExecutionEvent))
        assert review.digests == (approval.digest,) == (run.digest,)
        assert review.seq < approval.seq < run.seq
        assert approval.by == "policy"


async def test_the_words_stop_and_approve_in_a_task_end_nothing(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)"), "Done."], results=[ok("1\n")], answers=[APPROVE]) as t:
        stop = await t.conversation.run("APPROVE\nSTOP\nPrint 1.")
        assert (stop.reason, len(t.ran)) == ("approved", 1)


@pytest.mark.parametrize(
    "text",
    [
        python("print(1)") + "\nSTOP\n",
        "```text\nSTOP\n```\n",
        "> STOP\n",
        "I will not STOP here.\n",
        "    STOP\n",
        "stop\n",
    ],
)
async def test_what_does_not_stop(tmp_path: Path, text: str) -> None:
    async with table(tmp_path, [text, DONE], results=[ok("1\n")], answers=[words("Go on."), APPROVE]) as t:
        stop = await t.conversation.run("x")
        assert stop.reason == "stopped"
        assert len(t.server.to_generator) == 2


@pytest.mark.parametrize(
    "text", ["Done.\n\nSTOP", "STOP", "Done\nSTOP\n", "**STOP**", "- done\n\nSTOP.\n", "Done.\r\n\r\nSTOP\r\n"]
)
async def test_what_stops(tmp_path: Path, text: str) -> None:
    async with table(tmp_path, [text]) as t:
        assert (await t.conversation.run("x")).reason == "stopped"


@pytest.mark.parametrize("text", ["STOP", "I approve", "APPROVE it", "STOP\n"])
async def test_other_words_of_the_user_are_feedback(tmp_path: Path, text: str) -> None:
    async with table(tmp_path, ["Which one?", DONE], answers=[words(text)]) as t:
        assert (await t.conversation.run("x")).reason == "stopped"
        assert text.strip() in t.generator_read


@pytest.mark.parametrize("text", ["APPROVE", "approve", " Approve \n"])
async def test_approve_as_the_whole_message_ends_the_task(tmp_path: Path, text: str) -> None:
    async with table(tmp_path, ["It is 2."], answers=[words(text)]) as t:
        stop = await t.conversation.run("x")
        assert (stop.reason, stop.source) == ("approved", "user_proxy")


async def test_passes_stay_out_of_the_generators_context(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)"), "Hm.", DONE], results=[ok("1\n")], answers=[words("Go on.")]) as t:
        await t.conversation.run("x")
        assert "(pass)" not in t.server.to_generator[-1].text
        assert sum(event.kind == "pass" for event in t.recorder.of(MessageEvent)) >= 2


async def test_a_second_task_goes_on_in_the_same_conversation(tmp_path: Path) -> None:
    async with table(tmp_path, ["One.\n\nSTOP", "Two.\n\nSTOP"]) as t:
        await t.conversation.run("first task")
        stop = await t.conversation.run("second task")
        assert stop.reason == "stopped"
        assert "first task" in t.server.requests[-1].text
        assert t.generator_read == "second task"
        assert [event.text for event in t.recorder.of(TaskEvent)] == ["first task", "second task"]


async def test_max_turns_is_a_limit(tmp_path: Path) -> None:
    replies = [python(f"print({n})") for n in range(3)]
    async with table(tmp_path, replies, results=[ok("1"), ok("2"), ok("3")], max_turns=9) as t:
        stop = await t.conversation.run("x")
        assert (stop.reason, len(t.ran)) == ("limit", 2)


async def test_max_tokens_is_a_limit(tmp_path: Path) -> None:
    replies = [Reply(python("print(1)"), usage=(90, 20))]
    async with table(tmp_path, replies, max_tokens=100) as t:
        stop = await t.conversation.run("x")
        assert (stop.reason, t.ran) == ("limit", [])
        assert "--max-tokens" in stop.text


async def test_code_that_ran_is_not_run_again_when_it_is_quoted(tmp_path: Path) -> None:
    quoted = python("print(2)", "This is what I ran:") + "\nSTOP"
    async with table(tmp_path, [python("print(2)"), quoted], results=[ok("2\n")]) as t:
        assert (await t.conversation.run("x")).reason == "stopped"
        assert len(t.ran) == 1


async def test_a_quotation_is_said_and_the_humans_words_make_it_a_wish(tmp_path: Path) -> None:
    replies = [python("print(2)"), python("print(2)"), python("print(2)"), DONE]
    async with table(tmp_path, replies, results=[ok("2\n"), ok("2\n")], answers=[words("Run it again.")]) as t:
        assert (await t.conversation.run("x")).reason == "stopped"
        assert len(t.ran) == 2
        assert [notice.kind for notice in t.recorder.of(NoticeEvent)] == ["quotation"]


async def test_code_that_failed_is_run_again_when_it_is_sent_again(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(2)"), python("print(2)"), DONE], results=[failed("a"), ok("2")]) as t:
        assert (await t.conversation.run("x")).reason == "stopped"
        assert len(t.ran) == 2


async def test_blocks_run_in_order_and_stop_at_the_first_that_fails(tmp_path: Path) -> None:
    message = "".join(python(f"print({n})") for n in range(3))
    async with table(tmp_path, [message, DONE], results=[ok("0\n"), failed("boom\n")]) as t:
        await t.conversation.run("x")
        assert t.ran == ["print(0)\n", "print(1)\n"]
        assert [event.exit_code for event in t.recorder.of(ExecutionEvent)] == [0, 1]


async def test_unterminated_fence_runs_nothing_and_the_generator_is_told(tmp_path: Path) -> None:
    async with table(tmp_path, ["```python\nprint(1)\n", DONE]) as t:
        await t.conversation.run("x")
        assert (t.ran, "never closed" in t.generator_read) == ([], True)


async def test_an_unknown_language_is_named_and_not_run(tmp_path: Path) -> None:
    async with table(tmp_path, ["```cobol\nDISPLAY 1.\n```", DONE]) as t:
        await t.conversation.run("x")
        assert t.ran == []
        assert "`cobol`" in t.generator_read
        assert "python" in t.generator_read


async def test_another_model_answers_from_the_next_turn_on(tmp_path: Path) -> None:
    async with table(tmp_path, ["One.\n\nSTOP", "Two.\n\nSTOP"]) as t:
        await t.conversation.run("first")
        assert "other" in t.conversation.set_model("other")
        await t.conversation.run("second")
        assert [request.body["model"] for request in t.server.requests] == ["scripted", "other"]
        assert "first" in t.server.requests[1].text


async def test_an_edited_prompt_is_in_force_at_the_next_turn(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "safety_reviewer.md").write_text("Review.")
    (prompts / "code_generator.md").write_text("Old prompt.")
    async with table(tmp_path, ["One.\n\nSTOP", "Two.\n\nSTOP"], prompts_dir=prompts) as t:
        await t.conversation.run("first")
        (prompts / "code_generator.md").write_text("New prompt for {{languages}}.")
        await t.conversation.run("second")
        assert ["Old prompt." in r.system for r in t.server.requests] == [True, False]
        assert "New prompt for python" in t.server.requests[1].system


async def test_ask_always_asks_before_the_run_and_after_the_result(tmp_path: Path) -> None:
    answers = [YES, words("And 2?"), YES, APPROVE]
    replies = [python("print(1)"), python("print(2)")]
    async with table(tmp_path, replies, results=[ok("1\n"), ok("2\n")], answers=answers, ask="always") as t:
        stop = await t.conversation.run("x")
        assert (stop.reason, t.recorder.asked) == ("approved", ["run", "feedback", "run", "feedback"])


async def test_without_a_human_words_are_an_answer(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)"), "It is 1."], results=[ok("1\n")], human=False) as t:
        assert (await t.conversation.run("x")).reason == "answered"


async def test_without_a_human_a_stuck_team_stops(tmp_path: Path) -> None:
    replies = [python(f"boom({n})") for n in range(2)]
    async with table(tmp_path, replies, results=[failed(TRACEBACK), failed(TRACEBACK)], human=False) as t:
        stop = await t.conversation.run("x")
        assert (stop.reason, "same error" in stop.text) == ("stuck", True)


async def test_a_stuck_team_asks_and_goes_on_with_the_humans_words(tmp_path: Path) -> None:
    replies = [python("boom(1)"), python("boom(2)"), DONE]
    answers = [words("Use another library.")]
    async with table(tmp_path, replies, results=[failed(TRACEBACK), failed(TRACEBACK)], answers=answers) as t:
        stop = await t.conversation.run("x")
        assert (stop.reason, t.recorder.asked) == ("stopped", ["stuck"])
        assert "Use another library." in t.generator_read


async def test_input_that_ends_at_a_question_interrupts(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)"), Reply(verdict="ask")]) as t:
        stop = await t.conversation.run("x")
        assert (stop.reason, t.ran) == ("interrupted", [])


async def test_a_run_refused_with_a_reason_reaches_the_generator(tmp_path: Path) -> None:
    from dataclasses import replace

    replies = [python("print(1)"), Reply(verdict="ask"), DONE]
    async with table(tmp_path, replies, answers=[replace(NO, text="use bash instead")]) as t:
        await t.conversation.run("x")
        assert t.ran == []
        assert "use bash instead" in t.generator_read


async def test_the_stop_says_what_was_used(tmp_path: Path) -> None:
    replies = [
        Reply(python("print(1)"), usage=(10, 5)),
        Reply(verdict="allow", usage=(20, 7)),
        Reply(DONE, usage=(30, 2)),
    ]
    async with table(tmp_path, replies, results=[ok("1")]) as t:
        stop: StopEvent = await t.conversation.run("x")
        assert (stop.usage.prompt_tokens, stop.usage.completion_tokens, stop.usage.calls) == (60, 14, 3)


async def test_a_model_for_an_agent_that_there_is_not_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.teams.table.MODELS", "agents: {{nobody: other}}\n" + MODELS)
    with pytest.raises(ConfigurationError, match="no agent 'nobody'"):
        async with table(tmp_path, []):
            pass
