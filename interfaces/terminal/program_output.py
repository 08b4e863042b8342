"""A program's output while it runs: line by line, shown and never obeyed, and never more of it than can be read."""

from __future__ import annotations

from collections import deque

from rich.console import Group, RenderableType
from rich.text import Text

from interfaces.terminal.hanging import Hanging
from interfaces.terminal.plain import counted, one_line

HEAD = 300
"""Lines of one block that are shown as they come."""
TAIL = 40
"""Lines of one block that are kept for its end when there are more."""
_UNFINISHED = 64_000
"""Characters of a line without an end that are kept."""

_MARKS = {"stdout": Text("│ ", style="faint"), "stderr": Text("┃ ", style="bad")}


class ProgramOutput:
    """Takes the pieces of one block's output and hands out whole lines.

    Each stands behind a bar: a thin one for standard output, a thick one for standard error.
    """

    def __init__(self) -> None:
        self.lines = 0
        """Lines that came."""
        self._open = {"stdout": "", "stderr": ""}
        self._kept: deque[Hanging] = deque(maxlen=TAIL)

    @property
    def empty(self) -> bool:
        """Whether nothing came."""
        return not self.lines and not any(self._open.values())

    def feed(self, stream: str, text: str) -> list[RenderableType]:
        """Take the next piece; the lines that are to be shown now."""
        *whole, rest = (self._open[stream] + text).split("\n")
        self._open[stream] = rest[:_UNFINISHED]
        return [line for each in whole if (line := self._take(stream, each))]

    def tail(self) -> RenderableType | None:
        """What is not a whole line yet, or how much is not shown."""
        parts: list[RenderableType] = [self._line(stream, text) for stream, text in self._open.items() if text]
        if self.lines > HEAD:
            parts = [Text(f"⋯ {self.lines - HEAD:,} more lines", style="faint"), *parts[-1:]]
        return Group(*parts) if parts else None

    def close(self) -> list[RenderableType]:
        """The block has ended: what was not handed out yet."""
        parts: list[RenderableType] = []
        for stream, text in self._open.items():
            if text and (line := self._take(stream, text)):
                parts.append(line)
        self._open = {"stdout": "", "stderr": ""}
        left_out = self.lines - HEAD - len(self._kept)
        if left_out > 0:
            parts.append(Text(f"⋯ {counted(left_out, 'line')} not shown", style="faint"))
        parts += self._kept
        self._kept.clear()
        return parts

    def _take(self, stream: str, text: str) -> Hanging | None:
        self.lines += 1
        line = self._line(stream, text)
        if self.lines <= HEAD:
            return line
        self._kept.append(line)
        return None

    def _line(self, stream: str, text: str) -> Hanging:
        return Hanging(_MARKS[stream], Text(one_line(text.removesuffix("\r"))), _MARKS[stream])
