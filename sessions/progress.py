"""What happens between two events, for a screen that lives: never stored, never needed to understand a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Delta:
    """A piece of a message while the model writes it."""

    source: str
    text: str
    thought: bool = False


@dataclass(frozen=True)
class Step:
    """An agent started something that takes a while, or ended it."""

    source: str
    step: Literal["generating", "reviewing", "running", "asking", "starting sandbox", "building image", "installing"]
    state: Literal["started", "ended"]
    detail: str = ""
    duration_s: float = 0.0


@dataclass(frozen=True)
class Waiting:
    """A call to a model is retried after a fault."""

    source: str
    reason: str
    attempt: int
    attempts: int
    delay_s: float


Progress = Delta | Step | Waiting
