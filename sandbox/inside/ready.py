"""What stands ready for the next block while nothing is asked: a warm process, or the kernel."""

from __future__ import annotations

import select
from typing import Any

from sandbox.inside import frames, process
from sandbox.inside.kernel import Kernel
from sandbox.inside.kernel_blocks import KernelBlocks
from sandbox.inside.lean import suppress
from sandbox.inside.link import Link
from sandbox.inside.warm import IDLE_S, Warm


class Ready:
    """At most one of each; the warm process is for one block."""

    def __init__(self, link: Link, world: process.World, config: dict[str, Any]) -> None:
        self._link = link
        self._world = world
        self._modules: list[str] = config["warm"]
        self._source: str = config["warm_source"]
        self._warm: Warm | None = None
        self._warm_delay_s = 0.0

    def wait(self, kernel: KernelBlocks | None) -> None:
        """Make ready what the next block starts with, until the host sends something."""
        poller = select.poll()
        poller.register(self._link, select.POLLIN)
        waking: Warm | Kernel | None = None
        with suppress(OSError):  # of a kernel that cannot be started, which is told when it is needed
            waking = self._prepare(poller) if kernel is None else kernel.prepare()
        if waking is not None and not waking.ready:
            poller.register(waking, select.POLLIN)
        while not any(descriptor == self._link.fileno() for descriptor, _ in poller.poll()):
            if waking is not None:
                poller.unregister(waking)
                if waking.hear():
                    self._link.send(frames.IDLE, {"warm": True})

    def _prepare(self, poller: select.poll) -> Warm | None:
        if self._modules and self._warm is None and not poller.poll(self._warm_delay_s * 1000):
            self._warm_delay_s = IDLE_S
            try:
                self._warm = Warm(self._source, self._modules, self._world)
            except OSError:  # a fresh process will say why
                self._modules = []
        return self._warm

    def end(self) -> None:
        """End what stands ready: it was started with variables that have changed since."""
        self.take_warm("")

    def take_warm(self, name: str) -> process.Child | None:
        """The warm process as that of a Python block, if there is one that is ready; in any case there is none then."""
        warm, self._warm = self._warm, None
        if warm is None:
            return None
        if name and warm.ready:
            with suppress(OSError):  # it was killed, for want of memory perhaps
                return warm.become(name)
        warm.kill()
        return None
