"""What a chat message of the team is for, kept in its metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from autogen_agentchat.messages import BaseChatMessage, TextMessage

MessageKind = Literal["words", "pass", "review", "result", "feedback"]
"""`pass`: nothing to do in this round; `review`: a verdict; `result`: what ran; `feedback`: the human's words."""

NOT_FOR_THE_GENERATOR: frozenset[str] = frozenset({"pass", "review"})
"""Kinds that stay out of the generator's context: a pass says nothing, a verdict reaches it with the result."""


def say(source: str, text: str, kind: MessageKind, **metadata: str) -> TextMessage:
    """Build a message of that kind."""
    return TextMessage(content=text, source=source, metadata={"kind": kind, **metadata})


def passing(source: str) -> TextMessage:
    """Build the short message that keeps a round a round."""
    return say(source, "(pass)", "pass")


def kind_of(message: BaseChatMessage) -> MessageKind:
    """Tell what a message is for; a message of an agent that knows nothing of kinds is `words`."""
    kind = message.metadata.get("kind")
    return next((known for known in get_args(MessageKind) if known == kind), "words")


def for_the_generator(messages: Sequence[BaseChatMessage]) -> list[BaseChatMessage]:
    """Leave out what the generator need not read."""
    return [message for message in messages if kind_of(message) not in NOT_FOR_THE_GENERATOR]
