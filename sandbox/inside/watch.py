"""A block's process, watched: its output passed on while it comes, its end, its time limit and its cancel noticed."""

from __future__ import annotations

import fcntl
import os
import select
import time

from sandbox.inside import frames, process
from sandbox.inside.lean import signal, suppress
from sandbox.inside.link import Link
from sandbox.inside.output import Cap

_PIECE_BYTES = 65536


class Wake:
    """A pipe that can be read when a child has ended."""

    def __init__(self) -> None:
        self._read, write = os.pipe()
        for descriptor in (self._read, write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self._read

    def clear(self) -> None:
        """Take what woke it."""
        with suppress(BlockingIOError):
            os.read(self._read, 4096)


class Watch:
    """The watch over the processes of one block, whose outputs count together."""

    def __init__(self, link: Link, wake: Wake, cap: Cap) -> None:
        self._link = link
        self._wake = wake
        self._cap = cap

    def until_end(self, child: process.Child, deadline: float, run: int) -> tuple[int | None, str]:
        """Pass on output until the process has ended (its wait status, perhaps `told`) or must be ended (the reason).

        The end of the process counts, not that of its output: a daemon may hold the pipe for ever.
        """
        host, wake = self._link.fileno(), self._wake.fileno()
        poller = select.poll()
        for descriptor in (host, wake, *child.pipes, *([] if child.end is None else [child.end])):
            poller.register(descriptor, select.POLLIN)
        while True:
            left_s = deadline - time.monotonic()
            if run in self._link.cancelled:
                return None, "cancel"
            if left_s <= 0:
                return None, "timeout"
            for descriptor, _ in poller.poll(left_s * 1000 + 1):
                if descriptor == host:
                    self._link.read()
                elif descriptor == wake:
                    self._wake.clear()
                    ended = process.reap()
                    if child.pid in ended:
                        return ended[child.pid], ""
                elif descriptor == child.end:
                    code = b""
                    with suppress(OSError):  # a socket of a process that was killed
                        code = os.read(descriptor, 1)
                    if code:
                        return code[0] << 8, "told"
                    poller.unregister(descriptor)
                elif not self._pass_on(descriptor, child.pipes[descriptor]):
                    poller.unregister(descriptor)

    def drain(self, child: process.Child) -> None:
        """Pass on what lies in the pipes: no more than they hold, should anybody still be writing."""
        for descriptor, stream in child.pipes.items():
            room = fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
            while room > 0 and (size := self._pass_on(descriptor, stream)):
                room -= size

    def _pass_on(self, descriptor: int, stream: int) -> int:
        """Read a piece of output and send what fits; returns the size of the piece, 0 at the end."""
        try:
            data = os.read(descriptor, _PIECE_BYTES)
        except BlockingIOError:
            return 0
        now = self._cap.take(stream, data)
        if now:
            self._link.send(frames.OUTPUT, {"stream": stream}, now)
        return len(data)

    def tell(self, text: str) -> None:
        """Say something in the block's place, on its standard error."""
        self._link.send(frames.OUTPUT, {"stream": 2}, text.encode("utf-8", "replace"))

    def send_tail(self) -> None:
        """Send what was kept of the end of the output."""
        if self._cap.tail():
            self._link.send(frames.CUT, {"dropped": self._cap.dropped})
            for stream, data in self._cap.tail():
                self._link.send(frames.OUTPUT, {"stream": stream}, data)
