"""The code generator: writes words and code, mends what failed, and says STOP when the task is done."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, NoReturn

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from autogen_core import CancellationToken
from autogen_core.models import SystemMessage
from pydantic import BaseModel

from agents.bounded_context import BoundedContext
from agents.messages import for_the_generator
from agents.parts import Parts
from agents.task_state import Proposal
from safety.code_blocks import parse
from safety.words import says_stop
from utils.model_client import ModelClient

NAME = "code_generator"


class CodeGeneratorConfig(BaseModel):
    """A code generator has no saved form: see `CodeGeneratorAgent`."""


class CodeGeneratorAgent(AssistantAgent):
    """An `AssistantAgent` whose latest message is the proposal that the rest of the round works on.

    It cannot be dumped as a component: what loads back would be the stock class, which knows no gate. Its state is
    saved with the team's.
    """

    component_config_schema = CodeGeneratorConfig  # type: ignore[assignment]  # not AutoGen's: nothing loads as stock
    component_provider_override = "agents.code_generator_agent.CodeGeneratorAgent"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._client: ModelClient = parts.client(NAME)
        self._read_prompt: Callable[[], str] = parts.prompt(NAME)
        self._context = BoundedContext()
        super().__init__(
            NAME,
            self._client,
            description="Writes code for the user's task and mends what failed.",
            system_message=None,
            model_client_stream=True,
            model_context=self._context,
        )

    def shorten_context(self) -> bool:
        """Halve the context for a model that takes less. False when nothing is left to drop."""
        return self._context.shorten()

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Write the next message, and propose the code in it to the round."""
        async for item in self._parts.desk.guard(self._turn(messages, cancellation_token)):
            yield item

    async def _turn(
        self, messages: Sequence[BaseChatMessage], token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        self._system_messages = [SystemMessage(content=self._read_prompt())]
        async for item in super().on_messages_stream(for_the_generator(messages), token):
            if isinstance(item, Response) and isinstance(item.chat_message, TextMessage):
                self._propose(item.chat_message)
            yield item

    def _propose(self, message: TextMessage) -> None:
        state = self._parts.state
        parsed = parse(message.content, self._parts.sandbox.languages)
        proposal = Proposal.of(message.id, parsed, self._client.last_cut, frozenset(state.ran))
        state.propose(proposal)
        self._parts.gate.propose(message.id, proposal.to_run)
        message.metadata["kind"] = "words"
        if proposal.cut:
            message.metadata["cut"] = proposal.cut
        elif not proposal.to_run and not parsed.unterminated and says_stop(message.content):
            state.end("stopped", "The code generator says that the task is done.")

    def _to_config(self) -> NoReturn:
        raise ValueError("A code generator is built by teams.assembly; save the team's state instead of dumping it.")

    @classmethod
    def _from_config(cls, config: Any) -> NoReturn:
        raise ValueError("A code generator is built by teams.assembly and cannot be loaded from a component.")

    async def save_state(self) -> Mapping[str, Any]:
        """Return the context that is kept."""
        return {"llm_context": await self._context.save_state()}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `save_state` returned."""
        await self._context.load_state(state["llm_context"])


def build(parts: Parts) -> CodeGeneratorAgent:
    """Build the agent from the team's parts."""
    return CodeGeneratorAgent(parts)
