"""Live output as events: the first piece at once, then pieces that a store and a screen keep up with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from sessions.events import EventBase, OutputEvent

Stream = Literal["stdout", "stderr"]

INTERVAL_S = 0.03
"""Pieces that come within this time of the last event are joined to one."""
PIECE_CHARS = 16_384
"""A joined piece that is longer goes out before its time."""


class LiveOutput:
    """Turns the output of one block into events. Call `flush` at its end."""

    def __init__(self, emit: Callable[[EventBase], object], message: str, index: int) -> None:
        self._emit = emit
        self._message = message
        self._index = index
        self._pieces: list[str] = []
        self._chars = 0
        self._stream: Stream = "stdout"
        self._timer: asyncio.TimerHandle | None = None
        self.failure: Exception | None = None
        """What the recording of an event raised: nobody is above a timer to catch it."""

    def __call__(self, stream: Stream, text: str) -> None:
        """Take a piece of output."""
        if stream != self._stream:
            self._send()
            self._stream = stream
        self._pieces.append(text)
        self._chars += len(text)
        if self._timer is None:
            self._send()
            self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._due)
        elif self._chars >= PIECE_CHARS:
            self._send()

    def flush(self) -> None:
        """Send what is left. Raises what an earlier piece raised."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._send()
        if self.failure is not None:
            raise self.failure

    def drop(self) -> None:
        """Send nothing more: nobody waits for it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._pieces = []

    def _due(self) -> None:
        self._timer = None
        if self._pieces:
            self._send()
            self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._due)

    def _send(self) -> None:
        text, self._pieces, self._chars = "".join(self._pieces), [], 0
        if not text or self.failure is not None:
            return
        try:
            self._emit(
                OutputEvent(
                    source="code_executor", message=self._message, index=self._index, stream=self._stream, text=text
                )
            )
        except Exception as error:
            self.failure = error
