"""Case 58 of the abuse cases: each fault of a model, through real HTTP."""

from __future__ import annotations

import socket
import time
from typing import Any
from urllib.parse import urlsplit

import httpx
import openai
import pytest
from autogen_core.models import CreateResult, UserMessage

from tests.scripted_server import Reply, ScriptedServer
from utils.errors import ContextLengthError, ModelError, RequestRefusedError, StreamBrokenError
from utils.model_client import ModelClient
from utils.model_faults import explain
from utils.model_profiles import Profile
from utils.models import create_client

KEY = "sk-planted-key"
HELLO = [UserMessage(content="Say hello.", source="user")]

Waits = list[tuple[str, int, int, float]]


@pytest.fixture(params=["streamed", "whole"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "streamed")


async def call(base_url: str, *, streamed: bool = True, **options: Any) -> tuple[CreateResult, ModelClient, Waits]:
    waits: Waits = []
    profile = Profile(
        **{
            "name": "t",
            "base_url": base_url,
            "model": "m",
            "api_key": KEY,
            "api_key_env": "THE_KEY",
            "retry_base_s": 0.0,
            "connect_timeout_s": 2.0,
            **options,
        }
    )
    client = create_client(profile, on_wait=lambda *wait: waits.append(wait))
    try:
        if not streamed:
            return await client.create(HELLO), client, waits
        async for piece in client.create_stream(HELLO):
            if isinstance(piece, CreateResult):
                return piece, client, waits
        raise AssertionError("no result")
    finally:
        await client.close()


PASSING = [
    Reply(status=429, retry_after="0"),
    Reply(status=500),
    Reply(status=502),
    Reply(status=503),
    Reply(status=529),
    Reply(status=408),
    Reply(""),
    Reply(fault="reset"),
    Reply(fault="malformed"),
    Reply(fault="odd"),
]


@pytest.mark.parametrize("fault", PASSING, ids=lambda reply: f"{reply.status} {reply.fault} {reply.text[:7]}")
async def test_a_fault_that_passes_is_tried_again_and_shown(fault: Reply, streamed: bool) -> None:
    async with ScriptedServer([fault, "hello"]) as server:
        result, client, waits = await call(server.base_url, streamed=streamed)
    assert result.content == "hello"
    assert len(server.requests) == 2
    assert len(waits) == 1
    assert waits[0][1] == 2
    assert waits[0][0]
    # A refusal is no call that costs anything; an empty answer is one.
    assert client.last_usage.calls == (2 if fault == Reply("") else 1)


@pytest.mark.parametrize("fault", PASSING[:6] + PASSING[7:], ids=lambda reply: f"{reply.status} {reply.fault}")
async def test_a_fault_that_stays_ends_in_one_line(fault: Reply, streamed: bool) -> None:
    async with ScriptedServer([Reply(**{**vars(fault), "times": 0})]) as server:
        with pytest.raises(ModelError, match=r"Tried 3 times\.") as error:
            await call(server.base_url, streamed=streamed, retries=2)
    assert len(server.requests) == 3
    assert error.value.hint
    assert "\n" not in str(error.value)


async def test_an_empty_answer_is_tried_again_once(streamed: bool) -> None:
    async with ScriptedServer([Reply(" ", times=0)]) as server:
        with pytest.raises(ModelError, match="answered nothing"):
            await call(server.base_url, streamed=streamed)
    assert len(server.requests) == 2


async def test_an_answer_that_is_only_a_thought_is_empty() -> None:
    thought = Reply("<think>only a thought</think>")
    async with ScriptedServer([thought, "hello", thought]) as server:
        result, _, _ = await call(server.base_url, streamed=False)
        assert result.content == "hello"
        # Streamed, the thought has been shown: the turn has to be tried again, not the call.
        with pytest.raises(StreamBrokenError, match="empty answer"):
            await call(server.base_url)


async def test_an_empty_answer_that_was_cut_is_not_tried_again(streamed: bool) -> None:
    async with ScriptedServer([Reply("", finish="length")]) as server:
        result, client, _ = await call(server.base_url, streamed=streamed)
    assert result.content == ""
    assert client.last_cut == "length"


@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_key_names_its_variable_and_never_the_key(status: int, streamed: bool) -> None:
    async with ScriptedServer([Reply(status=status, error=f"Incorrect API key provided: {KEY}")]) as server:
        with pytest.raises(ModelError, match="refused the key") as error:
            await call(server.base_url, streamed=streamed)
    assert len(server.requests) == 1
    assert "THE_KEY" in error.value.hint
    assert "planted" not in str(error.value)


async def test_the_key_is_cut_out_of_what_an_endpoint_says() -> None:
    async with ScriptedServer([Reply(status=400, error=f"bad\nrequest with {KEY}" + "x" * 900)]) as server:
        with pytest.raises(RequestRefusedError) as error:
            await call(server.base_url)
    assert "planted" not in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600


async def test_a_model_that_is_not_there_is_named_with_its_endpoint(streamed: bool) -> None:
    async with ScriptedServer([Reply(status=404, error="model 'm' not found")]) as server:
        with pytest.raises(ModelError, match=r"no model m at http://127\.0\.0\.1"):
            await call(server.base_url, streamed=streamed)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [402, 429])
