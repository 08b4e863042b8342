"""Fenced blocks as cmark reads them: the reference implementation of CommonMark in C, nothing of ours in it."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

import cmarkgfm  # type: ignore[import-untyped]  # it ships no types
from cmarkgfm.cmark import Options  # type: ignore[import-untyped]  # it ships no types

_PIECE = re.compile(
    r'<(?P<quote>/?blockquote)\b[^>]*>|<pre data-sourcepos="(?P<first>\d+):\d+-(?P<last>\d+):\d+">'
    r'<code(?: class="language-(?P<info>[^"]*)")?>(?P<code>.*?)</code></pre>',
    re.DOTALL,
)


class Fence(NamedTuple):
    """A fenced block with an info string."""

    info: str
    """First word of the info string."""
    code: str
    quoted: bool
    line: int
    """Line of the opening fence, from 1."""
    closed: bool


def fences(text: str) -> list[Fence]:
    """The fenced blocks of a message that have an info string, in order. Line ends come as LF, NUL as U+FFFD."""
    # Raw HTML is left out of the result, so that none of it passes for a fence.
    page = cmarkgfm.cmark.markdown_to_html(text, options=Options.CMARK_OPT_SOURCEPOS)
    found: list[Fence] = []
    quotes = 0
    for piece in _PIECE.finditer(page):
        if piece["quote"]:
            quotes += -1 if piece["quote"].startswith("/") else 1
        elif piece["info"] is not None:
            code, first, last = html.unescape(piece["code"]), int(piece["first"]), int(piece["last"])
            closed = last - first - 1 == code.count("\n")
            found.append(Fence(html.unescape(piece["info"]), code, quotes > 0, first, closed))
    return found
