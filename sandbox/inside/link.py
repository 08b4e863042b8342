"""Frames from and to the host, over the supervisor's standard input and output. Where the host is gone, all ends."""

from __future__ import annotations

import os
import select
from typing import Any

from sandbox.inside import frames

_REST_MS = 1


class Link:
    """Both directions. What is sent is written at once; a cancel is noted apart from the other frames."""

    def __init__(self) -> None:
        key = _read_exactly(frames.KEY_BYTES)
        self._sender = frames.Sender(key, b"inside")
        self._receiver = frames.Receiver(key, b"host")
        self._waiting: list[tuple[int, bytes]] = []
        self.cancelled: set[int] = set()
        """Numbers of the runs that the host wants to end."""

    def fileno(self) -> int:
        """Descriptor that can be read when the host has sent something."""
        return 0

    @property
    def has_frames(self) -> bool:
        """Whether `next_frame` has something to return at once."""
        return bool(self._waiting)

    def send(self, kind: int, fields: dict[str, Any], data: bytes = b"") -> None:
        """Send a frame, however long that takes."""
        view = memoryview(self._sender.frame(kind, frames.with_json(fields, data)))
        while view:
            view = view[os.write(1, view) :]

    def rest(self) -> None:
        """Leave the processor to what carries the last frame to the host, unless that has sent another already."""
        poller = select.poll()
        poller.register(self, select.POLLIN)
        poller.poll(_REST_MS)

    def read(self) -> None:
        """Take what there is, or wait for it. Raises `ForgedFrameError`."""
        data = os.read(0, 1 << 20)
        if not data:
            os._exit(0)
        for kind, payload in self._receiver.feed(data):
            if kind == frames.CANCEL:
                self.cancelled.add(frames.split_json(payload)[0]["id"])
            else:
                self._waiting.append((kind, payload))

    def next_frame(self) -> tuple[int, dict[str, Any], bytes]:
        """Kind, fields and bytes of the next frame but cancels."""
        while not self._waiting:
            self.read()
        kind, payload = self._waiting.pop(0)
        return (kind, *frames.split_json(payload))


def _read_exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data
