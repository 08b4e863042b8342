"""Ctrl-C and a polite kill: the turn is stopped, everything is cleaned up, and the exit status says so."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from types import TracebackType

_CAUGHT = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interruption:
    """While entered, the first signal calls `cancel`, and a second one cancels the task that entered.

    To be entered on a running event loop, in the main thread.
    """

    def __init__(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        self.exit_status = 0
        """128 + the first signal's number; 0 while none came."""

    def __enter__(self) -> Interruption:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        for number in _CAUGHT:
            try:
                self._loop.add_signal_handler(number, self._received, number)
            except NotImplementedError:  # Windows, whose loop wakes up for Python's own handlers
                signal.signal(number, lambda n, _frame: self._loop.call_soon_threadsafe(self._received, n))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in _CAUGHT:
            with contextlib.suppress(NotImplementedError):
                self._loop.remove_signal_handler(number)

    def _received(self, number: int) -> None:
        if not self.exit_status:
            self.exit_status = 128 + number
            self._cancel()
        elif self._task is not None:
            self._task.cancel()
