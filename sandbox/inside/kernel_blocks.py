"""Python blocks in a kernel: one at a time, interrupted where a fresh process is killed, never renewed in silence."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from sandbox.inside import process
from sandbox.inside.kernel import INTERRUPTS_S, Kernel
from sandbox.inside.lean import signal, suppress

Watch: TypeAlias = "Callable[[process.Child, float, int], tuple[int | None, str]]"
"""Passes on a child's output until it has ended or told its end, or a deadline (on the monotonic clock) or the cancel
of a run. Returns a wait status, and `told`, `timeout` or `cancel`."""
Drain: TypeAlias = "Callable[[process.Child], None]"
"""Passes on what is left of a child's output."""

_NO_RUN = -1


class KernelFailedError(Exception):
    """No kernel can be started."""


class KernelBlocks:
    """The kernel of a container, if there is one just now."""

    def __init__(self, make: Callable[[], Kernel], start_timeout_s: float) -> None:
        self._make = make
        self._start_timeout_s = start_timeout_s
        self._kernel: Kernel | None = None
        self.woke = False
        """A thread of the kernel has run in the last block although it was frozen."""

    def prepare(self) -> Kernel:
        """Start a kernel where there is none, and let it make itself ready."""
        if self._kernel is None:
            self._kernel = self._make()
        self._kernel.idle()
        return self._kernel

    def pause(self, notes: list[str], drain: Drain) -> None:
        """Stop the kernel for a block of another language: its imports would take what is the block's."""
        self._end_sleepwalker(notes, drain)
        if self._kernel is not None:
            self._kernel.pause()

    def _end_sleepwalker(self, notes: list[str], drain: Drain) -> None:
        """End a kernel that has not slept since the last block."""
        self.woke = False
        if self._kernel is not None and self._kernel.woke():
            self._lose(drain)
            notes.append(
                "the kernel was restarted, its variables are gone: its threads had run on while it was stopped"
            )

    def run(
        self, name: str, run: int, timeout_s: float, notes: list[str], watch: Watch, drain: Drain
    ) -> tuple[int, str]:
        """Run a block's file. Returns a wait status, and why it was ended: empty, `timeout` or `cancel`.

        Nothing of the block runs any more then. Raises `KernelFailedError`.
        """
        self._end_sleepwalker(notes, drain)
        if self._kernel is not None and not self._kernel.alive():
            self._lose(drain)
            notes.append("the kernel was killed before this block, which got a fresh one: earlier variables are gone")
        try:
            kernel = self.prepare()
        except OSError as error:
            raise KernelFailedError(f"the IPython kernel could not be started: {error.strerror}") from error
        if not kernel.ready and not self._await_start(kernel, run, watch, drain):
            return 0, "cancel"
        deadline = time.monotonic() + timeout_s
        # Where it has just died, the watch says so.
        with suppress(OSError):
            kernel.ask(name)
        status, end = watch(kernel.child, deadline, run)
        why = "" if status is not None else end
        for grace_s in INTERRUPTS_S[why] if why else ():
            if status is None:
                kernel.interrupt()
                status, end = watch(kernel.child, time.monotonic() + grace_s, _NO_RUN)
        lost = ""
        if status is None:
            status, lost = signal.SIGKILL, "the block did not react to its interrupt"
        elif end != "told":
            lost = "it ended with the block"
        elif not kernel.confirms():
            status, lost = signal.SIGKILL, "the block wrote to the kernel's control socket"
        elif not kernel.sweep()[1]:
            lost = "what the block started could not be ended without it"
        if lost:
            self._lose(drain)
            notes.append(f"the kernel was restarted, its variables are gone: {lost}")
        else:
            drain(kernel.child)
            if why:
                notes.append("the kernel was interrupted, its variables are kept")
        return status, why

    def _await_start(self, kernel: Kernel, run: int, watch: Watch, drain: Drain) -> bool:
        status, end = watch(kernel.child, time.monotonic() + self._start_timeout_s, run)
        if end == "cancel":
            return False
        kernel.ready = end == "told" and status == ord("R") << 8
        if not kernel.ready:
            self._lose(drain)
            raise KernelFailedError("the IPython kernel did not start, which takes an image with ipython")
        return True

    def _lose(self, drain: Drain) -> None:
        process.sweep()
        if self._kernel is not None:
            drain(self._kernel.child)
            self._kernel.close()
            self._kernel = None

    def sweep(self) -> dict[int, int]:
        """Kill every process but the kernel, which stays frozen. Returns wait statuses."""
        if self._kernel is None:
            return process.sweep()
        if self._kernel.woke():
            self.woke = True
            return process.sweep()
        ended, there = self._kernel.sweep()
        if not there:
            # Its absence is noticed, and told, at the next Python block.
            ended.update(process.sweep())
        return ended