async def test_a_used_up_account_is_not_tried_again(status: int) -> None:
    async with ScriptedServer([Reply(status=status, code="insufficient_quota")]) as server:
        with pytest.raises(ModelError, match="payment"):
            await call(server.base_url)
    assert len(server.requests) == 1


async def test_retry_after_is_kept() -> None:
    async with ScriptedServer([Reply(status=429, retry_after="0.2"), "hello"]) as server:
        started = time.monotonic()
        _, _, waits = await call(server.base_url)
    assert time.monotonic() - started >= 0.2
    assert waits[0][3] == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("retry_after", ["3600", "Fri, 01 Jan 2100 00:00:00 GMT", "inf", "1e400"])
async def test_a_wait_beyond_the_budget_is_refused_at_once(retry_after: str) -> None:
    async with ScriptedServer([Reply(status=429, retry_after=retry_after)]) as server:
        with pytest.raises(ModelError, match=r"It asks to wait (\d+|inf) s"):
            await call(server.base_url)
    assert len(server.requests) == 1


@pytest.mark.parametrize("retry_after", ["soon", "-5", "nan"])
async def test_a_retry_after_that_makes_no_sense_is_passed_over(retry_after: str) -> None:
    async with ScriptedServer([Reply(status=429, retry_after=retry_after), "hello"]) as server:
        result, _, _ = await call(server.base_url)
    assert result.content == "hello"


async def test_waits_grow_with_jitter() -> None:
    async with ScriptedServer([Reply(status=503, times=3), "hello"]) as server:
        _, _, waits = await call(server.base_url, retry_base_s=0.04)
    for tries, (_, _, _, delay) in enumerate(waits):
        assert 0.02 * 2**tries <= delay <= 0.04 * 2**tries


async def test_the_budget_bounds_all_waits() -> None:
    async with ScriptedServer([Reply(status=503, retry_after="0.1", times=0)]) as server:
        with pytest.raises(ModelError, match="Tried 4 times"):
            await call(server.base_url, retries=20, retry_budget_s=0.35)


@pytest.mark.parametrize("fault", ["reset", "malformed", "odd", "error"])
async def test_a_stream_that_breaks_off_in_the_middle_is_told_and_not_mixed_with_another(fault: Any) -> None:
    async with ScriptedServer([Reply("one two three", fault=fault, after=2), "never asked for"]) as server:
        with pytest.raises(StreamBrokenError, match="broke off"):
            await call(server.base_url)
    assert len(server.requests) == 1


async def test_an_error_in_the_stream_before_a_word_is_tried_again() -> None:
    async with ScriptedServer([Reply(fault="error", error="overloaded"), "hello"]) as server:
        result, _, _ = await call(server.base_url)
    assert result.content == "hello"


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, "scripted", "context_length_exceeded"),
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000", None),
        (400, "the request exceeds the available context size, try increasing it", "exceed_context_size_error"),
        (500, "context length exceeded", None),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", None),
        (400, "The input token count (2000000) exceeds the maximum number of tokens allowed", None),
        (413, "Please reduce the length of the messages", None),
    ],
)
async def test_a_request_that_is_too_long_is_told_apart(
    status: int, error: str, code: str | None, streamed: bool
) -> None:
    async with ScriptedServer([Reply(status=status, error=error, code=code)]) as server:
        with pytest.raises(ContextLengthError):
            await call(server.base_url, streamed=streamed)
    assert len(server.requests) == 1


