"""A process that has done all but become a block's program, which takes half of the time until a small one runs."""

from __future__ import annotations

import os

from sandbox.inside import process
from sandbox.inside.lean import signal, suppress

_SHELL = "dash"
"""So small that to become something else costs it little. Other shells leave variables of their own behind."""
_SHELLS_OWN = {"IFS", "OPTIND", "OLDPWD", "PPID", "PS1", "PS2", "PS4", "PWD"}
"""Variables that it would not hand on as it got them."""


class StandBy:
    """A shell with a block's limits and filter that reads its one command from its standard input.

    It is made while nothing runs, and is the next block's first process or is killed before that starts.
    """

    def __init__(self, world: process.World, directory: str) -> None:
        theirs, self._ours = os.pipe()
        self._world = world
        self._child = process.start([_SHELL], world, directory, stdin=theirs)
        os.close(theirs)

    @staticmethod
    def is_possible(world: process.World) -> bool:
        """Whether the image has the shell, and the program would see the same variables as without it."""
        try:
            world.find(_SHELL)
        except FileNotFoundError:
            return False
        return not _SHELLS_OWN & set(world.env)

    def go(self, argv: list[str]) -> process.Child:
        """Let it become the program. Raises `OSError` where it has ended, or the program is not there."""
        words = [self._world.find(argv[0]), *argv[1:]]
        line = f"unset PWD; exec </dev/null {' '.join(map(_quoted, words))}\n"
        os.write(self._ours, os.fsencode(line))
        os.close(self._ours)
        return self._child

    def kill(self) -> None:
        """End it."""
        os.close(self._ours)
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._child.pid, signal.SIGKILL)
            os.waitpid(self._child.pid, 0)
        self._child.close()


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
