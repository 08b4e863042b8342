"""Text behind a mark, every line of it: what wraps never looks like a line of the program's own."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
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
        self._whole_words = whole_words
        self._rest = Text(rest) if isinstance(rest, str) else rest or Text(" " * self._mark.cell_len)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(options.max_width - self._mark.cell_len, 1)
        whole = self._whole_words
        lines = _between_words(self._text, width) if whole else self._text.wrap(console, width, tab_size=TAB_SIZE)
        for number, line in enumerate(lines or [Text()]):
            line.rstrip()
            line = Text.assemble(self._rest if number else self._mark, line)
            if whole:
                yield from console.render(line, options.update(no_wrap=True, overflow="ignore"))
            else:
                yield line


def _between_words(text: Text, width: int) -> list[Text]:
    """The text in lines of so many columns, each with at least one word, however long that is."""
    breaks: list[int] = []
    column = 0
    for word in re.finditer(r"\S+\s*", text.plain):
        if column and column + cell_len(word[0].rstrip()) > width:
            breaks.append(word.start())
            column = 0
        column += cell_len(word[0])
    return list(text.divide(breaks))


class Verbatim:
    """A line that is left to the terminal to break, so that it copies as it is."""

    def __init__(self, line: Text) -> None:
        self._line = line

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self._line, options.update(no_wrap=True, overflow="ignore"))


def mark(text: str, style: str, *, sign: str = "●", indent: int = 0) -> Hanging:
    """A notice behind its sign, in one style."""
    return Hanging(Text(f"{' ' * indent}{sign} ", style=style), Text(text, style=style))
