"""The code generator: writes words and code, mends what failed, and says STOP when the task is done."""

from __future__ import annotations

from autogen_agentchat.messages import TextMessage

from agents.parts import Parts
from agents.speaker import SpeakerAgent
from agents.task_state import Proposal
from safety.code_blocks import parse
from safety.words import says_stop

NAME = "code_generator"


class CodeGeneratorAgent(SpeakerAgent):
    """The speaker whose latest message is the proposal that the rest of the round works on."""

    component_provider_override = "agents.code_generator_agent.CodeGeneratorAgent"

    def spoken(self, message: TextMessage) -> None:
        """Parse the message, propose its code to the round and the gate, and look for STOP."""
        state = self.parts.state
        parsed = parse(message.content, self.parts.sandbox.languages)
        proposal = Proposal.of(message.id, parsed, self.client.last_cut, frozenset(state.ran))
        state.propose(proposal)
        self.parts.gate.propose(message.id, proposal.to_run)
        if not proposal.cut and not proposal.to_run and not proposal.unterminated and says_stop(message.content):
            state.end("stopped", "The code generator says that the task is done.")


def build(parts: Parts) -> CodeGeneratorAgent:
    """Build the agent from the team's parts."""
    return CodeGeneratorAgent(parts, NAME, "Writes code for the user's task and mends what failed.")
