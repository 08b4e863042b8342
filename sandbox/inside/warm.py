"""The warm process as the supervisor keeps it: one at most, for one block, killed before any other block starts."""

from __future__ import annotations

import os

from sandbox.inside import process
from sandbox.inside.lean import signal, socket, suppress

IDLE_S = 0.1
"""How long nothing must have been asked before one is made: blocks that come back to back need none."""


class Warm:
    """A Python process that is importing or has imported."""

    def __init__(self, source: str, modules: list[str], world: process.World) -> None:
        self._ours, theirs = socket.socketpair()
        argv = ["python3", "-c", source, *modules]
        # From the root directory: nothing that a block left in the workspace can be imported.
        self.child = world.start(argv, "/", extra=theirs.fileno())
        theirs.close()
        self.ready = False

    def fileno(self) -> int:
        """Descriptor that can be read when it is ready or has ended."""
        return self._ours.fileno()

    def hear(self) -> bool:
        """Take what it says; False when it has ended."""
        self.ready = self._ours.recv(16) == b"R"
        return self.ready

    def become(self, name: str) -> process.Child:
        """Let it run a block's file; it is a block's process from then on, and tells its end before it has ended."""
        self._ours.sendall(os.fsencode(name))
        self.child.end = self._ours.detach()
        return self.child

    def kill(self) -> None:
        """End it, with every process that it may have started."""
        with suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.child.pid, 0)
        self._ours.close()
        self.child.close()
