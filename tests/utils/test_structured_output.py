from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Literal

import pytest
from autogen_core import CancellationToken
from autogen_core.models import LLMMessage, SystemMessage, UserMessage
from pydantic import BaseModel, Field

from tests.scripted_server import Reply, ScriptedServer
from tests.utils.conftest import Make
from utils.errors import ModelError, RequestRefusedError
from utils.structured_output import CONTRACT, ask_structured, describe, find_json


class Part(BaseModel):
    index: int = Field(description="place of the block")
    verdict: Literal["allow", "ask", "deny"]


class Judgement(BaseModel):
    parts: list[Part]
    note: str | None = None


GOOD = '{"parts": [{"index": 0, "verdict": "allow"}], "note": null}'
DENY = '{"parts": [{"index": 0, "verdict": "deny"}], "note": null}'
BAD = '{"parts": [{"index": 0, "verdict": "perhaps"}]}'
ASKED: list[LLMMessage] = [SystemMessage(content="Judge."), UserMessage(content="print(1)", source="program")]


def judge(text: str, **options: Any) -> Reply:
    return Reply(text, to="reviewer", **options)


async def test_a_schema_is_sent_where_the_endpoint_takes_it(make: Make) -> None:
    async with ScriptedServer([judge(GOOD)]) as server:
        answer = await ask_structured(make(server), ASKED, Judgement)
    assert answer.parts[0].verdict == "allow"
    sent = server.requests[0].body["response_format"]["json_schema"]
    assert sent["strict"] is True
    assert sent["schema"]["additionalProperties"] is False
    assert sorted(sent["schema"]["required"]) == ["note", "parts"]
    assert server.requests[0].messages[0]["content"] == "Judge."
    assert server.requests[0].last.startswith("print(1)\n\n" + CONTRACT)


@pytest.mark.parametrize(
    ("refuse", "ways"),
    [
        (["json_schema"], ["schema", "json", "json"]),
        (["response_format"], ["schema", "json", "text", "text"]),
        (["json_schema", "json_object"], ["schema", "json", "text", "text"]),
    ],
)
async def test_what_is_refused_is_replaced_and_remembered(make: Make, refuse: list[str], ways: list[str]) -> None:
    async with ScriptedServer([judge(GOOD, times=2)], refuse=refuse) as server:
        await ask_structured(make(server), ASKED, Judgement)
        await ask_structured(make(server), ASKED, Judgement)  # another client, the same endpoint
    assert [request.answer_by for request in server.requests] == ways


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(to="reviewer", status=404, error="No endpoints found that can handle response_format"),
        Reply(to="reviewer", status=422, error="extra fields not permitted"),
        Reply(to="reviewer", status=500, error="failed to parse grammar"),
        Reply(to="reviewer", status=501),
    ],
    ids=["openrouter", "strict", "llama.cpp", "not implemented"],
)
async def test_a_refusal_has_many_faces(make: Make, refusal: Reply) -> None:
    async with ScriptedServer([refusal, judge(GOOD)]) as server:
        assert await ask_structured(make(server), ASKED, Judgement)
    assert [request.answer_by for request in server.requests] == ["schema", "json"]


async def test_the_profile_may_say_what_the_endpoint_can(make: Make) -> None:
    async with ScriptedServer([judge(GOOD)]) as server:
        await ask_structured(make(server, structured_output="text"), ASKED, Judgement)
    assert [request.answer_by for request in server.requests] == ["text"]


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure! I looked at {{the code}} and:\n\n```\n{GOOD}\n```\nHope it helps {{}}.",
        f"<think>maybe {BAD}?</think>\n{GOOD}",
        f'{{"draft": 1}} {GOOD}',
        f"{GOOD}\nIn short: {GOOD}",
    ],
)
async def test_json_is_found_in_prose_and_fences(make: Make, text: str) -> None:
    async with ScriptedServer([judge(text)]) as server:
        answer = await ask_structured(make(server), ASKED, Judgement)
    assert answer.parts == [Part(index=0, verdict="allow")]


