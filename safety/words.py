"""The words of a message: what stands outside its code and its quotations."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

_markdown = MarkdownIt("commonmark")
_STOP = re.compile(r"(?:\*\*|__|`)?STOP(?:\*\*|__|`)?\.?")


def word_lines(text: str) -> list[str]:
    """Return the lines of paragraphs and headings as CommonMark reads them.

    Fences, indented code, HTML and block quotes are left out.
    """
    lines: list[str] = []
    quotes = 0
    for token in _markdown.parse(text):
        if token.type == "blockquote_open":
            quotes += 1
        elif token.type == "blockquote_close":
            quotes -= 1
        elif token.type == "inline" and quotes == 0:
            lines += token.content.split("\n")
    return lines


def says_stop(text: str) -> bool:
    """Tell whether STOP stands alone on a line, outside code and quotations. Emphasis and a full stop are let pass."""
    return "STOP" in text and any(_STOP.fullmatch(line.strip()) for line in word_lines(text))
