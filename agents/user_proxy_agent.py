"""The user proxy: the human's place in the round."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal, NoReturn

from autogen_agentchat.agents import UserProxyAgent as StockUserProxyAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
from autogen_core import CancellationToken
from pydantic import BaseModel

from agents.messages import passing, say
from agents.parts import Parts
from sessions.events import AnswerEvent
from sessions.questions import Question

NAME = "user_proxy"
APPROVE = "APPROVE"


class UserProxyConfig(BaseModel):
    """The human's place has no saved form: see `HumanAgent`."""


class HumanAgent(StockUserProxyAgent):
    """AutoGen's `UserProxyAgent` with the interface's `ask`, asked only when there is something to say.

    It passes after a run or a denial, so that the generator reads the result and mends, goes on or answers. It asks
    when the generator's message had no code to run, when the team is stuck, and under `--ask always` after every
    result.
    """

    component_config_schema = UserProxyConfig  # type: ignore[assignment]  # not AutoGen's: nothing loads as stock
    component_provider_override = "agents.user_proxy_agent.HumanAgent"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        super().__init__(NAME, description="The human, who has the last word.")

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Pass, or ask the human and hand on the answer."""
        async for item in self._parts.desk.guard(self._turn(cancellation_token)):
            yield item

    async def _turn(self, token: CancellationToken) -> AsyncGenerator[Response, None]:
        state, desk = self._parts.state, self._parts.desk
        kind = self._kind()
        if kind is None or state.stop is not None:
            yield Response(chat_message=passing(NAME))
            return
        if desk.ask is None:
            if kind == "stuck":
                state.end("stuck", f"The team is stuck: {state.stuck}.")
            else:
                state.end("answered", "The code generator answered.")
            yield Response(chat_message=passing(NAME))
            return
        text = await self._ask(kind, token)
        if text.strip().upper() == APPROVE:
            state.end("approved", "The user approved the result.")
        else:
            state.feedback = text
            state.ran = ()  # after the human's words the same code may be meant to run again
        state.reset_counters()
        yield Response(chat_message=say(NAME, text, "feedback"))

    def _kind(self) -> Literal["feedback", "stuck"] | None:
        """Tell what to ask, if anything."""
        state = self._parts.state
        if state.stuck:
            return "stuck"
        if state.proposal is not None and not state.proposal.to_run and not state.outcome:
            return "feedback"
        told = state.outcome == "refused"  # the human has just said no, and why
        return "feedback" if self._parts.desk.ask_policy == "always" and not told else None

    async def _ask(self, kind: Literal["feedback", "stuck"], token: CancellationToken) -> str:
        state = self._parts.state
        text = f"{APPROVE} to accept the result, or say what to change."
        if kind == "stuck":
            text = f"The team is stuck: {state.stuck}. Say what to do, or {APPROVE} to end the task."
        question = Question(id=uuid.uuid4().hex, kind=kind, text=text, source=NAME, options=("text",))
        while True:
            answer = await self._parts.desk.put(question, token)
            words = answer.text.strip() or (APPROVE if answer.decision == "yes" else "")
            if words:
                break
        self._parts.desk.emit(
            AnswerEvent(source="user", question=question.id, kind=kind, decision=answer.decision, text=words)
        )
        return words

    def _to_config(self) -> NoReturn:
        raise ValueError("The human's place is built by teams.assembly and cannot be dumped as a component.")

    @classmethod
    def _from_config(cls, config: Any) -> NoReturn:
        raise ValueError("The human's place is built by teams.assembly and cannot be loaded from a component.")


def build(parts: Parts) -> HumanAgent:
    """Build the agent from the team's parts."""
    return HumanAgent(parts)
