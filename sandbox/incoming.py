"""What a container may send back of one block's files, counted on the host too: its own counting is not relied on."""

from __future__ import annotations

from sandbox.policy import MIB, SandboxPolicy
from utils.errors import SandboxError


class Incoming:
    """The files of one block while they come."""

    def __init__(self, policy: SandboxPolicy) -> None:
        self._room = policy.files_out_mib * MIB
        self._each = policy.file_out_mib * MIB
        self._files = policy.files_out
        self._sizes: dict[str, int] = {}

    def count(self, name: str, size: int, first: bool) -> None:
        """Count a piece of a file before it is taken. Raises `SandboxError` where it is more than was allowed."""
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
