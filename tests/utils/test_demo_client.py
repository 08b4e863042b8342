from __future__ import annotations

import asyncio
import time
from contextlib import redirect_stdout
from io import StringIO

import pytest
from autogen_core import CancellationToken
from autogen_core.models import AssistantMessage, CreateResult, LLMMessage, UserMessage

from agents.code_review import ModelReview
from safety import rules
from safety.code_blocks import CodeBlock, parse
from utils.demo_client import DemoClient, load_demo
from utils.model_profiles import Profile
from utils.models import Models, create_client
from utils.settings import ROOT
from utils.structured_output import ask_structured

LANGUAGES = {"python": "python", "bash": "bash"}


def client(source: str, pace_s: float = 0.0) -> DemoClient:
    made = create_client(Profile(name="demo", kind="demo", model="demo", pace_s=pace_s), source=source)
    assert isinstance(made, DemoClient)
    return made


def blocks() -> list[tuple[CodeBlock, ...]]:
    return [parse(reply, LANGUAGES).blocks for reply in load_demo().replies["code_generator"]]


def ask() -> list[LLMMessage]:
    return [UserMessage(content=load_demo().task, source="user")]


async def said(messages: list[LLMMessage]) -> tuple[str, str]:
    shown, content = "", ""
    async for piece in client("code_generator").create_stream(messages):
        if isinstance(piece, CreateResult):
            content = str(piece.content)
        else:
            shown += piece
    return shown, content


def test_the_demo_needs_no_key() -> None:
    models = Models.load(ROOT / "models.yaml", {})
    assert models.is_ready("demo")
    assert models.resolve("demo").label == "demo"


def test_the_recording_is_one_block_a_reply_and_then_words_with_stop() -> None:
    assert [len(found) for found in blocks()] == [1, 1, 1, 0]
    last = load_demo().replies["code_generator"][-1]
    assert last.rstrip().splitlines()[-1] == "STOP"
    assert len(load_demo().replies["safety_reviewer"]) == 3


def test_nothing_of_the_recording_is_risky() -> None:
    assert [rules.review(b.language, b.code)[0] for found in blocks() for b in found] == ["allow"] * 3


def test_the_first_version_fails_and_the_second_prints_the_factorial() -> None:
    first, second, *_ = blocks()
    with pytest.raises(TypeError, match="can only concatenate str"):
        exec(first[0].code, {})
    output = StringIO()
    with redirect_stdout(output):
        exec(second[0].code, {})
    assert "factorial(5) = 120" in output.getvalue()


async def test_replies_follow_what_the_conversation_holds() -> None:
    messages = ask()
    for reply in load_demo().replies["code_generator"]:
        assert await said(messages) == (reply, reply)
        assert await said(messages) == (reply, reply)  # the turn is tried again, by a new client
        messages += [AssistantMessage(content=reply, source="code_generator"), UserMessage(content="ok", source="p")]
    assert (await said(messages))[1] == load_demo().over


async def test_the_reviewer_allows() -> None:
    reviewer = client("safety_reviewer")
    for _ in range(4):
        answer = await ask_structured(reviewer, ask(), ModelReview)
        assert [(one.block, one.verdict) for one in answer.verdicts] == [(0, "allow")]
    assert reviewer.usage.calls == 4


async def test_another_agent_is_told_that_it_is_a_recording() -> None:
    assert (await client("my_own_agent").create(ask())).content == load_demo().over


async def test_the_pace_is_kept_and_can_be_cancelled() -> None:
    token = CancellationToken()
    pieces = client("code_generator", pace_s=0.02).create_stream(ask(), cancellation_token=token)
    started = time.monotonic()
    for _ in range(5):
        assert isinstance(await anext(pieces), str)
    assert time.monotonic() - started >= 0.1
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await anext(pieces)
