"""Markdown and code as the terminal shows them."""

from __future__ import annotations

import os
from typing import ClassVar

from markdown_it import MarkdownIt
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSI_DARK, ANSI_LIGHT, ANSISyntaxTheme, Syntax, SyntaxTheme
from rich.table import Table
from rich.text import Text

from interfaces.terminal.trimmed import trimmed_lines

PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")
"""CommonMark with tables; tags of HTML are text, so that nothing written is left unshown."""


def code_theme() -> SyntaxTheme:
    """The highlighting theme: the terminal's own sixteen colours, for a light or a dark ground; nothing underlined."""
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    styles = ANSI_LIGHT if ground in ("7", "15") else ANSI_DARK
    plain = Style(underline=False)
    return ANSISyntaxTheme({token: style + plain if style.underline else style for token, style in styles.items()})


def highlighted(code: str, language: str) -> Text:
    """The code with colours, without a last line end; plain where the language is not known."""
    syntax = Syntax("", language or "text", theme=code_theme(), background_color="default", tab_size=4)
    text = syntax.highlight(code)
    text.rstrip()
    return Text(code.rstrip("\n")) if text.plain.rstrip() != code.rstrip() else _padded(text, code)


def _padded(text: Text, code: str) -> Text:
    """Give back the empty lines at the end that highlighting drops."""
    missing = code.rstrip("\n").count("\n") - text.plain.count("\n")
    return text.append("\n" * missing) if missing > 0 else text


class _Heading(Heading):
    """A heading on the left: a centred one looks lost beside a conversation."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.justify = "left"
        yield text


class _CodeBlock(CodeBlock):
    """Code inside a list or a quotation."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield highlighted(str(self.text).rstrip(), self.lexer_name)


class _Table(TableElement):
    """A table with lines that survive without colour."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                part.box = box.SIMPLE_HEAD
                part.pad_edge = False
            yield part


class Words(Markdown):
    """A piece of Markdown: links with their addresses written out, headings on the left, HTML as text."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "table_open": _Table,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = text
        self.parsed = PARSER.parse(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        parts = super().__rich_console__(console, options)
        lines = list(trimmed_lines(part for part in parts if isinstance(part, Segment)))
        while lines and not lines[0]:
            del lines[0]
        while lines and not lines[-1]:
            del lines[-1]
        for line in lines:
            yield from line
            yield Segment.line()
