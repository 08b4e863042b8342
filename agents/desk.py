"""What every agent is handed beside its own parts: where to report, whom to ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import TypeVar

from autogen_core import CancellationToken

from sessions.events import EventBase, QuestionEvent
from sessions.progress import Progress
from sessions.questions import Answer, Ask, Question
from utils.settings import AskPolicy

T = TypeVar("T")


async def linked(awaitable: Awaitable[T], token: CancellationToken) -> T:
    """Await something that ends when the token is cancelled."""
    future = asyncio.ensure_future(awaitable)
    token.link_future(future)
    return await future


@dataclass
class Desk:
    """The way out of the team: events, progress, questions; and the first failure of a turn, as it was raised."""

    emit: Callable[[EventBase], object]
    """Records an event and shows it; durable when it returns. Raises `StoreError`."""
    progress: Callable[[Progress], None]
    ask: Ask | None
    """None: no human is there."""
    ask_policy: AskPolicy = "risky"
    failure: Exception | None = None
    """AutoGen passes on only the text of an exception that ends a turn; here is the exception."""

    @property
    def human_at_runs(self) -> bool:
        """Whether a human decides about runs."""
        return self.ask is not None and self.ask_policy != "never"

    async def put(self, question: Question, token: CancellationToken) -> Answer:
        """Record the question, ask the human and wait. Raises `EndOfInputError`; cancelled with the token."""
        assert self.ask is not None  # callers look at `ask` first: no human means not approved
        self.emit(
            QuestionEvent(
                source=question.source,
                id=question.id,
                kind=question.kind,
                text=question.text,
                message=question.message,
                options=question.options,
                digests=tuple(block.digest for block in question.blocks),
                blocks=tuple(asdict(block) for block in question.blocks),
                details=question.details,
            )
        )
        return await linked(self.ask(question), token)

    async def guard(self, turn: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Pass a turn through and keep what it raises."""
        try:
            async for item in turn:
                yield item
        except Exception as error:
            self.failure = self.failure or error
            raise
