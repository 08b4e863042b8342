"""The safety reviewer: judges the code of the proposal, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, NoReturn

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
from autogen_core import CancellationToken
from pydantic import BaseModel

from agents.messages import passing, say
from agents.parts import Parts
from safety.verdicts import Review
from sessions.progress import Step

NAME = "safety_reviewer"


class SafetyReviewerConfig(BaseModel):
    """A safety reviewer has no saved form: see `SafetyReviewerAgent`."""


class SafetyReviewerAgent(AssistantAgent):
    """An `AssistantAgent` that calls its model itself: the task and the code as data, never earlier output.

    It keeps no context, so it has no state to save; it cannot be dumped as a component.
    """

    component_config_schema = SafetyReviewerConfig  # type: ignore[assignment]  # not AutoGen's: nothing loads as stock
    component_provider_override = "agents.safety_reviewer_agent.SafetyReviewerAgent"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        super().__init__(
            NAME,
            parts.client(NAME),
            description="Judges whether code may run: allow, ask the human, or deny.",
            system_message=None,
        )

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Judge the proposal, or pass where it brings no code to run."""
        async for item in self._parts.desk.guard(self._turn(cancellation_token)):
            yield item

    async def _turn(self, token: CancellationToken) -> AsyncGenerator[Response, None]:
        state, desk = self._parts.state, self._parts.desk
        proposal = state.proposal
        if proposal is None or not proposal.to_run:
            yield Response(chat_message=passing(NAME))
            return
        desk.progress(Step(NAME, "reviewing", "started"))
        review, event = await self._parts.review.judge(
            proposal.message, proposal.to_run, task=state.task, feedback=state.feedback, token=token
        )
        state.review, state.policy = review, self._parts.sandbox.info.policy
        desk.progress(Step(NAME, "reviewing", "ended", duration_s=event.duration_s))
        desk.emit(event)
        yield Response(chat_message=say(NAME, _account(review), "review"))

    def _to_config(self) -> NoReturn:
        raise ValueError("A safety reviewer is built by teams.assembly and cannot be dumped as a component.")

    @classmethod
    def _from_config(cls, config: Any) -> NoReturn:
        raise ValueError("A safety reviewer is built by teams.assembly and cannot be loaded from a component.")

    async def save_state(self) -> Mapping[str, Any]:
        """Return nothing: a verdict belongs to the round, whose state the executor saves."""
        return {}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over nothing."""


def _account(review: Review) -> str:
    return "\n".join(
        f"Block {block.index + 1} ({block.language}, {block.digest[:6]}): {block.verdict}. {block.reason}"
        for block in review.blocks
    )


def build(parts: Parts) -> SafetyReviewerAgent:
    """Build the agent from the team's parts."""
    return SafetyReviewerAgent(parts)
