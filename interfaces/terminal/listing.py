"""Names with what they mean: side by side where there is room, below each other on a narrow screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from interfaces.terminal.hanging import Hanging
from interfaces.terminal.trimmed import Trimmed

_ROOM = 24
"""Columns that the meanings need to stand beside their names."""


class Listing:
    """A list of names, each with its meaning."""

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        self._rows = list(rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        longest = max((cell_len(name) for name, _ in self._rows), default=0)
        if options.max_width < longest + 2 + _ROOM:
            for name, meaning in self._rows:
                yield Hanging("", Text(name, style="key"), whole_words=True)
                yield Hanging("  ", Text(meaning, style="faint"))
            return
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column()
        for name, meaning in self._rows:
            grid.add_row(Text(name, style="key"), Text(meaning, style="faint"))
        yield Trimmed(grid)


class Keys:
    """What can be typed, one after the other with what it means; a line never ends between the two."""

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        self._keys = [Text(key, style="key").append(f" {word}", style="faint") for key, word in keys]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = Text()
        for key in self._keys:
            if line and line.cell_len + 2 + key.cell_len > options.max_width:
                yield line
                line = Text()
            line = line.append("  " if line else "").append_text(key)
        yield line
