"""The demo's model: recorded replies, played by AutoGen's replay client."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from autogen_core import CancellationToken
from autogen_core.models import AssistantMessage, CreateResult, LLMMessage
from autogen_core.tools import Tool, ToolSchema
from autogen_ext.models.openai import AzureOpenAIChatCompletionClient, OpenAIChatCompletionClient
from autogen_ext.models.replay import ReplayChatCompletionClient
from pydantic import BaseModel, ConfigDict

from utils.model_client import ModelClient, TokenUsage
from utils.model_profiles import Profile
from utils.yaml_settings import read_settings

REVIEWER = "safety_reviewer"


class Demo(BaseModel):
    """A recorded conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    replies: dict[str, tuple[str, ...]]
    """Replies of each agent, in order."""
    over: str
    """What an agent says when its replies are used up."""


@cache
def load_demo() -> Demo:
    """Read the recording, utils/demo.yaml."""
    return read_settings(Path(__file__).with_name("demo.yaml"), Demo)


class PacedReplayClient(ReplayChatCompletionClient):
    """Replays word by word at a pace. The stock client loses line ends while it streams."""

    component_provider_override = "utils.demo_client.PacedReplayClient"

    def __init__(self, replies: Sequence[str], pace_s: float) -> None:
        super().__init__(list(replies))
        self._pace_s = pace_s

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
        """Stream the next reply, then its result."""
        result = await self.create(messages)
        for word in re.findall(r"\s*\S+|\s+$", str(result.content)):
            if self._pace_s:
                pause = asyncio.ensure_future(asyncio.sleep(self._pace_s))
                if cancellation_token is not None:
                    cancellation_token.link_future(pause)
                await pause
            yield word
        yield result


class DemoClient(ModelClient):
    """A model client that plays the recording for one agent.

    The reply is chosen by what the conversation already holds, so that a turn that is tried again, or a session that is
    resumed, gets the right one. The reviewer sees no earlier turn: it gets its replies in order.
    """

    component_provider_override = "utils.demo_client.DemoClient"

    def __init__(self, profile: Profile, *, source: str) -> None:
        super().__init__(profile)
        self._source = source
        self._asked = 0

    def _make_inner(self) -> OpenAIChatCompletionClient | AzureOpenAIChatCompletionClient | None:
        return None

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
        """Give the next reply in one piece."""
        return self._counted(await self._replay(messages).create(messages))

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
        """Stream the next reply word by word, then its result."""
        replay = self._replay(messages)
        async for piece in replay.create_stream(messages, cancellation_token=cancellation_token):
            yield self._counted(piece) if isinstance(piece, CreateResult) else piece

    def _replay(self, messages: Sequence[LLMMessage]) -> PacedReplayClient:
        demo = load_demo()
        replies = demo.replies.get(self._source, ())
        said = sum(isinstance(message, AssistantMessage) for message in messages)
        place = min(self._asked, len(replies) - 1) if self._source == REVIEWER else said
        self._asked += 1
        return PacedReplayClient([replies[place] if place < len(replies) else demo.over], self.profile.pace_s)

    def _counted(self, result: CreateResult) -> CreateResult:
        self.last_usage = TokenUsage(result.usage.prompt_tokens, result.usage.completion_tokens, 1)
        self.usage += self.last_usage
        return result
