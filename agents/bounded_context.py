"""The generator's memory of the conversation: bounded, and the same size to save after 10 turns and after 800."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from autogen_core import Component
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import AssistantMessage, LLMMessage, UserMessage
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import Self

_messages: TypeAdapter[list[LLMMessage]] = TypeAdapter(list[LLMMessage])

ACCOUNT_LINES = 8
"""Lines of the account of what was left out."""


class BoundedContextConfig(BaseModel):
    """Limits of a bounded context."""

    model_config = ConfigDict(extra="forbid")

    max_messages: int = Field(default=20, ge=4, le=1000)
    """Messages kept beside the task; 4-1000."""
    max_chars: int = Field(default=60_000, ge=2_000, le=10_000_000)
    """Characters kept beside the task; 2000-10000000."""


class BoundedContext(ChatCompletionContext, Component[BoundedContextConfig]):
    """Keeps the task, the last turns and a short account of what was dropped.

    It trims as it adds, so what is saved is what is kept. Messages of the source `user` are tasks: the newest one is
    never dropped.
    """

    component_type: ClassVar[Any] = "chat_completion_context"
    component_config_schema = BoundedContextConfig
    component_provider_override = "agents.bounded_context.BoundedContext"

    def __init__(self, config: BoundedContextConfig | None = None) -> None:
        super().__init__()
        self._config = config or BoundedContextConfig()
        self._account: list[str] = []
        self._dropped = 0

    async def add_message(self, message: LLMMessage) -> None:
        """Add a message and drop what no longer fits."""
        if isinstance(message, AssistantMessage):
            # Reasoning is for the screen: sent back it costs tokens, and some endpoints refuse it.
            message = AssistantMessage(content=message.content, source=message.source)
        if isinstance(message.content, str):
            message = message.model_copy(update={"content": sendable(message.content)})
        self._messages.append(message)
        self._trim()

    async def get_messages(self) -> list[LLMMessage]:
        """Return what the model sees: the task, the account of what was dropped, the last turns."""
        kept = list(self._messages)
        if self._dropped:
            account = "\n".join(self._account)
            text = f"({self._dropped} earlier messages are left out here. The last of them, shortened:\n{account})"
            kept.insert(1 if self._task_index() == 0 else 0, UserMessage(content=text, source="program"))
        return kept

    async def clear(self) -> None:
        """Forget everything."""
        await super().clear()
        self._account, self._dropped = [], 0

    def shorten(self) -> bool:
        """Halve what is kept, for a model that takes less. False when there is nothing left to drop."""
        if len(self._messages) <= 1:
            return False
        chars = sum(_size(message) for message in self._messages)
        self._config = BoundedContextConfig(
            max_messages=max(4, len(self._messages) // 2), max_chars=max(2_000, chars // 2)
        )
        before = len(self._messages)
        self._trim()
        return len(self._messages) < before

    async def save_state(self) -> Mapping[str, Any]:
        """Return what is kept."""
        return {
            "messages": _messages.dump_python(self._messages, mode="json"),
            "account": self._account,
            "dropped": self._dropped,
            "config": self._config.model_dump(),
        }

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `save_state` returned."""
        self._messages = _messages.validate_python(state["messages"])
        self._account = list(state["account"])
        self._dropped = int(state["dropped"])
        self._config = BoundedContextConfig.model_validate(state["config"])

    def _trim(self) -> None:
        chars = sum(_size(message) for message in self._messages)
        while len(self._messages) > 2 and (
            len(self._messages) > self._config.max_messages or chars > self._config.max_chars
        ):
            chars -= self._drop_oldest()
            # An answer whose question is gone is refused by some endpoints, and tells the model little.
            while len(self._messages) > 2 and isinstance(self._messages[self._oldest()], AssistantMessage):
                chars -= self._drop_oldest()

    def _task_index(self) -> int:
        """Place of the newest task, or -1."""
        for index in range(len(self._messages) - 1, -1, -1):
            message = self._messages[index]
            if isinstance(message, UserMessage) and message.source == "user":
                return index
        return -1

    def _oldest(self) -> int:
        return 1 if self._task_index() == 0 else 0

    def _drop_oldest(self) -> int:
        message = self._messages.pop(self._oldest())
        self._account = [*self._account, _line(message)][-ACCOUNT_LINES:]
        self._dropped += 1
        return _size(message)

    def _to_config(self) -> BoundedContextConfig:
        return self._config

    @classmethod
    def _from_config(cls, config: BoundedContextConfig) -> Self:
        return cls(config)


def sendable(text: str) -> str:
    """The text with `?` for each lone surrogate, which no request can carry: it would spoil every later one too."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _size(message: LLMMessage) -> int:
    return len(message.content) if isinstance(message.content, str) else 1_000


def _line(message: LLMMessage) -> str:
    source = getattr(message, "source", "system")
    text = message.content if isinstance(message.content, str) else "(not text)"
    words = " ".join(text.split())
    return f"- {source}: {words[:120]}{'…' if len(words) > 120 else ''}"
