"""The client that agents talk to: AutoGen's OpenAI client makes the request, this one makes it reliable.

It reads how an answer ended from the raw pieces, tries again where that helps, tells the thought from the words, counts
tokens, and puts every fault into one line for a person.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import httpx
from autogen_core import CancellationToken
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)
from autogen_core.tools import Tool, ToolSchema
from autogen_ext.models.openai import AzureOpenAIChatCompletionClient, OpenAIChatCompletionClient
from openai import DefaultAsyncHttpxClient, omit, pydantic_function_tool
from pydantic import BaseModel

from utils.errors import ContextLengthError, ModelError, RequestRefusedError, StreamBrokenError
from utils.model_abilities import Abilities, abilities
from utils.model_answer import Answer, Cut
from utils.model_faults import EmptyAnswerError, Fault, SilenceError, explain
from utils.model_profiles import Profile
from utils.models import OnWait

T = TypeVar("T")

_LONGEST_WAIT_S = 30.0


@dataclass(frozen=True)
class TokenUsage:
    """Model calls and their tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    estimated: bool = False
    """The endpoint did not count; four characters were taken for a token."""

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            self.estimated or other.estimated,
        )


@dataclass
class _Request:
    """One request, whatever number of times it is sent."""

    messages: Sequence[LLMMessage]
    tools: Sequence[Tool | ToolSchema]
    tool_choice: Tool | Literal["auto", "required", "none"]
    extra: dict[str, Any]
    cancellation_token: CancellationToken
    tries: int = 1
    waited_s: float = 0.0
    tried_once: bool = False


