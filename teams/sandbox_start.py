"""Starting the sandbox while the user still types and the model still thinks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from sandbox.base import Sandbox
from sessions.progress import Step
from teams.wiring import Listener


class SandboxStart:
    """One start at a time, in the background; what goes wrong surfaces where the sandbox is waited for."""

    def __init__(
        self, sandbox: Sandbox, files: Iterable[Path], listener: Listener, prepare: Callable[[], object]
    ) -> None:
        self._sandbox = sandbox
        self._prepare = prepare
        self._files = tuple(files)
        self._listener = listener
        self._task: asyncio.Task[None] | None = None
        self.files_in = False
        """Whether the sandbox was started and the user's files are in it."""
        self.left_out: tuple[str, ...] = ()
        """Files that were not copied in, each with the reason."""

    def begin(self) -> asyncio.Task[None]:
        """Start the sandbox, unless that was begun before."""
        if self._task is None:
            self._task = asyncio.create_task(self._start())
            # Asked for before it is needed: nobody may be waiting when it fails.
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._task

    async def wait(self, cancelled: asyncio.Event) -> bool:
        """Wait until it is started. False when `cancelled` was set first, which ends the waiting, not the start.

        Raises `SandboxError`; the next call then tries anew.
        """
        task = self.begin()
        cancel = asyncio.create_task(cancelled.wait())
        try:
            await asyncio.wait({task, cancel}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            cancel.cancel()
        if not task.done():
            return False
        if task.exception() is not None:
            self._task = None
        await task
        return True

    async def settle(self) -> None:
        """Wait for a start that was begun, whatever comes of it."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _start(self) -> None:
        self._listener.on_progress(Step("program", "starting sandbox", "started"))
        started = time.monotonic()
        if not self.files_in:
            await asyncio.to_thread(self._prepare)
        await self._sandbox.start()
        self._listener.on_progress(Step("program", "starting sandbox", "ended", duration_s=time.monotonic() - started))
        if not self.files_in:
            self.left_out = await self._sandbox.put_files(list(self._files))
            self.files_in = True
