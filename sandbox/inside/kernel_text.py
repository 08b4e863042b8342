"""What an object shows of itself, as text: HTML tables with their columns in line, other HTML without its tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

_NAMELESS = re.compile(r"<[\w.]+ object( at 0x[0-9a-f]+)?>|<[\w.]+ at 0x[0-9a-f]+>")
"""The `repr` of an object that has none of its own."""
_BREAKS = {"p", "div", "br", "li", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "caption", "table", "ul", "ol"}
_HIDDEN = {"style", "script", "head", "title"}


def as_text(bundle: Mapping[str, Any]) -> str:
    """The text of a bundle (MIME type -> data); empty where it has none."""
    plain = str(bundle.get("text/plain", ""))
    if plain and not _NAMELESS.fullmatch(plain):
        return plain
    for kind in ("text/markdown", "text/latex"):
        if kind in bundle:
            return str(bundle[kind])
    if "text/html" in bundle:
        return from_html(str(bundle["text/html"]))
    return plain


def from_html(source: str) -> str:
    """The words of an HTML text, its tables as tables."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    lines = [line.rstrip() for line in "".join(reader.pieces).splitlines()]
    return "\n".join(line for number, line in enumerate(lines) if line or (number and lines[number - 1])).strip("\n")


class _Reader(HTMLParser):
    """Collects text; a table's cells are held back until it ends."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._rows: list[list[str]] = []
        self._tables = 0
        self._cell: list[str] | None = None
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in _BREAKS and self._cell is None:
            self.pieces.append("\n")
        if tag == "table":
            self._tables += 1
        elif tag == "tr" and self._tables:
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            self._cell = []
            span = dict(attrs).get("colspan") or "1"
            # The cells that it covers, empty, before it: so what is under it stays in its column.
            self._rows[-1] += [""] * (min(int(span), 64) - 1 if span.isdigit() else 0)

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN and self._hidden:
            self._hidden -= 1
        elif tag in ("td", "th") and self._cell is not None:
            self._rows[-1].append(" ".join("".join(self._cell).split()))
            self._cell = None
        elif tag == "table" and self._tables:
            self._tables -= 1
            if self._tables == 0:
                self.pieces.append(_aligned(self._rows))
                self._rows = []
        elif tag in _BREAKS and self._cell is None:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._cell is not None:
            self._cell.append(data)
        elif not self._tables:
            self.pieces.append(data if data.strip() else " ")


def _aligned(rows: list[list[str]]) -> str:
    count = max((len(row) for row in rows), default=0)
    widths = [max((len(row[column]) for row in rows if column < len(row)), default=0) for column in range(count)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]  # noqa: B905  short rows
    return "\n".join(["", *lines, ""])