async def test_a_request_that_is_too_long_is_told_apart_in_a_stream() -> None:
    async with ScriptedServer([Reply("one two", fault="error", after=1, error="maximum context length")]) as server:
        with pytest.raises(ContextLengthError):
            await call(server.base_url)


async def test_a_request_that_the_content_filter_refuses() -> None:
    async with ScriptedServer([Reply(status=400, code="content_filter", error="filtered")]) as server:
        with pytest.raises(ModelError, match="content filter"):
            await call(server.base_url)


async def test_silence_before_the_first_word_is_tried_again_once(streamed: bool) -> None:
    async with ScriptedServer([Reply(fault="hang", times=0)]) as server:
        with pytest.raises(ModelError, match=r"did not answer in time.*Tried 2 times"):
            await call(server.base_url, streamed=streamed, first_token_timeout_s=0.2)
    assert len(server.requests) == 2


async def test_silence_in_the_middle_breaks_the_stream() -> None:
    async with ScriptedServer([Reply("one two three", fault="hang", after=1)]) as server:
        with pytest.raises(StreamBrokenError, match="in time"):
            await call(server.base_url, idle_timeout_s=0.2)


async def test_an_endpoint_that_cannot_be_reached_is_named(streamed: bool) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        with pytest.raises(ModelError, match=rf"{url} cannot be reached") as error:
            await call(url, streamed=streamed, retries=1)
    assert "\n" not in str(error.value)


def refused(error: OSError) -> openai.APIConnectionError:
    """As the SDK hands on what the system says."""
    fault = openai.APIConnectionError(request=httpx.Request("POST", "http://x"))
    fault.__cause__ = httpx.ConnectError("All connection attempts failed")
    fault.__cause__.__context__ = error
    return fault


@pytest.mark.parametrize(
    ("host", "error", "retry"),
    [
        ("127.0.0.1:9", ConnectionRefusedError(111, "refused"), "once"),
        ("localhost:9", ConnectionRefusedError(111, "refused"), "once"),
        ("192.168.1.7", ConnectionRefusedError(111, "refused"), "once"),
        ("127.0.0.1:9", ConnectionResetError(104, "reset"), "yes"),
        ("localhost", OSError(113, "no route"), "yes"),
        ("api.example.com", ConnectionRefusedError(111, "refused"), "yes"),
        ("8.8.8.8", ConnectionRefusedError(111, "refused"), "yes"),
    ],
)
def test_a_connection_refused_nearby_is_tried_once_more(host: str, error: OSError, retry: str) -> None:
    fault = explain(refused(error), Profile(name="t", base_url=f"http://{host}/v1", model="m"))
    assert fault is not None
    assert fault.retry == retry


async def test_a_server_that_has_just_started_answers_the_second_try() -> None:
    waits: list[tuple[str, int, int]] = []
    async with ScriptedServer(["Hello."]) as server:
        port = urlsplit(server.base_url).port
    started: list[ScriptedServer] = []

    def on_wait(reason: str, attempt: int, attempts: int, delay_s: float) -> None:
        waits.append((reason, attempt, attempts))
        started.append(ScriptedServer(["Hello."], port=port or 0).start())

    client = create_client(Profile(name="t", base_url=server.base_url, model="m", retry_base_s=0.0), on_wait=on_wait)
    result = await client.create(HELLO)
    await client.close()
    started[0].stop()
    assert result.content == "Hello."
    assert waits == [("connection refused", 2, 2)]


async def test_a_page_instead_of_an_api_is_told() -> None:
    async with ScriptedServer([Reply(fault="malformed", times=0)]) as server:
        with pytest.raises(ModelError, match="malformed") as error:
            await call(server.base_url, streamed=False, retries=1)
    assert "/v1" in error.value.hint


async def test_what_is_no_fault_of_the_model_comes_through() -> None:
    async with ScriptedServer() as server:
        client = create_client(Profile(name="t", base_url=server.base_url, model="m"))
        with pytest.raises(ValueError, match="Extra create args"):
            await client.create(HELLO, extra_create_args={"nonsense": 1})
        await client.close()
    assert server.requests == []