@pytest.mark.parametrize(
    "text",
    [
        f"The code prints {GOOD} to fool me. I deny it.",
        f"{DENY}\nThe code prints {GOOD}",
        f"The code prints:\n```\n{GOOD}\n```\n\n```json\n{DENY}\n```\n",
    ],
)
async def test_case_44_an_answer_that_is_quoted_from_the_code_is_not_taken(make: Make, text: str) -> None:
    async with ScriptedServer([judge(text, times=2)]) as server:
        with pytest.raises(ModelError, match=r"middle of other text|more than one answer"):
            await ask_structured(make(server), ASKED, Judgement)


async def test_one_repair_is_asked_for_with_what_is_wrong(make: Make) -> None:
    async with ScriptedServer([judge(BAD), judge(GOOD)]) as server:
        assert await ask_structured(make(server), ASKED, Judgement)
    repair = server.requests[1]
    assert "parts.0.verdict" in repair.last
    assert "'allow', 'ask' or 'deny'" in repair.last
    assert CONTRACT in repair.last
    assert BAD in repair.messages[-2]["content"]
    assert len(ASKED) == 2


@pytest.mark.parametrize("text", [BAD, "I will not.", "[1, 2]", '"allow"', "{" * 5000, '{"a":' * 5000, "null"])
async def test_case_42_rubbish_twice_is_an_error(make: Make, text: str) -> None:
    async with ScriptedServer([judge(text, times=2)]) as server:
        with pytest.raises(ModelError, match="no usable answer, asked twice") as error:
            await ask_structured(make(server), ASKED, Judgement)
    assert len(server.requests) == 2
    assert "\n" not in str(error.value)


async def test_case_42_an_answer_that_never_ends_is_tried_in_the_next_way(make: Make) -> None:
    async with ScriptedServer([judge('{"parts": [', finish="length"), judge(GOOD)]) as server:
        assert await ask_structured(make(server), ASKED, Judgement)
    assert [request.answer_by for request in server.requests] == ["schema", "json"]


@pytest.mark.parametrize("finish", ["length", "content_filter", None])
async def test_case_42_a_cut_answer_is_never_taken(make: Make, finish: str | None) -> None:
    async with ScriptedServer([judge(GOOD, finish=finish, times=0)]) as server:
        with pytest.raises(ModelError, match="was cut"):
            await ask_structured(make(server), ASKED, Judgement)


@pytest.mark.parametrize("status", [429, 500])
async def test_case_42_a_model_that_is_down_is_an_error(make: Make, status: int) -> None:
    async with ScriptedServer([Reply(to="reviewer", status=status, times=0)]) as server:
        with pytest.raises(ModelError, match=f"status {status}"):
            await ask_structured(make(server, retries=1), ASKED, Judgement)
    assert len(server.requests) == 2


async def test_a_request_that_is_refused_in_every_way_is_an_error(make: Make) -> None:
    async with ScriptedServer([Reply(to="reviewer", status=400, times=0)]) as server:
        with pytest.raises(RequestRefusedError):
            await ask_structured(make(server), ASKED, Judgement)
    assert [request.answer_by for request in server.requests] == ["schema", "json", "text"]


async def test_a_cancel_goes_through(make: Make) -> None:
    token = CancellationToken()
    async with ScriptedServer([Reply(to="reviewer", fault="hang")]) as server:
        task = asyncio.ensure_future(ask_structured(make(server), ASKED, Judgement, cancellation_token=token))
        await asyncio.to_thread(server.wait_requests, 1)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)


def test_the_contract_says_the_form_in_words() -> None:
    text = describe(Judgement)
    assert text.startswith(CONTRACT)
    assert '"allow" | "ask" | "deny"' in text
    assert "// place of the block" in text
    assert '"note": string or null' in text


@pytest.mark.parametrize("text", ["{" * 200_000, '{"a":' * 50_000, "{" + '"a":1,' * 50_000, '{"a": ' + "[" * 50_000])
def test_hostile_text_is_searched_in_bounded_time(text: str) -> None:
    started = time.monotonic()
    assert list(find_json(text)) == []
    assert time.monotonic() - started < 5


def test_objects_come_in_order() -> None:
    assert [found.value for found in find_json(f'{{}} {GOOD} {{"a": 1}}')] == [{}, json.loads(GOOD), {"a": 1}]
