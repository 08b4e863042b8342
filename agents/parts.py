"""What an agent is built from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agents.code_review import CodeReview
from agents.desk import Desk
from agents.task_state import TaskState
from safety.gate import Gate
from sandbox.base import Sandbox
from utils.model_client import ModelClient


@dataclass
class Parts:
    """Everything that the agents of one team are given. Each agent's `build(parts)` takes what it needs."""

    desk: Desk
    state: TaskState
    gate: Gate
    sandbox: Sandbox
    review: CodeReview
    client: Callable[[str], ModelClient]
    """Model client of the agent of that name."""
    prompt: Callable[[str], Callable[[], str]]
    """Reader of prompts/NAME.md: read anew at every turn, so that an edit is in force at once."""
    retries: int = 3
    packages_allowed: tuple[str, ...] = ()
    """Names of packages that are granted without a question."""