class ModelClient(ChatCompletionClient):
    """A chat completion client that raises only `ModelError` and its kin, and `asyncio.CancelledError`."""

    component_type = "model"
    component_provider_override = "utils.model_client.ModelClient"
    component_config_schema = Profile

    def __init__(self, profile: Profile, *, on_wait: OnWait | None = None) -> None:
        self.profile = profile
        self.usage = TokenUsage()
        """All calls of this client."""
        self.last_usage = TokenUsage()
        """The last call, with the tries that got an answer or a part of one."""
        self.last_cut: Cut = ""
        """How the last answer ended; empty: whole."""
        self._on_wait = on_wait
        self._inner = self._make_inner()

    def _make_inner(self) -> OpenAIChatCompletionClient | AzureOpenAIChatCompletionClient | None:
        return _make_client(self.profile, self.model_info)

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = [],
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """Ask for an answer in one piece. `json_output` is sent as it is: `utils.structured_output` finds a way."""
        extra = self._extra(extra_create_args, json_output)
        request = _Request(messages, tools, tool_choice, extra, cancellation_token or CancellationToken())
        answer = Answer()
        async with aclosing(self._try(request, stream=False)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Answer):
                    answer = piece
        return answer.result()

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = [],
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Stream an answer: pieces of text as they come, a thought in `<think>` marks, then the `CreateResult`.

        The result holds the words without the thought; its `finish_reason` is `unknown` where the stream just ended.
        Raises `StreamBrokenError` when the connection fails after a piece was yielded.
        """
        extra = self._extra(extra_create_args, json_output)
        if self.profile.stream_usage:
            extra.setdefault("stream_options", {"include_usage": True})
        request = _Request(messages, tools, tool_choice, extra, cancellation_token or CancellationToken())
        async with aclosing(self._try(request, stream=True)) as pieces:
            async for piece in pieces:
                yield piece.result() if isinstance(piece, Answer) else piece

    def _extra(self, extra: Mapping[str, Any], json_output: bool | type[BaseModel] | None) -> dict[str, Any]:
        parameters = dict(extra)
        for name in ("temperature", "max_tokens"):
            if (value := getattr(self.profile, name)) is not None:
                parameters.setdefault(name, value)
        if self.profile.reasoning_effort:
            parameters.setdefault("reasoning_effort", self.profile.reasoning_effort)
        if json_output is True:
            parameters["response_format"] = {"type": "json_object"}
        elif isinstance(json_output, type):
            parameters["response_format"] = _response_format(json_output)
        return parameters

    async def _try(self, request: _Request, *, stream: bool) -> AsyncGenerator[str | Answer, None]:
        """Send until there is an answer: pieces of its text, then the answer itself."""
        self.last_usage, self.last_cut = TokenUsage(), ""
        known = abilities(self.profile.endpoint)
        while True:
            answer, shown = Answer(), False
            try:
                async with aclosing(self._send(request, known, answer, stream=stream)) as pieces:
                    async for text in pieces:
                        shown = shown or bool(text.strip())
                        yield text
                if answer.is_empty and answer.cut in ("", "broken off"):
                    raise EmptyAnswerError
                self._count(request, answer)
                self.last_cut = answer.cut
                yield answer
                return
            except Exception as error:
                if answer.words or answer.thoughts or answer.prompt_tokens:
                    self._count(request, answer)
                fault = explain(error, self.profile)
                if fault is None:
                    raise
                if shown and not isinstance(fault.error, ContextLengthError):
                    raise StreamBrokenError(
                        f"The answer of {self.profile.model} broke off ({fault.reason}).", "Try again with /retry."
                    ) from error
                if isinstance(fault.error, RequestRefusedError) and known.learn(fault.error.message, request.extra):
                    continue
                failed = error
            await self._wait(request, fault, failed)

    async def _send(
        self, request: _Request, known: Abilities, answer: Answer, *, stream: bool
    ) -> AsyncGenerator[str, None]:
        """Send once; fill the answer and yield the pieces of its text."""
        assert self._inner is not None
        token = request.cancellation_token
        made = self._inner._process_create_args(
            request.messages, request.tools, request.tool_choice, None, known.parameters(request.extra)
        )
        call = self._inner._client.chat.completions.create(
            messages=known.messages(made.messages), stream=stream, tools=made.tools or omit, **made.create_args
        )
        reply: Any = await _within(self.profile.first_token_timeout_s, call, token)
        if not stream:
            answer.add_whole(reply)
            return
        limit_s = self.profile.first_token_timeout_s
        try:
            while True:
                try:
                    chunk = await _within(limit_s, anext(reply), token)
                except StopAsyncIteration:
                    return
                if text := answer.add_chunk(chunk):
                    limit_s = self.profile.idle_timeout_s
                    yield text
        finally:
            await reply.close()

    async def _wait(self, request: _Request, fault: Fault, cause: Exception) -> None:
        """Wait before the next try, or raise the fault's error when there is none."""
        profile = self.profile
        tries = profile.retries + 1 if fault.retry == "yes" else min(2, profile.retries + 1)
        exhausted = request.tries >= tries or (fault.retry == "once" and request.tried_once)
        if fault.retry == "no":
            raise fault.error from cause
        delay_s = _delay(request.tries, fault.retry_after_s, profile.retry_base_s)
        if exhausted or request.waited_s + delay_s > profile.retry_budget_s:
            raise _final(fault, request.tries) from cause
        request.tries += 1
        request.waited_s += delay_s
        request.tried_once = request.tried_once or fault.retry == "once"
        if self._on_wait is not None:
            self._on_wait(fault.reason, request.tries, tries, delay_s)
        sleep = asyncio.ensure_future(asyncio.sleep(delay_s))
        request.cancellation_token.link_future(sleep)
        await sleep

    def _count(self, request: _Request, answer: Answer) -> None:
        estimated = not answer.prompt_tokens and not answer.is_empty
        if estimated:
            answer.prompt_tokens = self.count_tokens(request.messages)
            answer.completion_tokens = sum(map(len, answer.words + answer.thoughts)) // 4
        usage = TokenUsage(answer.prompt_tokens, answer.completion_tokens, 1, estimated)
        self.last_usage += usage
        self.usage += usage

    async def close(self) -> None:
        """Close the connections."""
        if self._inner is not None:
            await self._inner.close()

    def actual_usage(self) -> RequestUsage:
        """Tokens of all calls."""
        return RequestUsage(self.usage.prompt_tokens, self.usage.completion_tokens)

    def total_usage(self) -> RequestUsage:
        """Tokens of all calls."""
        return self.actual_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """Estimate: four characters a token. The exact tables would have to be fetched from the network."""
        return sum(len(str(message.content)) // 4 + 4 for message in messages)

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """Estimate of what is left of the context window; a million where its size is not known."""
        return (self.profile.context_tokens or 1_000_000) - self.count_tokens(messages)

    @property
    def capabilities(self) -> ModelInfo:
        """See `model_info`."""
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        """What AutoGen asks of a model. Structured output is tried and, refused, replaced: so it says yes."""
        return ModelInfo(
            vision=self.profile.vision,
            function_calling=True,
            json_output=True,
            family=ModelFamily.UNKNOWN,
            structured_output=True,
            multiple_system_messages=False,
        )


def _make_client(profile: Profile, info: ModelInfo) -> OpenAIChatCompletionClient | AzureOpenAIChatCompletionClient:
    # Address and key are always given: AutoGen has its own for some model names, the SDK reads the environment.
    options: dict[str, Any] = {
        "model": profile.model,
        "api_key": profile.api_key.get_secret_value(),
        "model_info": info,
        "max_retries": 0,
        "timeout": httpx.Timeout(profile.first_token_timeout_s, connect=profile.connect_timeout_s),
        # Not every endpoint takes a name in a message.
        "include_name_in_message": False,
    }
    if profile.is_loopback:
        # A proxy from the environment has no business between this program and a model on the same machine.
        options["http_client"] = DefaultAsyncHttpxClient(trust_env=False, timeout=options["timeout"])
    if profile.kind == "azure":
        return AzureOpenAIChatCompletionClient(
            azure_endpoint=profile.base_url,
            azure_deployment=profile.model,
            api_version=profile.api_version,
            **options,
        )
    return OpenAIChatCompletionClient(base_url=profile.base_url, **options)


async def _within(limit_s: float, work: Awaitable[T], token: CancellationToken) -> T:
    future = asyncio.ensure_future(work)
    token.link_future(future)
    try:
        return await asyncio.wait_for(future, limit_s)
    except asyncio.TimeoutError as error:
        raise SilenceError from error


def _response_format(answer: type[BaseModel]) -> dict[str, Any]:
    schema = pydantic_function_tool(answer)["function"].get("parameters")
    return {"type": "json_schema", "json_schema": {"name": answer.__name__, "schema": schema, "strict": True}}


def _delay(tries: int, retry_after_s: float | None, base_s: float) -> float:
    """Exponential back-off with jitter; never less than the endpoint asks for."""
    jitter = random.uniform(0.5, 1.0)
    if retry_after_s is not None:
        return retry_after_s + min(base_s, 1.0) * (jitter - 0.5)
    return min(_LONGEST_WAIT_S, base_s * 2.0 ** (tries - 1)) * jitter


def _final(fault: Fault, tries: int) -> ModelError:
    if fault.retry_after_s is not None and fault.retry_after_s > _LONGEST_WAIT_S:
        asked = f"It asks to wait {fault.retry_after_s:.0f} s."
        return type(fault.error)(f"{fault.error.message} {asked}", fault.error.hint)
    if tries == 1:
        return fault.error
    return type(fault.error)(f"{fault.error.message} Tried {tries} times.", fault.error.hint)
