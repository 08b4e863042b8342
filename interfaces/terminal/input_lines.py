"""Lines from standard input, one at a time, in a way that a cancel and the program's end never wait for."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import select
import stat
import sys
import threading

if sys.platform != "win32":
    import fcntl
    import termios

MAX_LINE_BYTES = 8_000_000
"""Longest line. What is longer cannot be an answer, and nobody shall fill the memory with it."""
_PIECE = 65_536


class LineTooLongError(ValueError):
    """A line was longer than `MAX_LINE_BYTES`; it is thrown away to its end."""


class InputLines:
    """Reads a file descriptor by lines.

    Nothing is read before it is wanted. A daemon thread does the reading, with `os.read`: it may hang for ever without
    keeping the program from ending, which a thread pool and `sys.stdin` do not allow. What it reads after its `next`
    was cancelled is kept for the following one.
    """

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._buffer = b""
        self._ended = False
        self._reading: asyncio.Future[bytes] | None = None
        self._taken = 0
        """Bytes of lines that were handed out."""
        self._marked: float = 0
        """Bytes that came before the last mark."""
        self.early = False
        """Whether the last line began before the last mark."""

    def mark(self) -> None:
        """Tell apart what has been written until now from what comes later, as far as that can be known; else early."""
        waiting = None if self._reading is not None else _waiting(self._descriptor)
        if waiting is None:
            self._marked = math.inf
            return
        while waiting > 0 and not self._ended:
            piece = os.read(self._descriptor, min(waiting, _PIECE))
            waiting -= len(piece)
            self._ended = not piece
            self._buffer += piece
        self._marked = self._taken + len(self._buffer)

    async def next(self) -> bytes | None:
        """Wait for the next line, without its end; None at the end of input. Raises `LineTooLongError`."""
        searched = 0
        too_long = False
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0 or (self._ended and self._buffer):
                line, self._buffer = (self._buffer[:end], self._buffer[end + 1 :]) if end >= 0 else (self._buffer, b"")
                self.early = too_long or self._taken < self._marked
                self._taken += len(line) + 1
                if too_long or len(line) > MAX_LINE_BYTES:
                    raise LineTooLongError
                return line.rstrip(b"\r")
            if self._ended:
                return None
            if len(self._buffer) > MAX_LINE_BYTES:
                self._taken += len(self._buffer)
                too_long, self._buffer = True, b""
            searched = len(self._buffer)
            piece = await asyncio.shield(self._read())
            self._reading = None
            self._ended = not piece
            self._buffer += piece

    def _read(self) -> asyncio.Future[bytes]:
        """The one reading that is under way, begun where there is none."""
        if self._reading is None:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[bytes] = loop.create_future()

            def deliver(piece: bytes) -> None:
                if not future.cancelled():
                    future.set_result(piece)

            def read() -> None:
                try:
                    piece = os.read(self._descriptor, _PIECE)
                except OSError:
                    piece = b""
                with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                    loop.call_soon_threadsafe(deliver, piece)

            threading.Thread(target=read, name="input", daemon=True).start()
            self._reading = future
        return self._reading


def _waiting(descriptor: int) -> int | None:
    """Bytes that can be read at once; None where that is not known, as of a file, which was written long ago."""
    if sys.platform == "win32":
        return None
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
    except OSError:
        return None


def can_answer(descriptor: int = 0) -> bool:
    """Whether answers may come: not from /dev/null, an empty file, a closed descriptor or a pipe that has ended."""
    try:
        status = os.fstat(descriptor)
        if stat.S_ISCHR(status.st_mode):
            return not os.path.samestat(status, os.stat(os.devnull))
        if stat.S_ISREG(status.st_mode):
            return os.lseek(descriptor, 0, os.SEEK_CUR) < status.st_size
        if not hasattr(select, "poll"):
            return True
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        events = dict(poller.poll(0)).get(descriptor, 0)
        return bool(events & select.POLLIN) or not events & (select.POLLHUP | select.POLLERR)
    except OSError:
        return False
