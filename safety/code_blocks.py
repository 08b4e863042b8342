"""The one parser of fenced code. The reviewer, the human and the executor see what it returns and nothing else.

CommonMark decides what a fence is and what is in it, with these rules on top:

- The code is the fence's content as CommonMark gives it: without the indentation of the fence or of the list around it,
  and with tabs that such an indentation cuts made into spaces. A fence at the margin gives a contiguous piece of the
  message.
- Line ends (LF, CRLF, lone CR) are kept as they stand in the message, and so is NUL, where CommonMark would put LF and
  U+FFFD: what is digested, shown and run is what the model wrote.
- A fence in a block quote is a quotation: neither run nor named.
- A fence that its end of document, list item or quote closes, in place of a closing fence, is unterminated.
- A fence with nothing but white space in it holds no code.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from markdown_it import MarkdownIt
from markdown_it.token import Token

from safety.fences import DATA_NAMES, fence_name, language_of, named


@dataclass(frozen=True)
class CodeBlock:
    """One fenced block of a message that can be run."""

    index: int
    """Place among the runnable blocks of the message, from 0."""
    language: str
    """Canonical name, such as `python` or `bash`."""
    code: str
    """The exact text between the fences, with its line ends."""
    line: int = 0
    """Line of the first line of code in the message, from 1."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hexadecimal of language, NUL and the exact bytes (UTF-8, lone surrogates kept)."""
        return digest(self.language, self.code)


def digest(language: str, code: str) -> str:
    """SHA-256 in hexadecimal of language, NUL and the exact bytes of the code."""
    return hashlib.sha256(f"{language}\0{code}".encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ParsedMessage:
    """What a message holds, as CommonMark reads it."""

    blocks: tuple[CodeBlock, ...] = ()
    """The blocks that can be run, in order. Empty when the message has an unterminated fence."""
    unsupported: tuple[str, ...] = ()
    """Info strings of programming languages that cannot be run here, in order, to be named to the generator."""
    unterminated: bool = False
    """A fence was opened and never closed: nothing of the message runs."""


_LINE_END = re.compile(r"\r\n?|\n")


def _block_reader() -> MarkdownIt:
    """A CommonMark reader of blocks alone: what is inside a line is of no matter here."""
    reader = MarkdownIt("commonmark")
    # A link reference definition is a paragraph while blocks are read; with its own rule, markdown-it would let what
    # cannot interrupt a paragraph begin after it, and see other fences than CommonMark does.
    reader.disable("reference")
    reader.core.ruler.enableOnly(["block"])
    return reader


_READER = _block_reader()


def parse(text: str, languages: Mapping[str, str]) -> ParsedMessage:
    """Read the fenced blocks of a message. Any string is read; none raises.

    `languages` maps a fence's name, in lower case, to the canonical name of a language that can be run here, such as
    `{"py": "python", "python": "python"}`. Fences named as data (`text`, `json`, `output`, none) are passed over, and
    so is what stands deeper than ten lists.
    """
    if "```" not in text and "~~~" not in text:
        return ParsedMessage()
    line_ends = _LINE_END.findall(text)
    blocks: list[CodeBlock] = []
    unsupported: dict[str, None] = {}
    unterminated = False
    for fence, quoted in _fences(_LINE_END.sub("\n", text) + "\n"):
        first, after = fence.map or [0, 0]  # always there for a fence; the lines from the opening one on
        inner = fence.content.split("\n")[:-1]
        unterminated = unterminated or after - first - len(inner) < 2
        name = fence_name(fence.info)
        language = language_of(name, languages)
        if quoted or not fence.content.strip():
            continue
        if language:
            ends = line_ends[first + 1 : after - 1]
            code = "".join(line + end for line, end in zip(inner, ends, strict=False))
            blocks.append(CodeBlock(len(blocks), language, code, first + 2))
        elif name and name not in DATA_NAMES:
            unsupported[named(name)] = None
    return ParsedMessage(() if unterminated else tuple(blocks), tuple(unsupported), unterminated)


def _fences(source: str) -> Iterator[tuple[Token, bool]]:
    """The fences of a text whose lines end with LF, each with whether it stands in a block quote."""
    quotes = 0
    for token in _READER.parse(source):
        if token.type == "blockquote_open":
            quotes += 1
        elif token.type == "blockquote_close":
            quotes -= 1
        elif token.type == "fence":
            yield token, quotes > 0
