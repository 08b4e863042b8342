from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from autogen_core import CancellationToken, Image
from autogen_core.models import CreateResult, LLMMessage, SystemMessage, UserMessage
from autogen_core.tools import FunctionTool

from tests.scripted_server import Reply, ScriptedServer
from tests.utils.conftest import Make
from utils.model_client import ModelClient
from utils.model_profiles import Profile
from utils.models import create_client

HELLO: list[LLMMessage] = [SystemMessage(content="Be short."), UserMessage(content="Say hello.", source="user")]
CODE = "Here:\n\n```python\nprint('a')\n```\n"


async def stream(client: ModelClient, **options: Any) -> tuple[str, CreateResult]:
    shown, result = "", None
    async for piece in client.create_stream(HELLO, **options):
        if isinstance(piece, str):
            shown += piece
        else:
            result = piece
    assert result is not None
    return shown, result


async def test_an_answer_streams_and_ends_with_its_result(make: Make) -> None:
    async with ScriptedServer([Reply(CODE, usage=(12, 7))]) as server:
        client = make(server)
        shown, result = await stream(client)
    assert shown == result.content == CODE
    assert result.finish_reason == "stop"
    assert (client.usage.prompt_tokens, client.usage.completion_tokens, client.usage.calls) == (12, 7, 1)
    assert client.last_cut == ""
    assert server.requests[0].is_streamed
    assert [m["role"] for m in server.requests[0].messages] == ["system", "user"]


async def test_an_answer_in_one_piece(make: Make) -> None:
    async with ScriptedServer([Reply(CODE, usage=(12, 7), thought="a plan")]) as server:
        client = make(server)
        result = await client.create(HELLO)
    assert (result.content, result.thought) == (CODE, "a plan")
    assert (client.last_usage.prompt_tokens, client.last_usage.completion_tokens) == (12, 7)


@pytest.mark.parametrize("usage_at", ["last", "finish", "never"])
@pytest.mark.parametrize(
    ("finish", "cut"), [("stop", ""), ("length", "length"), ("content_filter", "content_filter"), (None, "broken off")]
)
@pytest.mark.parametrize("streamed", [True, False])
async def test_case_43_how_an_answer_ended_is_never_lost(
    make: Make, streamed: bool, finish: str | None, cut: str, usage_at: Any
) -> None:
    async with ScriptedServer([Reply(CODE, finish=finish, usage_at=usage_at)]) as server:
        client = make(server)
        result = (await stream(client))[1] if streamed else await client.create(HELLO)
    assert client.last_cut == cut
    assert result.finish_reason == (finish or "unknown")
    assert result.content == CODE


async def test_case_43_a_stream_that_just_ends_is_cut(make: Make) -> None:
    async with ScriptedServer([Reply(CODE, fault="end", after=4)]) as server:
        client = make(server)
        _, result = await stream(client)
    assert client.last_cut == "broken off"
    assert result.finish_reason == "unknown"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_reasoning_fields_stream_in_marks_and_stay_out_of_the_words(make: Make, name: Any) -> None:
    thought = "khink of it\nthen kin\n"  # begins and ends with letters that AutoGen's client strips
    async with ScriptedServer([Reply(CODE, thought=thought, thought_field=name)]) as server:
        shown, result = await stream(make(server))
    assert shown == f"<think>{thought}</think>\n\n{CODE}"
    assert (result.thought, result.content) == (thought.strip(), CODE)


async def test_a_thought_in_the_text_stays_out_of_the_words(make: Make) -> None:
    async with ScriptedServer([Reply(f"<think>```python\nbad()\n```</think>\n\n{CODE}")]) as server:
        _, result = await stream(make(server))
    assert result.content == CODE
    assert result.thought == "```python\nbad()\n```"


async def test_usage_is_estimated_where_the_endpoint_does_not_count(make: Make) -> None:
    async with ScriptedServer([Reply("x" * 400, usage_at="never")]) as server:
        client = make(server)
        _, result = await stream(client)
    assert client.usage.estimated
    assert result.usage.completion_tokens == 100
    assert client.usage.completion_tokens == 100
    assert client.usage.prompt_tokens > 0


async def test_a_refused_parameter_is_left_out_and_remembered(make: Make) -> None:
    async with ScriptedServer(["one", "two"], refuse=["stream_options", "temperature"]) as server:
        client = make(server, temperature=0.5)
        await stream(client)
        await stream(client)
    assert [sorted({"stream_options", "temperature"} & set(r.body)) for r in server.requests] == [
        ["stream_options", "temperature"],
        ["temperature"],
        [],
        [],
    ]


async def test_a_refused_max_tokens_goes_by_its_newer_name(make: Make) -> None:
    async with ScriptedServer(["one"], refuse=["max_tokens"]) as server:
        await stream(make(server, max_tokens=77))
    assert server.requests[-1].body["max_completion_tokens"] == 77


