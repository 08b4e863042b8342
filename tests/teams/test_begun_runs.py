"""Runs whose turn was never saved: again by a human's approval alone, and as bytes that are shown."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from sandbox.fake import FakeSandbox, Scripted
from sandbox.policy import SandboxPolicy
from sessions.events import ApprovalEvent, ErrorEvent, Event, ExecutionEvent, NoticeEvent, OutputEvent
from sessions.questions import Answer
from tests.scripted_server import Reply
from tests.teams import table as table_module
from tests.teams.table import NO, YES, ok, python, table, words
from utils.errors import ModelError, SandboxError, StoreError

DONE = "Done.\n\nSTOP"


def verdicts(*verdict: str) -> Reply:
    body = {"verdicts": [{"block": i, "verdict": v, "reason": "r"} for i, v in enumerate(verdict)]}
    return Reply(json.dumps(body), to="reviewer")


async def test_a_run_that_ended_before_its_turn_was_saved_is_not_run_again_unasked(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)")], results=[ok("1\n")]) as t:
        save = t.store.save_turn

        def save_turn(session: str, state: dict[str, object]) -> None:
            if t.sandbox.ran:
                raise StoreError("the program is killed here")
            save(session, state)

        t.store.save_turn = save_turn  # type: ignore[assignment, method-assign]  # the program ends in the middle
        await t.conversation.run("x")
        session = t.conversation.session
        assert [type(e) for e in t.store.events(session)].count(ExecutionEvent) == 1
    async with table(tmp_path, [DONE], results=[ok("1\n")], answers=[NO], session=session) as t:
        await t.conversation.resume()
        assert (t.ran, t.recorder.asked) == ([], ["run"])
        (notice,) = t.recorder.of(NoticeEvent)
        assert (notice.kind, "had ended" in notice.text) == ("interrupted", True)


async def test_a_turn_that_is_tried_again_by_another_model_runs_nothing_twice_unasked(tmp_path: Path) -> None:
    replies = [python("print(1)"), DONE]
    async with table(tmp_path, replies, results=[ok("1\n")], answers=[NO], fallback="other") as t:
        show = t.recorder.on_event
        failed: list[bool] = []

        def on_event(event: Event) -> None:
            show(event)
            if isinstance(event, ExecutionEvent) and not failed:
                failed.append(True)
                raise ModelError("the model is down")

        t.recorder.on_event = on_event  # type: ignore[method-assign]  # the turn fails after its run
        await t.conversation.run("x")
        assert (t.ran, t.recorder.asked) == (["print(1)\n"], ["run"])


async def test_where_an_edited_run_broke_off_the_bytes_before_the_edit_are_asked_about(tmp_path: Path) -> None:
    two = python("print('a')") + python("print('b')")
    edit = Answer("edit", code="print('edited')\n", index=0)
    replies = [two, verdicts("allow", "ask"), verdicts("allow")]
    async with table(tmp_path, replies, results=[Scripted(output="tick\n")], answers=[edit, YES]) as t:
        append = t.store.append
        dead: list[bool] = []

        def dying(session: str, event: Event) -> Event:
            if dead or isinstance(event, OutputEvent):
                dead.append(True)
                raise StoreError("the program is killed here")
            return append(session, event)

        t.store.append = dying  # type: ignore[method-assign]  # the program ends in the middle
        await t.conversation.run("x")
        assert t.ran == ["print('edited')\n"]
        session = t.conversation.session
    async with table(tmp_path, [DONE], answers=[NO], session=session) as t:
        await t.conversation.resume()
        assert t.ran == []
        assert t.recorder.questions[0].details["asked"] == [0, 1]


async def test_a_verdict_under_another_sandbox_yaml_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with table(tmp_path, [python("print(1)")]) as t:
        show = t.recorder.on_event

        def on_event(event: Event) -> None:
            show(event)
            if isinstance(event, ApprovalEvent):
                raise SandboxError("Docker was stopped.")

        t.recorder.on_event = on_event  # type: ignore[method-assign]  # the turn fails before anything runs
        assert (await t.conversation.run("x")).reason == "error"
        session = t.conversation.session

    def changed(results: list[Scripted], *, work_dir: Path) -> FakeSandbox:
        return FakeSandbox(results, work_dir=work_dir, policy=SandboxPolicy(network="full"))

    monkeypatch.setattr(table_module, "FakeSandbox", changed)
    async with table(tmp_path, [DONE], answers=[NO], session=session) as t:
        await t.conversation.resume()
        assert (t.ran, t.recorder.asked) == ([], ["run"])
        assert "sandbox.yaml" in t.recorder.questions[0].blocks[0].reason


async def test_what_an_agent_meets_is_one_line_and_no_other_model_is_tried(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)")], fallback="other") as t:

        async def run(*_: object, **__: object) -> None:
            raise FileNotFoundError(2, "No such file or directory", "/gone")

        t.sandbox.run = run  # type: ignore[assignment, method-assign]  # somebody removed the work directory
        stop = await t.conversation.run("x")
        (error,) = t.recorder.of(ErrorEvent)
        assert (stop.reason, "/gone" in error.text, t.recorder.of(NoticeEvent)) == ("error", True, [])


async def test_half_a_character_of_the_model_spoils_no_later_request(tmp_path: Path) -> None:
    replies = [python("print('\ud800')"), "Half a character: \ud800", DONE]
    async with table(tmp_path, replies, answers=[words("go \udcff on")]) as t:
        assert (await t.conversation.run("x \udcfe")).reason == "stopped"
        assert t.ran == []


async def test_closing_waits_for_the_end_of_the_task(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)")], results=[Scripted(output="tick\n", hangs=True)]) as t:
        running = asyncio.Event()
        show = t.recorder.on_event

        def on_event(event: Event) -> None:
            show(event)
            if isinstance(event, OutputEvent):
                running.set()

        t.recorder.on_event = on_event  # type: ignore[method-assign]  # the conversation asks for it at each event
        task = asyncio.create_task(t.conversation.run("x"))
        await running.wait()
        await t.conversation.close()
        assert (await task).reason == "interrupted"
        assert [event.type for event in t.store.events(t.conversation.session)][-1] == "stop"


async def test_a_cancel_does_not_wait_for_a_sandbox_that_starts(tmp_path: Path) -> None:
    async with table(tmp_path, [python("print(1)"), DONE]) as t:
        start = t.sandbox.start
        starting, ready = asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            if t.recorder.events and t.recorder.events[-1].type == "approval":
                starting.set()
                await ready.wait()
            await start()

        t.sandbox.start = slow  # type: ignore[method-assign]  # a fresh one, in place of one that failed
        task = asyncio.create_task(t.conversation.run("x"))
        await starting.wait()
        t.conversation.cancel()
        assert (await asyncio.wait_for(task, 5)).reason == "interrupted"
        ready.set()
        await asyncio.sleep(0)
        assert t.ran == []
        assert all(approval.taken_seq is None for approval in t.store.approvals(t.conversation.session))


async def test_a_cancel_between_two_tries_of_a_turn_is_heard(tmp_path: Path) -> None:
    too_long = Reply(status=400, code="context_length_exceeded", error="maximum context length is 10 tokens")
    replies = [*(python(f"print({n})") for n in range(3)), too_long]
    async with table(tmp_path, replies, results=[ok("1"), ok("2"), ok("3")]) as t:
        show = t.recorder.on_event

        def on_event(event: Event) -> None:
            show(event)
            if isinstance(event, NoticeEvent):
                t.conversation.cancel()

        t.recorder.on_event = on_event  # type: ignore[method-assign]  # the conversation asks for it at each event
        assert (await t.conversation.run("x")).reason == "interrupted"
        assert len(t.server.to_generator) == 4
