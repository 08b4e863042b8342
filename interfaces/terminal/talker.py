"""What the terminal needs of a conversation; `teams.conversation.Conversation` is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from interfaces.terminal.banner import Info
from interfaces.terminal.screen import Screen
from sessions.events import ReviewEvent, StopEvent
from sessions.questions import Ask
from sessions.store import Store
from utils.settings import AskPolicy, Settings


class Talker(Protocol):
    """One session's conversation."""

    last_task: str
    last_review: ReviewEvent | None

    @property
    def info(self) -> Info:
        """What the banner says, as of now."""
        ...

    @property
    def work_dir(self) -> Path:
        """Directory where files come back."""
        ...

    async def start(self) -> None:
        """Make the sandbox ready. Raises `RoundtableError`."""
        ...

    async def run(self, task: str) -> StopEvent:
        """Run one task to its end."""
        ...

    async def resume(self) -> StopEvent | None:
        """Go on with a task that broke off; None where none did."""
        ...

    def cancel(self) -> None:
        """Stop the block, model call or question of this turn."""
        ...

    def set_model(self, name: str) -> str:
        """Let another model answer; its label. Raises `ConfigurationError`."""
        ...

    def lend_model(self, name: str) -> Callable[[], None]:
        """Let another model answer until what is returned is called. Raises `ConfigurationError`."""
        ...

    def set_ask(self, policy: AskPolicy) -> None:
        """Change when the human is asked."""
        ...

    async def close(self) -> None:
        """Remove the sandbox and let go of the session."""
        ...


class Assemble(Protocol):
    """Builds a conversation: `teams.assembly.assemble`."""

    def __call__(
        self, settings: Settings, *, listener: Screen, ask: Ask | None, store: Store, session: str | None = None
    ) -> Talker:
        """Build it. Raises `ConfigurationError`."""
        ...
