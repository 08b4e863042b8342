"""A conversation at work: its start beside the prompt, one task at a time, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from interfaces.terminal.hanging import mark
from interfaces.terminal.keyboard import quiet
from interfaces.terminal.outlet import GAP
from interfaces.terminal.screen import Screen
from interfaces.terminal.summary import error_line
from interfaces.terminal.talker import Talker
from sessions.events import StopEvent
from utils.errors import RoundtableError

STOP_S = 5.0
"""How long a conversation that was cancelled may take to stop before it is dropped, seconds."""
_CLOSE_S = 15.0
"""How long removing the sandbox may take, seconds."""

Do = Callable[[Talker], Awaitable[StopEvent | None]]
"""Something that a conversation does, to its end."""


class Work:
    """Runs what one conversation does, and stops it when the human wants that.

    The conversation starts at once, in the background; what its start fails of, the first task tells.
    """

    def __init__(self, talk: Talker, screen: Screen) -> None:
        self.talk = talk
        self._screen = screen
        self._starting: asyncio.Task[None] | None = asyncio.ensure_future(talk.start())
        self._task: asyncio.Task[StopEvent | None] | None = None
        self._dropped: asyncio.Future[None]

    async def run(self, do: Do) -> StopEvent | None:
        """Do it, with the terminal's echo off. None where it was interrupted before it began, or had to be dropped."""
        self._screen.print(GAP)
        with quiet():
            self._dropped = asyncio.get_running_loop().create_future()
            self._task = asyncio.ensure_future(self._after_start(do))
            try:
                ends: list[asyncio.Future[Any]] = [self._task, self._dropped]
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                if self._task.done() and not self._task.cancelled():
                    return self._task.result()
                self._screen.print(mark("interrupted", "ask"))
                return None
            finally:
                self._task.cancel()
                self._task = None
                self._screen.settle()
                self._screen.print(GAP)

    def stop(self) -> None:
        """Stop what goes on, if anything does; `run` returns soon."""
        if self._task is None:
            return
        self._screen.status.stopping()
        if self._starting:
            self._starting.cancel()
            self._task.cancel()
            return
        self.talk.cancel()
        asyncio.get_running_loop().call_later(STOP_S, self._drop, self._task)

    async def close(self) -> None:
        """Remove the sandbox. What goes wrong is shown on one line."""
        await self._end_start()
        try:
            await asyncio.wait_for(self.talk.close(), _CLOSE_S)
        except asyncio.TimeoutError:
            self._screen.print(error_line("The sandbox could not be removed in time.", "The next start removes it."))
        except RoundtableError as error:
            self._screen.print(error_line(error.message, error.hint))

    async def _after_start(self, do: Do) -> StopEvent | None:
        if self._starting:
            await asyncio.wait([self._starting])
            await self._end_start()
        return await do(self.talk)

    async def _end_start(self) -> None:
        starting, self._starting = self._starting, None
        if starting:
            starting.cancel()
            await asyncio.wait([starting])
            _ = starting.cancelled() or starting.exception()

    def _drop(self, task: asyncio.Task[StopEvent | None]) -> None:
        if task is self._task and not task.done():
            self._screen.print(error_line("The task did not stop in time and was dropped."))
            task.cancel()
            self._dropped.set_result(None)
