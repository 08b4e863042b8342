"""What a container may send back of one block, counted on the host too: its own counting is not relied on."""

from __future__ import annotations

from sandbox.policy import MIB, SandboxPolicy
from utils.errors import SandboxError

_OWN_BYTES = 16 << 10
"""Output beyond the limit for what the supervisor itself says in a block's place."""


class Incoming:
    """The output and the files of one block while they come."""

    def __init__(self, policy: SandboxPolicy) -> None:
        self._room = policy.files_out_mib * MIB
        self._each = policy.file_out_mib * MIB
        self._files = policy.files_out
        self._sizes: dict[str, int] = {}
        self._complete: set[str] = set()
        self._output = policy.output_kib * 1024 + _OWN_BYTES
        self._cuts = 0

    def output(self, size: int) -> None:
        """Count a piece of output. Raises `SandboxError` where it is more than was allowed."""
        self._output -= size
        if self._output < 0:
            raise _too_much("more output than its limit")

    def cut(self) -> None:
        """Count a mark that the middle of the output is missing, of which there is one. Raises `SandboxError`."""
        self._cuts += 1
        if self._cuts > 1:
            raise _too_much("the end of the output twice")

    def count(self, name: str, size: int, first: bool, last: bool) -> None:
        """Count a piece of a file before it is taken. Raises `SandboxError` where it is more than was allowed."""
        # Pieces of nothing could come for ever.
        if not size and not last:
            raise _too_much("an empty piece of a file")
        if not first and name not in self._sizes:
            raise _too_much("a file without its beginning")
        if name in self._complete:
            raise _too_much("more of a file than its end")
        if last:
            self._complete.add(name)
        if first and name in self._sizes:
            raise _too_much("a file twice")
        self._sizes[name] = self._sizes.get(name, 0) + size
        self._room -= size
        if len(self._sizes) > self._files:
            raise _too_much(f"more than {self._files} files")
        if self._sizes[name] > self._each or self._room < 0:
            raise _too_much("files over the limits of their size")


def _too_much(what: str) -> SandboxError:
    return SandboxError(
        f"The sandbox sent {what}, which its supervisor does not.",
        "It was thrown away; the next block gets a fresh one.",
    )
