"""What is typed: with editing, history and completion in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from interfaces.terminal.input_lines import InputLines, LineTooLongError
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
    """Plain lines of a file descriptor, read only when asked for; a read that hangs keeps nothing from ending."""

    def __init__(self, file: int, write: Callable[[str], None]) -> None:
        self._lines = InputLines(file)
        self._write = write

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
        """Read one line. One that is too long to be meant is an empty one."""
        if prompt:
            self._write(prompt)
        try:
            line = await self._lines.next()
        except LineTooLongError:
            return ""
        if line is None:
            raise EndOfInput
        return line.decode("utf-8", "replace")
