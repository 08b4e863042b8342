"""What goes wrong: the model (case 58), the sandbox (54, 56), the disk (57), a cancel (16), and going on afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.fake import Scripted
from sessions.events import ErrorEvent, Event, ExecutionEvent, NoticeEvent, StopEvent
from sessions.progress import Waiting
from sessions.questions import Answer, Question
from tests.scripted_server import Reply
from tests.teams.table import NO, YES, Table, ok, python, table, words
from utils.errors import SandboxError, StoreError

DONE = "Done.\n\nSTOP"
ASK = Reply(verdict="ask")


def cancelled_at(t: Table, is_now: Callable[[Event], bool]) -> None:
    """Cancel as soon as such an event is shown."""
    show = t.recorder.on_event

    def on_event(event: Event) -> None:
        show(event)
        if is_now(event):
            asyncio.get_running_loop().call_soon(t.conversation.cancel)

    t.recorder.on_event = on_event  # type: ignore[method-assign]  # the conversation asks for it at each event


async def test_case_58_429_with_retry_after_is_waited_for_and_shown(tmp_path: Path) -> None:
    async with table(tmp_path, [Reply(status=429, retry_after="0"), DONE]) as t:
        assert (await t.conversation.run("x")).reason == "stopped"
        assert [type(p) for p in t.recorder.progress].count(Waiting) == 1


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(status=401, times=0), "key"),
        (Reply(status=404, times=0), "scripted"),
        (Reply(status=500, times=0), "500"),
        (Reply("", times=0), "nothing"),
        (Reply("some words and more", fault="malformed", after=1, times=0), ""),
        (Reply("some words and more", fault="reset", after=2, times=0), ""),
    ],
    ids=["401", "404", "500", "empty", "malformed", "reset"],
)
async def test_case_58_a_model_that_fails_is_a_clear_error(tmp_path: Path, reply: Reply, said: str) -> None:
    async with table(tmp_path, [reply]) as t:
        stop = await t.conversation.run("x")
        (error,) = t.recorder.of(ErrorEvent)
        assert stop.reason == "error"
        assert error.kind.endswith("Error")
        assert said in error.text
        assert "Traceback" not in error.text + error.hint


async def test_case_58_after_an_error_the_session_goes_on(tmp_path: Path) -> None:
    replies = [python("print(1)"), Reply(status=500, times=3), DONE]
    async with table(tmp_path, replies, results=[ok("1\n")]) as t:
        assert (await t.conversation.run("x")).reason == "error"
        stop = await t.conversation.resume()
        assert stop is not None
        assert stop.reason == "stopped"
        assert len(t.ran) == 1


async def test_case_58_a_request_too_long_is_shortened_and_tried_again(tmp_path: Path) -> None:
    replies = [python(f"print({n})") for n in range(3)]
    too_long = Reply(status=400, code="context_length_exceeded", error="maximum context length is 10 tokens")
    async with table(tmp_path, [*replies, too_long, DONE], results=[ok("1"), ok("2"), ok("3")]) as t:
        stop = await t.conversation.run("x")
        assert (stop.reason, [n.kind for n in t.recorder.of(NoticeEvent)]) == ("stopped", ["shortened"])
        assert len(t.server.requests[-1].messages) < len(t.server.requests[-2].messages)


async def test_a_fallback_takes_over_and_says_so(tmp_path: Path) -> None:
    replies = [Reply(status=500, times=3), DONE]
    async with table(tmp_path, replies, fallback="other") as t:
        stop = await t.conversation.run("x")
        assert stop.reason == "stopped"
        (notice,) = t.recorder.of(NoticeEvent)
        assert (notice.kind, "other" in notice.text) == ("fallback", True)
        assert t.server.requests[-1].body["model"] == "other"


async def test_a_fallback_that_fails_too_is_an_error(tmp_path: Path) -> None:
    async with table(tmp_path, [Reply(status=500, times=0)], fallback="other") as t:
        assert (await t.conversation.run("x")).reason == "error"


async def test_case_16_a_cancel_in_a_run_stops_it_and_the_next_task_works(tmp_path: Path) -> None:
    replies = [python("print(0)"), "Fine.\n\nSTOP"]
    async with table(tmp_path, replies, results=[Scripted(output="tick\n", hangs=True)]) as t:
        cancelled_at(t, lambda event: event.type == "output")
        stop = await t.conversation.run("x")
        (run,) = t.recorder.of(ExecutionEvent)
        assert (stop.reason, run.cancelled) == ("interrupted", True)
        assert (await t.conversation.run("next")).reason == "stopped"


async def test_a_cancel_in_a_model_call_leaves_no_request_behind(tmp_path: Path) -> None:
    async with table(tmp_path, [Reply("words and words", pause="here"), DONE]) as t:
        task = asyncio.create_task(t.conversation.run("x"))
        await asyncio.to_thread(t.server.wait_paused, "here")
        t.conversation.cancel()
        assert (await task).reason == "interrupted"
        assert (await t.conversation.run("y")).reason == "stopped"


async def test_a_cancel_at_a_question_runs_nothing_and_resume_asks_again(tmp_path: Path) -> None:
    asked = 0

    async def ask(question: Question) -> Answer:
        nonlocal asked
        asked += 1
        if asked == 1:
            t.conversation.cancel()
            await asyncio.Event().wait()
        return YES

    async with table(tmp_path, [python("print(1)"), ASK, DONE], results=[ok("1\n")]) as t:
        t.conversation.ask = ask
        assert (await t.conversation.run("x")).reason == "interrupted"
        assert t.ran == []
        stop = await t.conversation.resume()
        assert stop is not None
        assert (stop.reason, asked, len(t.ran)) == ("stopped", 2, 1)


async def test_case_56_a_sandbox_that_fails_is_replaced_and_the_generator_not_blamed(tmp_path: Path) -> None:
    replies = [python("print(1)"), python("print(2)"), DONE]
    results = [Scripted(error=SandboxError("The container is gone.")), ok("2\n")]
    async with table(tmp_path, replies, results=results) as t:
        stop = await t.conversation.run("x")
        (error,) = t.recorder.of(ErrorEvent)
        assert (stop.reason, error.kind) == ("stopped", "SandboxError")
        assert "no fault of the code" in t.server.to_generator[1].last
        assert t.ran == ["print(1)\n", "print(2)\n"]


async def test_case_54_a_sandbox_that_fails_again_stops_the_task(tmp_path: Path) -> None:
    gone = Scripted(error=SandboxError("Docker does not answer.", "Start it."))
    async with table(tmp_path, [python("print(1)"), python("print(2)")], results=[gone, gone]) as t:
        stop = await t.conversation.run("x")
        assert stop.reason == "error"
        assert "Docker does not answer." in stop.text


async def test_case_57_a_full_disk_stops_and_says_so_and_what_was_saved_is_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with table(tmp_path, [python("print(1)"), DONE], results=[ok("1\n")]) as t:
        append = t.store.append

        def full(session: str, event: Event) -> Event:
            if event.type in ("execution", "error", "stop"):
                raise StoreError("The disk is full.", "Make room.")
            return append(session, event)

        monkeypatch.setattr(t.store, "append", full)
        stop = await t.conversation.run("x")
        assert (stop.reason, "disk is full" in stop.text) == ("error", True)
        assert "StoreError" in [event.kind for event in t.recorder.of(ErrorEvent)]
        assert [event.type for event in t.store.events(t.conversation.session)][-1] == "output"


async def play(tmp_path: Path, session: str, *args: object, **more: object) -> tuple[StopEvent | None, Table]:
    async with table(tmp_path, *args, session=session, **more) as t:  # type: ignore[arg-type]  # handed through
        return await t.conversation.resume(), t


async def test_resume_asks_an_open_question_again(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)"), ASK]) as t:
        await t.conversation.run("the task")
        session = t.conversation.session
    stop, t = await play(tmp_path, session, [DONE], results=[ok("1\n")], answers=[YES])
    assert stop is not None
    assert (stop.reason, t.recorder.asked, t.ran) == ("stopped", ["run"], ["print(1)\n"])
    assert t.conversation.last_task == "the task"
    assert "the task" in t.server.requests[0].text


async def test_resume_never_reruns_an_interrupted_block_without_a_human(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)")], results=[Scripted(error=SandboxError("died"))]) as t:
        emit = t.conversation.emit

        def dying(event: object) -> object:
            if isinstance(event, ErrorEvent):
                raise RuntimeError("the program is killed here")
            return emit(event)  # type: ignore[arg-type]  # every other event

        t.conversation.emit = dying  # type: ignore[method-assign, assignment]
        t.conversation._turns.discard()
        with pytest.raises(RuntimeError, match="killed here"):
            await t.conversation.run("x")
        session = t.conversation.session
    stop, t = await play(tmp_path, session, [DONE], answers=[NO])
    assert stop is not None
    assert (t.ran, t.recorder.asked) == ([], ["run"])
    assert "interrupted" in t.recorder.questions[0].text
    assert [notice.kind for notice in t.recorder.of(NoticeEvent)] == ["interrupted"]


async def test_resume_of_a_finished_task_has_nothing_to_do(tmp_path: Path) -> None:
    async with table(tmp_path, [DONE]) as t:
        await t.conversation.run("x")
        session = t.conversation.session
    stop, t = await play(tmp_path, session, [DONE])
    assert stop is None
    assert t.server.requests == []


async def test_resume_after_a_limit_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)")], results=[ok("1\n")], max_turns=4) as t:
        assert (await t.conversation.run("x")).reason == "limit"
        session = t.conversation.session
    stop, t = await play(tmp_path, session, [DONE], max_turns=8)
    assert stop is not None
    assert stop.reason == "stopped"
    assert "print(1)" in t.server.requests[0].text


async def test_the_sandbox_that_cannot_start_is_an_error_and_the_model_is_not_called(tmp_path: Path) -> None:
    async with table(tmp_path, [DONE], answers=[words("x")]) as t:

        async def start() -> None:
            raise SandboxError("Docker is not running.", "Start Docker.")

        t.sandbox.start = start  # type: ignore[method-assign]  # the engine that is down
        stop = await t.conversation.run("x")
        assert (stop.reason, t.server.requests) == ("error", [])
        assert stop.text == "Docker is not running. Start Docker."
