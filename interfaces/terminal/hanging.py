"""Text behind a mark, every line of it: what wraps never looks like a line of the program's own."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, OverflowMethod, RenderResult
from rich.text import Text

from interfaces.terminal.outlet import TAB_SIZE


class Hanging:
    """A paragraph whose first line follows one mark and whose other lines follow another, blanks by default.

    With `whole_words` a word longer than the line, such as a path, is left to the terminal to break: it copies whole.
    """

    def __init__(
        self, mark: str | Text, text: Text, rest: str | Text | None = None, *, whole_words: bool = False
    ) -> None:
        self._mark = Text(mark) if isinstance(mark, str) else mark
        self._text = text
        self._overflow: OverflowMethod = "ignore" if whole_words else "fold"
        self._rest = Text(rest) if isinstance(rest, str) else rest or Text(" " * self._mark.cell_len)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(options.max_width - self._mark.cell_len, 1)
        lines = self._text.wrap(console, width, overflow=self._overflow, tab_size=TAB_SIZE)
        for number, line in enumerate(lines or [Text()]):
            line.rstrip()
            yield Text.assemble(self._rest if number else self._mark, line, overflow=self._overflow)


class Verbatim:
    """A line that is left to the terminal to break, so that it copies as it is."""

    def __init__(self, line: Text) -> None:
        self._line = line

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self._line, options.update(no_wrap=True, overflow="ignore"))


def mark(text: str, style: str, *, sign: str = "●", indent: int = 0) -> Hanging:
    """A notice behind its sign, in one style."""
    return Hanging(Text(f"{' ' * indent}{sign} ", style=style), Text(text, style=style))
