"""What stands ready for the next block while nothing is asked: a process that waits, a warm one, or the kernel."""

from __future__ import annotations

import select
from typing import Any

from sandbox.inside import frames, process
from sandbox.inside.kernel_blocks import KernelBlocks
from sandbox.inside.link import Link
from sandbox.inside.stand_by import StandBy
from sandbox.inside.warm import IDLE_S, Warm

_SETTLED_MS = 10
"""How long nothing must have been asked before a process stands by: it costs more than it saves where a block waits."""


class Ready:
    """At most one of each, each for one block."""

    def __init__(self, link: Link, world: process.World, directory: str, config: dict[str, Any]) -> None:
        self._link = link
        self._world = world
        self._directory = directory
        self._modules: list[str] = config["warm"]
        self._source: str = config["warm_source"]
        self._stand_by: StandBy | None = None
        self._warm: Warm | None = None
        self._warm_delay_s = 0.0

    def wait(self, kernel: KernelBlocks | None) -> None:
        """Make ready what the next block starts with, until the host sends something."""
        poller = select.poll()
        poller.register(self._link, select.POLLIN)
        waking = self._prepare(poller) if kernel is None else kernel.prepare()
        if waking is not None and not waking.ready:
            poller.register(waking, select.POLLIN)
        while not any(descriptor == self._link.fileno() for descriptor, _ in poller.poll()):
            if waking is not None:
                poller.unregister(waking)
                if waking.hear():
                    if waking is self._warm:
                        self._end_stand_by()
                    self._link.send(frames.IDLE, {"warm": True})

    def _prepare(self, poller: select.poll) -> Warm | None:
        if self._wants_stand_by() and not poller.poll(_SETTLED_MS):
            self._stand_by = StandBy(self._world, self._directory)
        if self._modules and self._warm is None and not poller.poll(self._warm_delay_s * 1000):
            self._warm_delay_s = IDLE_S
            self._warm = Warm(self._source, self._modules, self._world)
        return self._warm

    def _wants_stand_by(self) -> bool:
        return self._stand_by is None and not (self._warm and self._warm.ready) and StandBy.is_possible(self._world)

    def _end_stand_by(self) -> None:
        if self._stand_by is not None:
            self._stand_by.kill()
            self._stand_by = None

    def end(self) -> None:
        """End what stands ready: it was started with variables that have changed since."""
        self._end_stand_by()
        self.take_warm("")

    def take_warm(self, name: str) -> process.Child | None:
        """The warm process as that of a Python block, if there is one that is ready; in any case there is none then."""
        warm, self._warm = self._warm, None
        if warm is None:
            return None
        if name and warm.ready:
            return warm.become(name)
        warm.kill()
        return None

    def start(self, command: list[str]) -> process.Child:
        """Start a program, by the process that waits for one if it still does."""
        stand_by, self._stand_by = self._stand_by, None
        if stand_by is not None:
            try:
                return stand_by.go(command)
            except OSError:  # it was killed, for want of memory perhaps, or the program is not there
                stand_by.kill()
        return process.start(command, self._world, self._directory)
