"""What a conversation is wired to: its interface, its models, its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agents.parts import Parts
from sandbox.base import Sandbox, SandboxInfo
from sessions.events import Event, Usage
from sessions.progress import Progress
from sessions.questions import Ask
from sessions.store import Store
from teams.model_choice import Choice
from utils.settings import AskPolicy, Settings

if TYPE_CHECKING:
    from teams.conversation import Conversation


class Listener(Protocol):
    """What an interface is to the conversation."""

    def on_event(self, event: Event) -> None:
        """Show an event. It is already recorded."""
        ...

    def on_progress(self, progress: Progress) -> None:
        """Show what happens between two events."""
        ...


@dataclass(frozen=True)
class ConversationInfo:
    """What a banner says."""

    model: str
    sandbox: SandboxInfo
    edited_prompts: tuple[str, ...]
    """Names of the agents whose prompt is not as shipped."""
    work_dir: Path
    session: str
    ask: AskPolicy


class ModelChoice(Protocol):
    """Which models answer; can be changed between two turns."""

    @property
    def label(self) -> str:
        """Profile and model, for people."""
        ...

    @property
    def usage(self) -> Usage:
        """All calls so far, those of models that were swapped out included."""
        ...

    @property
    def cost(self) -> float:
        """What the calls cost by the prices of models.yaml; 0 where there are none."""
        ...

    def choose(self, name: str) -> str:
        """Let a profile or model answer from the next turn on. Returns its label. Raises `ConfigurationError`."""
        ...

    @property
    def choice(self) -> Choice:
        """What was chosen, to be given back after another choice."""
        ...

    @choice.setter
    def choice(self, choice: Choice) -> None: ...

    def fall_back(self) -> str:
        """Let the fallback profile take over; its label, or empty when there is none or it already answers."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass
class Wiring:
    """What a conversation is made of; `teams.assembly` builds it."""

    settings: Settings
    session: str
    store: Store
    listener: Listener
    ask: Ask | None
    sandbox: Sandbox
    models: ModelChoice
    make_parts: Callable[[Conversation], Parts]
    edited_prompts: Callable[[], tuple[str, ...]]
    files: Iterable[Path] = field(default=())
