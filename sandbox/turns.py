"""Whose turn it is in a sandbox: one call at a time, all in one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import asyncio_atexit  # type: ignore[import-untyped]  # it has no types
from autogen_core import CancellationToken

from utils.errors import SandboxError


class Turns:
    """Lets calls through one after the other. Raises `SandboxError` in a second event loop while the first one runs."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()
        self._calls: set[CancellationToken] = set()
        self._closing: weakref.ref[asyncio.AbstractEventLoop] | None = None

    def alone(self) -> asyncio.Lock:
        """The lock itself, for a turn that `cancel` leaves alone."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._loop is not None and self._loop.is_running():
                raise SandboxError("The sandbox is used in another event loop.", "Make one for each loop.")
            self._loop, self._lock, self._calls = loop, asyncio.Lock(), set()
        return self._lock

    def cancel(self) -> None:
        """Cancel the call whose turn it is, and those that wait, as their own tokens would."""
        self.alone()
        for call in list(self._calls):
            call.cancel()

    def at_close(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Have a bound method called when the event loop is closed, if its object is still there."""
        loop = asyncio.get_running_loop()
        if self._closing is not None and self._closing() is loop:
            return
        self._closing = weakref.ref(loop)
        method = weakref.WeakMethod(stop)

        async def call() -> None:
            bound = method()
            if bound is not None:
                await bound()

        asyncio_atexit.register(call)

    @contextlib.asynccontextmanager
    async def turn(self, cancellation_token: CancellationToken) -> AsyncIterator[CancellationToken]:
        """A turn with the token that ends it; where that is cancelled before the turn has come, there is none."""
        lock = self.alone()
        call = CancellationToken()
        if cancellation_token.is_cancelled():
            call.cancel()
        else:
            cancellation_token.add_callback(partial(_cancel_in, asyncio.get_running_loop(), call))
        self._calls.add(call)
        try:
            held = await _acquired(lock, call)
            try:
                yield call
            finally:
                if held:
                    lock.release()
        finally:
            self._calls.discard(call)


async def _acquired(lock: asyncio.Lock, token: CancellationToken) -> bool:
    if not lock.locked():
        return await lock.acquire()
    waiting = asyncio.ensure_future(lock.acquire())
    token.link_future(waiting)
    try:
        await asyncio.wait({waiting})
    except asyncio.CancelledError:
        if not waiting.cancel() and not waiting.cancelled():
            lock.release()
        raise
    return not waiting.cancelled()


def _cancel_in(loop: asyncio.AbstractEventLoop, call: CancellationToken) -> None:
    # AutoGen's tokens touch futures at once, in whichever thread they are cancelled.
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(call.cancel)
