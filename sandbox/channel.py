"""The attach stream of a container, read and written in frames."""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
from collections import deque
from typing import Any

from sandbox.answers import checked, plain
from sandbox.inside import frames
from utils.errors import SandboxError

_MUX = struct.Struct("!BxxxI")  # Docker's header of each piece: stream and length
_STDOUT = 1
_COMPLAINT_BYTES = 4096

Frame = tuple[int, dict[str, Any], bytes]


class Channel:
    """Frames to and from one supervisor. One reader at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._key = os.urandom(frames.KEY_BYTES)
        self._sender = frames.Sender(self._key, b"host")
        self._receiver = frames.Receiver(self._key, b"inside")
        self._raw = bytearray()
        self._ready: deque[Frame] = deque()
        self._complaint = b""

    def hello(self, config: dict[str, Any]) -> None:
        """Hand over the key and what the supervisor must know. Must come first."""
        self._writer.write(self._key)
        self.send(frames.HELLO, config)

    def send(self, kind: int, fields: dict[str, Any], data: bytes = b"") -> None:
        """Send a frame; lost where the container is gone, which `receive` then tells."""
        if not self._writer.is_closing():
            self._writer.write(self._sender.frame(kind, frames.with_json(fields, data)))

    async def drain(self) -> None:
        """Wait until what was sent does not pile up here. Raises `SandboxError`."""
        try:
            await self._writer.drain()
        except OSError as error:
            raise self._gone() from error

    async def receive(self) -> Frame:
        """The next frame. Raises `SandboxError` when the container is gone or the frame is forged."""
        while not self._ready:
            try:
                data = await self._reader.read(1 << 18)
            except OSError as error:
                raise self._gone() from error
            if not data:
                raise self._gone()
            try:
                self._take(data)
            except (frames.ForgedFrameError, ValueError, struct.error) as error:
                raise SandboxError(
                    f"The sandbox sent something that its supervisor did not write: {error}.",
                    "It was thrown away; the next block gets a fresh one.",
                ) from error
        return self._ready.popleft()

    async def discard(self) -> None:
        """Read and drop what comes until the end, or until somebody else reads."""
        with contextlib.suppress(OSError, RuntimeError):
            while await self._reader.read(1 << 18):
                pass

    def _take(self, received: bytes) -> None:
        self._raw += received
        while len(self._raw) >= _MUX.size:
            stream, size = _MUX.unpack_from(self._raw)
            end = _MUX.size + size
            if len(self._raw) < end:
                return
            piece = bytes(self._raw[_MUX.size : end])
            del self._raw[:end]
            if stream != _STDOUT:
                self._complaint = (self._complaint + piece)[-_COMPLAINT_BYTES:]
                continue
            for kind, payload in self._receiver.feed(piece):
                fields, data = frames.split_json(payload)
                self._ready.append((kind, checked(kind, fields), data))

    def _gone(self) -> SandboxError:
        lines = self._complaint.decode("utf-8", "replace").strip().splitlines()
        why = f" ({plain(lines[-1])})" if lines else ""
        return SandboxError(
            f"The sandbox's container ended in the middle{why}.",
            "It may have been removed from outside, or Docker was stopped; the next block gets a fresh one.",
        )

    def close(self) -> None:
        """Close the stream, which ends the supervisor."""
        with contextlib.suppress(RuntimeError):  # its event loop is closed, and the stream goes with its last reference
            self._writer.close()