@pytest.mark.parametrize("status", [400, 500])
async def test_roles_are_put_as_the_chat_template_of_a_local_model_wants_them(make: Make, status: int) -> None:
    chat = [HELLO[0], HELLO[1], UserMessage(content="Now.", source="user")]
    async with ScriptedServer(
        [
            Reply(status=status, error="Conversation roles must alternate user/assistant/user/assistant/..."),
            Reply(status=status, error="System role not supported"),
            "one",
            "two",
        ]
    ) as server:
        client = make(server)
        await client.create(chat)
        await client.create(chat)
    assert [[m["role"] for m in request.messages] for request in server.requests] == [
        ["system", "user", "user"],
        ["system", "user"],
        ["user"],
        ["user"],
    ]
    assert server.requests[-1].last == "Be short.\n\nSay hello.\n\nNow."


async def test_settings_of_the_profile_are_sent(make: Make) -> None:
    async with ScriptedServer(["one"], key="sk-planted") as server:
        client = make(server, temperature=0.25, max_tokens=50, reasoning_effort="low", api_key="sk-planted")
        await client.create(HELLO)
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"], body["reasoning_effort"]) == (0.25, 50, "low")
    assert "response_format" not in body
    assert "stream_options" not in body


@pytest.mark.parametrize("model", ["claude-sonnet-5", "gemini-3.6-flash", "Llama-4", "gpt-4o", "o3", "anything/at:all"])
async def test_any_model_name_goes_to_the_address_of_its_profile(
    make: Make, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "LLAMA_API_KEY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/never")
    async with ScriptedServer(["one"]) as server:
        await make(server, model=model).create(HELLO)
    assert server.requests[0].body["model"] == model
    assert server.requests[0].headers["authorization"] == "Bearer none"


async def test_no_proxy_stands_before_this_machine(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with ScriptedServer(["one"]) as server:
        assert (await make(server).create(HELLO)).content == "one"


async def test_a_client_is_not_dumped_with_its_key(make: Make) -> None:
    async with ScriptedServer() as server:
        with pytest.raises(NotImplementedError):
            make(server, api_key="sk-planted").dump_component()


async def test_azure(make: Make) -> None:
    async with ScriptedServer(["one", "two"], key="k") as server:
        root = server.base_url.removesuffix("/v1")
        client = make(server, kind="azure", base_url=root, model="mine", api_version="2024-10-21", api_key="k")
        await stream(client)
        await client.create(HELLO)
    assert server.requests[0].path == "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert server.requests[0].headers["api-key"] == "k"


async def test_messages_carry_no_names(make: Make) -> None:
    async with ScriptedServer(["one"]) as server:
        await make(server).create([UserMessage(content="hi", source="code_executor")])
    assert "name" not in server.requests[0].messages[0]


async def test_a_tool_call_comes_through(make: Make) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    async with ScriptedServer(["five"]) as server:
        result = await make(server).create(HELLO, tools=[FunctionTool(add, description="Adds.")])
    assert server.requests[0].body["tools"][0]["function"]["name"] == "add"
    assert result.content == "five"


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("reply", [Reply(fault="hang"), Reply("one two three", fault="hang", after=1)])
async def test_a_cancel_ends_the_call_and_its_connection(make: Make, reply: Reply, streamed: bool) -> None:
    token = CancellationToken()
    async with ScriptedServer([reply]) as server:
        client = make(server)
        call = stream(client, cancellation_token=token) if streamed else client.create(HELLO, cancellation_token=token)
        task = asyncio.ensure_future(call)
        await asyncio.to_thread(server.wait_requests, 1)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
        await asyncio.to_thread(server.wait_abandoned, 1)


async def test_a_cancel_ends_the_wait_between_two_tries(make: Make) -> None:
    token = CancellationToken()
    waiting = asyncio.Event()
    async with ScriptedServer([Reply(status=429, retry_after="60")]) as server:
        profile = Profile(name="t", base_url=server.base_url, model="m")
        client = create_client(profile, on_wait=lambda *_: waiting.set())
        task = asyncio.ensure_future(client.create(HELLO, cancellation_token=token))
        await asyncio.wait_for(waiting.wait(), 10)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
        await client.close()


async def test_pieces_come_while_the_answer_is_made(make: Make) -> None:
    async with ScriptedServer([Reply("one two three", pause="half")]) as server:
        pieces = make(server).create_stream(HELLO)
        assert await anext(pieces) == "one"
        server.release("half")
        assert [piece async for piece in pieces if isinstance(piece, str)] == [" two", " three"]


async def test_a_picture_is_refused_by_a_profile_without_vision(make: Make) -> None:
    picture = Image.from_base64(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
    )
    async with ScriptedServer() as server:
        with pytest.raises(ValueError, match="vision"):
            await make(server).create([UserMessage(content=["look", picture], source="user")])


async def test_a_count_of_tokens_needs_no_network(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken

    def refuse(*_: object) -> None:
        raise AssertionError("tiktoken fetches its tables")

    monkeypatch.setattr(tiktoken, "get_encoding", refuse)
    monkeypatch.setattr(tiktoken, "encoding_for_model", refuse)
    async with ScriptedServer(["one"]) as server:
        client = make(server, context_tokens=1000)
        await stream(client)
        assert 0 < client.count_tokens(HELLO) < 50
        assert 900 < client.remaining_tokens(HELLO) < 1000


def test_a_test_that_would_reach_a_real_model_fails() -> None:
    with socket.socket() as probe, pytest.raises(pytest.fail.Exception, match=r"198\.51\.100\.1"):
        probe.connect(("198.51.100.1", 80))
