"""Where in Python source there is code, and where only strings and comments."""

from __future__ import annotations

import re
from bisect import bisect_right

_START = re.compile(r"#|'''|\"\"\"|'|\"")
_ENDS = {
    "#": re.compile(r"[^\n]*"),
    "'": re.compile(r"[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'"),
    '"': re.compile(r'[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"'),
    "'''": re.compile(r"[^'\\]*(?:(?:\\[\s\S]|'(?!''))[^'\\]*)*'''"),
    '"""': re.compile(r'[^"\\]*(?:(?:\\[\s\S]|"(?!""))[^"\\]*)*"""'),
}
_FORMATTED = re.compile(r"[a-zA-Z]?[fFtT][a-zA-Z]?$", re.ASCII)
_REPLACEMENT = re.compile(r"\{[^{}]*\}")
_NAME = re.compile(r"[^\W\d]\w*")


class PythonText:
    """Names and texts (strings and comments) of Python source whose lines end with LF.

    The time is linear in the length for any string: Python's own `tokenize` is quadratic for some. After a quote that
    is never closed everything is code.
    """

    def __init__(self, source: str) -> None:
        self.names: list[tuple[int, str]] = []
        """Offset and spelling of each name and keyword, also within the braces of an f-string."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        place = 0
        while (start := _START.search(source, place)) is not None:
            end = _ENDS[start.group()].match(source, start.end())
            if end is None:
                break
            self._add_names(source, place, start.start())
            if start.group() != "#" and _FORMATTED.search(source[max(0, start.start() - 2) : start.start()]):
                for part in _REPLACEMENT.finditer(source, start.end(), end.end()):
                    self._add_names(source, part.start(), part.end())
            self._starts.append(start.start())
            self._ends.append(end.end())
            place = end.end()
        self._add_names(source, place, len(source))

    def is_code(self, offset: int) -> bool:
        """Whether the character at the offset stands outside of strings and comments."""
        place = bisect_right(self._starts, offset) - 1
        return place < 0 or offset >= self._ends[place]

    def _add_names(self, source: str, start: int, end: int) -> None:
        self.names += [(name.start(), name.group()) for name in _NAME.finditer(source, start, end)]
