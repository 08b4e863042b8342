"""Reasoning that a model shows: dimmed, line by line, apart from its words."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from interfaces.terminal.outlet import GAP
from interfaces.terminal.plain import shown


class Thoughts:
    """Takes reasoning piece by piece and hands out dimmed lines."""

    def __init__(self) -> None:
        self._pending = ""
        self._begun = False

    def feed(self, text: str) -> list[RenderableType]:
        """Take the next piece; the lines that are now whole."""
        *lines, self._pending = (self._pending + text).split("\n")
        return [part for line in lines for part in self._line(line)]

    def tail(self) -> RenderableType | None:
        """The line that is being written."""
        return self._dim(self._pending) if self._pending.strip() else None

    def close(self) -> list[RenderableType]:
        """The reasoning has ended: its last line, and an empty one below."""
        parts = self._line(self._pending) if self._pending.strip() else []
        self._pending = ""
        return [*parts, GAP] if self._begun else []

    def _line(self, line: str) -> list[RenderableType]:
        if not line.strip() and not self._begun:
            return []
        first: list[RenderableType] = [] if self._begun else [Text("thinking", style="dim bold")]
        self._begun = True
        return [*first, self._dim(line)]

    def _dim(self, line: str) -> Text:
        return Text(shown(line).rstrip(), style="dim italic")
