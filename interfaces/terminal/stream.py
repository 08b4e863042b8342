"""Words of a model while they come: what is finished is handed out once, what is not yet can be drawn again."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.text import Text

from interfaces.terminal.hanging import Verbatim
from interfaces.terminal.markdown import PARSER, Words, highlighted
from interfaces.terminal.outlet import GAP, rule
from interfaces.terminal.plain import shown

_CONTEXT = 200
"""Lines of code before a line that its highlighting looks back on."""


@dataclass
class _Fence:
    """A fence that is open."""

    closing: re.Pattern[str]
    indent: int
    language: str
    lines: list[str] = field(default_factory=list)

    def line(self, text: str) -> Text:
        """The next line of code in its colours."""
        text = text[min(self.indent, len(text) - len(text.lstrip(" "))) :]
        before = self.lines[-_CONTEXT:]
        if not text.strip():
            return Text(text)
        return highlighted("\n".join([*before, text]), self.language).split("\n", allow_blank=True)[len(before)]


class MarkdownStream:
    """Takes the text piece by piece and hands out what is finished, each part exactly once and in order.

    A paragraph, an item of a list or a table is finished when the next begins, a line of code when its line end came.
    """

    def __init__(self) -> None:
        self.text = ""
        """Everything that came, as it came."""
        self._pending = ""
        self._fence: _Fence | None = None
        self._last = ""

    @property
    def empty(self) -> bool:
        """Whether nothing but white space came."""
        return not self.text.strip()

    def feed(self, text: str) -> list[RenderableType]:
        """Take the next piece; the parts that are now finished."""
        self.text += text
        line_ended = "\n" in text or "\r" in text
        held = "\r" if text.endswith("\r") else ""
        text = self._pending + text[: len(text) - len(held)]
        self._pending = text.replace("\r\n", "\n").replace("\r", "\n")
        parts = self._finished() if line_ended else []
        self._pending += held
        return parts

    def close(self) -> list[RenderableType]:
        """The message has ended: the parts that were not handed out yet."""
        parts: list[RenderableType] = []
        if self._pending.strip("\n\r") or self._fence:
            if not self._pending.endswith("\n"):
                self._pending += "\n"
            parts = self._finished()
        if self._fence:
            parts.append(rule())
            self._fence = None
        elif self._pending.strip():
            parts += self._block(self._kind(), self._pending)
        self._pending = ""
        return parts

    def tail(self) -> RenderableType | None:
        """What came after the last finished part, as far as it is known."""
        if self._fence:
            return self._fence.line(shown(self._pending, code=True)) if self._pending else None
        text = shown(self._pending).strip("\n")
        if not text.strip():
            return None
        words = Words(text)
        return Group(GAP, words) if self._last and self._space(self._kind()) else words

    def _kind(self) -> str:
        tokens = PARSER.parse(self._pending)
        return tokens[0].type if tokens else ""

    def _space(self, kind: str) -> bool:
        """Whether an empty line stands before the next part."""
        return bool(self._last) and not (kind.endswith("list_open") and self._last == kind)

    def _finished(self) -> list[RenderableType]:
        parts: list[RenderableType] = []
        while True:
            step = self._code() if self._fence else self._prose()
            parts += step
            if not step or "\n" not in self._pending:
                return parts

    def _code(self) -> list[RenderableType]:
        assert self._fence
        parts: list[RenderableType] = []
        while self._fence and "\n" in self._pending:
            line, _, self._pending = self._pending.partition("\n")
            if self._fence.closing.fullmatch(line):
                self._fence = None
                parts.append(rule())
            else:
                line = shown(line, code=True)
                parts.append(Verbatim(self._fence.line(line)))
                self._fence.lines.append(line)
        return parts

    def _prose(self) -> list[RenderableType]:
        """Hand out the blocks before the last, or before the first fence, which is opened."""
        starts = self._starts()
        if not starts:
            return []
        lines = self._pending.split("\n")
        parts: list[RenderableType] = []
        at = next((i for i, (_, kind, _) in enumerate(starts) if kind == "fence"), len(starts) - 1)
        for (start, kind, _), (end, _, _) in pairwise(starts[: at + 1]):
            parts += self._block(kind, "\n".join(lines[start:end]))
        start, kind, info = starts[at]
        rest = lines[start:]
        if kind == "fence" and len(rest) > 1:
            opening = re.match(r"( {0,3})((`|~)\3*)", rest[0])
            assert opening
            closing = re.compile(rf" {{0,3}}{re.escape(opening[3])}{{{len(opening[2])},}}[ \t]*")
            language = shown(info).split()[0] if info.split() else ""
            self._fence = _Fence(closing, len(opening[1]), language)
            parts += [GAP] if self._last else []
            parts.append(rule(language or "text"))
            self._last = kind
            rest = rest[1:]
        self._pending = "\n".join(rest)
        return parts

    def _starts(self) -> list[tuple[int, str, str]]:
        """First line, kind and info string of each block at the top; items of a list count one by one."""
        starts: list[tuple[int, str, str]] = []
        around = ""
        for token in PARSER.parse(self._pending):
            if token.level == 0 and token.type.endswith("list_open"):
                around = token.type
            elif token.map and (token.level == 0 and token.nesting >= 0):
                starts.append((token.map[0], token.type, token.info))
            elif token.map and token.level == 1 and token.type == "list_item_open":
                starts.append((token.map[0], around, ""))
        return starts

    def _block(self, kind: str, text: str) -> list[RenderableType]:
        parts: list[RenderableType] = [GAP] if self._space(kind) else []
        self._last = kind
        return [*parts, Words(shown(text).strip("\n"))]
