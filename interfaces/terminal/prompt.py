"""What is typed: with editing, history and completion in a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from utils.errors import EndOfInputError


class InterruptedInput(Exception):
    """Ctrl-C was typed. `text` is what stood on the line."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.text = text


class Input(Protocol):
    """Where a human's lines come from. Each call may be cancelled; raises `EndOfInputError`, `InterruptedInput`."""

    async def task(self, prompt: str, *, hint: str = "") -> str:
        """Read a task or a command, which may have several lines."""
        ...

    async def answer(self, prompt: str) -> str:
        """Read an answer to a question."""
        ...


def make_input(
    data_dir: Path,
    *,
    interactive: bool,
    write: Callable[[str], None],
    complete: Callable[[str], Sequence[tuple[str, str]]],
    toolbar: Callable[[], str],
) -> Input:
    """Build the input: an editor where `interactive`, else plain lines of standard input."""
    if interactive:
        from interfaces.terminal.line_editor import Editor

        return Editor(data_dir / "history", complete, toolbar)
    return Lines(sys.stdin.fileno(), write)


class EndOfInput(EndOfInputError):
    """Ctrl-D was typed, or the terminal is gone."""

    def __init__(self) -> None:
        super().__init__("The input has ended.")


class Lines:
    """Plain lines of a file descriptor, read only when asked for.

    The reading thread holds no lock of Python's and is a daemon: a read that never returns keeps nothing from ending.
    """

    def __init__(self, file: int, write: Callable[[str], None]) -> None:
        self._file = file
        self._write = write
        self._rest = b""
        self._ended = False
        self._read: asyncio.Future[bytes] | None = None

    async def task(self, prompt: str, *, hint: str = "") -> str:
        """Read a task: a line, and the next ones while they end in a backslash."""
        lines = [await self.answer(prompt)]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            try:
                lines.append(await self.answer(""))
            except EndOfInputError:
                break
        return "\n".join(lines)

    async def answer(self, prompt: str) -> str:
        """Read one line."""
        if prompt:
            self._write(prompt)
        while b"\n" not in self._rest and not self._ended:
            piece = await self._piece()
            self._rest += piece
            self._ended = not piece
        if not self._rest:
            raise EndOfInput
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").removesuffix("\r")

    async def _piece(self) -> bytes:
        """Wait for the next bytes. A wait that is cancelled leaves the read for the next one."""
        if self._read is None:
            loop = asyncio.get_running_loop()
            future = self._read = loop.create_future()
            threading.Thread(target=self._thread, args=(loop, future), daemon=True).start()
        piece = await asyncio.shield(self._read)
        self._read = None
        return piece

    def _thread(self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[bytes]) -> None:
        try:
            piece = os.read(self._file, 65_536)
        except OSError:
            piece = b""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(future.set_result, piece)
