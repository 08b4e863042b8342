"""The team: who sits at the table, and in which order they speak."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from autogen_agentchat.base import ChatAgent, TerminationCondition
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, MessageFactory
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_agentchat.teams._group_chat._events import GroupChatTermination
from autogen_agentchat.teams._group_chat._round_robin_group_chat import RoundRobinGroupChatManager
from pydantic import BaseModel

from agents import code_executor_agent, code_generator_agent, safety_reviewer_agent, user_proxy_agent
from agents.parts import Parts

MEMBERS: tuple[Callable[[Parts], ChatAgent], ...] = (
    code_generator_agent.build,
    safety_reviewer_agent.build,
    code_executor_agent.build,
    user_proxy_agent.build,
)
"""One line a member, in the order in which they speak. The first one is given the task."""


class LastMessageManager(RoundRobinGroupChatManager):
    """AutoGen's manager, keeping the last message instead of the whole thread: what is saved stays small.

    Nothing reads the thread: the order is fixed, and each agent has a context of its own.
    """

    async def update_message_thread(self, messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> None:
        """Keep the last message."""
        if messages:
            self._message_thread = [messages[-1]]


class TeamConfig(BaseModel):
    """A team has no saved form: see `SoftwareDevelopmentTeam`."""


class SoftwareDevelopmentTeam(RoundRobinGroupChat):
    """A `RoundRobinGroupChat` of the members, that speaks one turn a run.

    It cannot be dumped as a component: what loads back would be a team without a gate. Save its state instead.
    """

    component_config_schema = TeamConfig  # type: ignore[assignment]  # not AutoGen's: nothing loads as stock
    component_provider_override = "teams.software_development_team.SoftwareDevelopmentTeam"

    def __init__(self, parts: Parts) -> None:
        members: list[Any] = [build(parts) for build in MEMBERS]
        super().__init__(members, name="software_development_team", max_turns=1)
        self.members: tuple[ChatAgent, ...] = tuple(members)

    def _create_group_chat_manager_factory(
        self,
        name: str,
        group_topic_type: str,
        output_topic_type: str,
        participant_topic_types: list[str],
        participant_names: list[str],
        participant_descriptions: list[str],
        output_message_queue: asyncio.Queue[BaseAgentEvent | BaseChatMessage | GroupChatTermination],
        termination_condition: TerminationCondition | None,
        max_turns: int | None,
        message_factory: MessageFactory,
    ) -> Callable[[], LastMessageManager]:
        return lambda: LastMessageManager(
            name,
            group_topic_type,
            output_topic_type,
            participant_topic_types,
            participant_names,
            participant_descriptions,
            output_message_queue,
            termination_condition,
            max_turns,
            message_factory,
            False,
        )

    def _to_config(self) -> NoReturn:
        raise ValueError("The team is built by teams.assembly and cannot be dumped without its gate.")

    @classmethod
    def _from_config(cls, config: Any) -> NoReturn:
        raise ValueError("The team is built by teams.assembly and cannot be loaded from a component.")
