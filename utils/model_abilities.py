"""What an endpoint turned out to be able to do, remembered for as long as the program runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

AnswerBy = Literal["schema", "json", "text"]
"""How a model is made to answer in JSON."""

ROLES: Final = ("roles must alternate", "system role")
"""What the chat templates of some local models say of two messages in a row by one role, and of a system message."""

_PARAMETERS = ("stream_options", "max_tokens", "temperature", "reasoning_effort")


@dataclass
class Abilities:
    """What one model at one address refused, and what worked."""

    refused: set[str] = field(default_factory=set)
    """Parameters, and orders of roles, that it does not take."""
    answer_by: AnswerBy | None = None
    """The way to JSON that worked."""

    def parameters(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """The parameters without those that are refused; a refused `max_tokens` goes by its newer name."""
        kept = {name: value for name, value in wanted.items() if name not in self.refused}
        if "max_tokens" in wanted and "max_tokens" in self.refused:
            kept["max_completion_tokens"] = wanted["max_tokens"]
        return kept

    def messages(self, wanted: Sequence[Any]) -> list[Any]:
        """The messages of a request, with roles in an order that the endpoint takes."""
        if not self.refused.intersection(ROLES):
            return list(wanted)
        merged: list[Any] = []
        for message in wanted:
            role = "user" if message["role"] == "system" and ROLES[1] in self.refused else message["role"]
            texts = isinstance(message.get("content"), str) and merged and isinstance(merged[-1].get("content"), str)
            if texts and merged[-1]["role"] == role:
                merged[-1] = {**merged[-1], "content": f"{merged[-1]['content']}\n\n{message['content']}"}
            else:
                merged.append({**message, "role": role})
        return merged

    def learn(self, message: str, sent: dict[str, Any]) -> bool:
        """Note what a refusal names, of what can be left out or put otherwise. Whether there is such a thing."""
        named = [name for name in _PARAMETERS if name in sent and name in message]
        named += [words for words in ROLES if words in message.lower()]
        fresh = [name for name in named if name not in self.refused]
        self.refused.update(fresh[:1])
        return bool(fresh)


_known: dict[str, Abilities] = {}


def abilities(endpoint: str) -> Abilities:
    """What is known of an endpoint, by `Profile.endpoint`. The same object for each call."""
    return _known.setdefault(endpoint, Abilities())


def forget() -> None:
    """Forget everything, as after a change of the endpoints."""
    _known.clear()
