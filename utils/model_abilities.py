"""What an endpoint turned out to be able to do, remembered for as long as the program runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

AnswerBy = Literal["schema", "json", "text"]
"""How a model is made to answer in JSON."""


@dataclass
class Abilities:
    """What one model at one address refused, and what worked."""

    refused: set[str] = field(default_factory=set)
    """Parameters that it does not take."""
    answer_by: AnswerBy | None = None
    """The way to JSON that worked."""

    def apply(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The parameters without those that are refused; a refused `max_tokens` goes by its newer name."""
        kept = {name: value for name, value in parameters.items() if name not in self.refused}
        if "max_tokens" in parameters and "max_tokens" in self.refused:
            kept["max_completion_tokens"] = parameters["max_tokens"]
        return kept

    def learn(self, message: str, sent: dict[str, Any]) -> bool:
        """Note the parameter that a refusal names, of those that can be left out. Whether there was one."""
        named = [
            name
            for name in ("stream_options", "max_tokens", "temperature", "reasoning_effort")
            if name in sent and name in message and name not in self.refused
        ]
        self.refused.update(named[:1])
        return bool(named)


_known: dict[str, Abilities] = {}


def abilities(endpoint: str) -> Abilities:
    """What is known of an endpoint, by `Profile.endpoint`. The same object for each call."""
    return _known.setdefault(endpoint, Abilities())


def forget() -> None:
    """Forget everything, as after a change of the endpoints."""
    _known.clear()
