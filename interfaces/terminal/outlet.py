"""Where the screen's characters go: one console over a file that takes whatever its encoding can."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TextIO, cast

from rich.console import Console, ConsoleDimensions, RenderableType
from rich.constrain import Constrain
from rich.rule import Rule
from rich.text import Text
from rich.theme import Theme

_ASCII = str.maketrans(
    {
        **{chr(0x2400 + code): f"^{chr(0x40 + code)}" for code in range(32)},
        "✔": "ok",
        "✘": "x",
        "●": "*",
        "•": "*",
        "·": "-",
        "…": "...",
        "│": "|",
        "┃": "!",
        "─": "-",
        "━": "=",
        "›": ">",
        "→": "->",
        "–": "-",
        "—": "-",
        "⋯": "...",
        "␡": "^?",
        "⟨": "<",
        "⟩": ">",
    }
)
"""What stands for a sign of ours where the encoding has none."""

THEME = Theme(
    {
        "allow": "green",
        "ask": "yellow",
        "deny": "bold red",
        "good": "green",
        "bad": "red",
        "faint": "dim",
        "label": "bold cyan",
        "key": "bold",
        "notice": "cyan",
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.code": "cyan",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
    },
    inherit=True,
)

TAB_SIZE = 4
"""Columns between two tab stops."""
GAP = Text()
"""An empty line between two things. Where one stands already, the screen adds no second."""
RULE_WIDTH = 80
"""Columns that a line across the screen takes at most: one that fills a wide screen breaks when that is narrowed."""


class Outlet:
    """A text file for the console: writes in one piece what belongs together, and never fails on a character.

    Signs that the encoding lacks are put in other words, letters that it lacks become `?`.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._held: list[str] = []
        self._depth = 0
        self.encoding = (getattr(file, "encoding", None) or "utf-8").lower()
        self._plain = not self.encoding.replace("_", "-").startswith(("utf", "cp65001"))

    def write(self, text: str) -> int:
        """Write the text, or keep it until the batch ends."""
        if self._depth:
            self._held.append(text)
        else:
            self._put(text)
        return len(text)

    def flush(self) -> None:
        """Flush the file, unless a batch is open."""
        if not self._depth:
            self._put("")

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._file.isatty()

    def fileno(self) -> int:
        """Number of the file descriptor; `OSError` where there is none."""
        return self._file.fileno()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Hold what is written inside and let it out in one piece: a screen that is redrawn does not flicker."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth and self._held:
                text, self._held = "".join(self._held), []
                self._put(text)

    def _put(self, text: str) -> None:
        """Write and flush. What goes to a pipe that nobody reads any more is lost, and nothing ends by it."""
        try:
            self._file.write(self._encodable(text))
            self._file.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._file.fileno())
            os.close(nowhere)

    def _encodable(self, text: str) -> str:
        if not self._plain:
            return text.encode("utf-8", "replace").decode("utf-8")
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            replaced = text.translate(_ASCII)
            return replaced.encode(self.encoding, "replace").decode(self.encoding)
        return text


class _Console(Console):
    """A console that asks a dumb terminal for its width, too: rich takes it for 80 columns."""

    @property
    def size(self) -> ConsoleDimensions:
        """Columns and rows."""
        if not self.is_dumb_terminal or self._width is not None:
            return super().size
        try:
            columns, rows = os.get_terminal_size(self.file.fileno())
        except OSError:
            return super().size
        return ConsoleDimensions(columns or 80, rows or 25)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self._width, self._height = new_size


def make_console(file: TextIO | None = None, *, width: int | None = None, record: bool = False) -> Console:
    """Build the console of the terminal. `NO_COLOR`, `TERM=dumb` and a pipe are honoured; 80 columns where unknown."""
    outlet = Outlet(file or sys.stdout)
    return _Console(
        file=cast(IO[str], outlet),
        theme=THEME,
        width=width,
        record=record,
        highlight=False,
        markup=False,
        emoji=False,
        safe_box=True,
        tab_size=TAB_SIZE,
    )


def rule(title: str = "", style: str = "faint") -> RenderableType:
    """A line across the screen, with a title at its left."""
    return Constrain(Rule(Text(title, style=style), style="faint", align="left"), RULE_WIDTH)


@contextmanager
def batch(console: Console) -> Iterator[None]:
    """Let out in one piece what is printed inside, where the console was made here."""
    if isinstance(console.file, Outlet):
        with console.file.batch():
            yield
    else:
        yield


def can_redraw(console: Console) -> bool:
    """Whether lines already shown can be drawn anew: a terminal that understands control codes."""
    return console.is_terminal and not console.is_dumb_terminal and not console.legacy_windows


def write_through(console: Console, text: str) -> None:
    """Write a prompt, which has no line end, at once."""
    console.file.write(text)
    console.file.flush()
