"""Frames between the host and the supervisor: length, kind, a MAC, a payload. The same file serves both ends.

The key is made by the host for one container and comes first over stdin, so that nothing else in the container can
make a frame that the host believes; the counter keeps a frame from being played twice.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from sandbox.inside import lean

HELLO, PUT, REMOVE, RUN, CANCEL, ENV = 1, 2, 3, 4, 5, 6
"""Kinds of frame that the host sends."""
READY, OUTPUT, CUT, FILE, DONE, FAULT, IDLE = 65, 66, 67, 68, 69, 70, 71
"""Kinds of frame that the supervisor sends."""

KEY_BYTES = 32
MAC_BYTES = 16
MAX_PAYLOAD_BYTES = 8 << 20
CHUNK_BYTES = 128 << 10
"""Bytes of a file that travel in one frame."""

_HEAD = struct.Struct("!IB")
_JSON = struct.Struct("!I")


class ForgedFrameError(Exception):
    """A frame that the other end did not make, or that was damaged."""


class Sender:
    """Makes the frames of one direction."""

    def __init__(self, key: bytes, direction: bytes) -> None:
        self._key = key
        self._direction = direction
        self._count = 0

    def frame(self, kind: int, payload: bytes = b"") -> bytes:
        """One frame, ready to be written."""
        head = _HEAD.pack(len(payload), kind)
        mac = _mac(self._key, self._direction, self._count, head, payload)
        self._count += 1
        return head + mac + payload


class Receiver:
    """Reads the frames of one direction out of pieces of any size."""

    def __init__(self, key: bytes, direction: bytes) -> None:
        self._key = key
        self._direction = direction
        self._count = 0
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Kind and payload of each frame that is complete. Raises `ForgedFrameError`."""
        self._buffer += data
        start = _HEAD.size + MAC_BYTES
        while len(self._buffer) >= start:
            size, kind = _HEAD.unpack_from(self._buffer)
            if size > MAX_PAYLOAD_BYTES:
                raise ForgedFrameError(f"a frame of {size} bytes")
            if len(self._buffer) < start + size:
                return
            frame = bytes(self._buffer[: start + size])
            del self._buffer[: start + size]
            payload = frame[start:]
            mac = _mac(self._key, self._direction, self._count, frame[: _HEAD.size], payload)
            if not lean.compare_digest(mac, frame[_HEAD.size : start]):
                raise ForgedFrameError(f"a frame of kind {kind} that is not authentic")
            self._count += 1
            yield kind, payload


def _mac(key: bytes, direction: bytes, count: int, head: bytes, payload: bytes) -> bytes:
    mac = lean.blake2b(direction + struct.pack("!Q", count) + head, key=key, digest_size=MAC_BYTES)
    mac.update(payload)
    return mac.digest()


def with_json(fields: dict[str, Any], data: bytes = b"") -> bytes:
    """A payload of named fields followed by bytes."""
    text = lean.dumps(fields).encode("ascii")
    return _JSON.pack(len(text)) + text + data


def split_json(payload: bytes) -> tuple[dict[str, Any], bytes]:
    """The named fields of a payload, and the bytes after them."""
    (size,) = _JSON.unpack_from(payload)
    fields: dict[str, Any] = lean.loads(payload[_JSON.size : _JSON.size + size].decode("ascii"))
    return fields, payload[_JSON.size + size :]


def fitting(entries: Iterable[Any], size: int) -> int:
    """How many of the entries, in order, take no more than so many bytes of a frame's fields."""
    count = 0
    for entry in entries:
        size -= len(lean.dumps(entry)) + 2
        if size < 0:
            break
        count += 1
    return count
