"""An agent that speaks in words: its prompt read anew at every turn, its memory bounded, its failures told."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, NoReturn

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from autogen_core import CancellationToken
from autogen_core.models import SystemMessage
from pydantic import BaseModel

from agents.bounded_context import BoundedContext
from agents.messages import for_the_generator, passing
from agents.parts import Parts
from sessions.progress import Step


class SpeakerConfig(BaseModel):
    """A speaker has no saved form: see `SpeakerAgent`."""


class SpeakerAgent(AssistantAgent):
    """An `AssistantAgent` of this team: override `has_something_to_say` and `spoken`.

    What it says is shown and read by the code generator; code in it is never run. It cannot be dumped as a component:
    what loads back would be the stock class. Its state is saved with the team's.
    """

    component_config_schema = SpeakerConfig  # type: ignore[assignment]  # not AutoGen's: nothing loads as stock
    component_provider_override = "agents.speaker.SpeakerAgent"

    def __init__(self, parts: Parts, name: str, description: str) -> None:
        self.parts = parts
        self.client = parts.client(name)
        self._read_prompt = parts.prompt(name)
        self._context = BoundedContext()
        super().__init__(
            name,
            self.client,
            description=description,
            system_message=None,
            model_client_stream=True,
            model_context=self._context,
        )

    def has_something_to_say(self) -> bool:
        """Tell whether it speaks in this round; else it passes, without a model call."""
        return True

    def spoken(self, message: TextMessage) -> None:
        """Look at what it said, before the others read it."""

    def shorten_context(self) -> bool:
        """Halve the memory for a model that takes less. False when nothing is left to drop."""
        return self._context.shorten()

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Speak, or pass."""
        async for item in self.parts.desk.guard(self._turn(for_the_generator(messages), cancellation_token)):
            yield item

    async def _turn(
        self, messages: Sequence[BaseChatMessage], token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        if not self.has_something_to_say():
            await self._add_messages_to_context(self._context, messages)
            yield Response(chat_message=passing(self.name))
            return
        self._system_messages = [SystemMessage(content=self._read_prompt())]
        self.parts.desk.progress(Step(self.name, "generating", "started"))
        async for item in super().on_messages_stream(messages, token):
            if isinstance(item, Response) and isinstance(item.chat_message, TextMessage):
                item.chat_message.metadata["kind"] = "words"
                self.spoken(item.chat_message)
            yield item

    async def save_state(self) -> Mapping[str, Any]:
        """Return the memory that is kept."""
        return {"llm_context": await self._context.save_state()}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `save_state` returned."""
        await self._context.load_state(state["llm_context"])

    def _to_config(self) -> NoReturn:
        raise ValueError("An agent of this team is built by teams.assembly and cannot be dumped as a component.")

    @classmethod
    def _from_config(cls, config: Any) -> NoReturn:
        raise ValueError("An agent of this team is built by teams.assembly and cannot be loaded from a component.")
