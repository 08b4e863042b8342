"""A block's output while it comes: the head at once, the tail at the end, the middle dropped and counted."""

from __future__ import annotations

_PIECE_BYTES = 8192
_MAX_PIECES = 4096


class Cap:
    """Decides what of the output is passed on. Both streams count together."""

    def __init__(self, head_bytes: int, tail_bytes: int) -> None:
        self._room = head_bytes
        self._tail_bytes = tail_bytes
        self._tail: list[tuple[int, bytearray]] = []
        self._kept = 0
        self.dropped = 0
        """Bytes that are in neither head nor tail."""

    def take(self, stream: int, data: bytes) -> bytes:
        """Take a piece; returns the part of it that goes out at once."""
        now = data[: self._room]
        self._room -= len(now)
        rest = data[len(now) :]
        if rest:
            self._keep(stream, rest)
        return now

    def _keep(self, stream: int, data: bytes) -> None:
        # Many tiny pieces would cost more than what is in them.
        if self._tail and self._tail[-1][0] == stream and len(self._tail[-1][1]) < _PIECE_BYTES:
            self._tail[-1][1].extend(data)
        else:
            self._tail.append((stream, bytearray(data)))
        self._kept += len(data)
        while self._kept > self._tail_bytes or len(self._tail) > _MAX_PIECES:
            oldest = self._tail[0][1]
            gone = min(len(oldest), max(1, self._kept - self._tail_bytes))
            if gone == len(oldest) or len(self._tail) > _MAX_PIECES:
                gone = len(oldest)
                del self._tail[0]
            else:
                del oldest[:gone]
            self._kept -= gone
            self.dropped += gone

    def tail(self) -> list[tuple[int, bytes]]:
        """What is left to send when the block has ended, as (stream, bytes)."""
        return [(stream, bytes(data)) for stream, data in self._tail]
