"""Where in Python source there is code, and where only strings and comments."""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_right
from itertools import accumulate

_REPLACEMENTS = re.compile(r"\{[^{}]*\}")
_FORMATTED = re.compile(r"[a-zA-Z]*[fFtT]", re.ASCII)
_TEXT_TOKENS = {"STRING", "COMMENT", "FSTRING_MIDDLE", "TSTRING_MIDDLE"}


class PythonText:
    """Names and texts (strings and comments) of Python source whose lines end with LF.

    Source that cannot be tokenized is code from the place on where the tokenizer gives up.
    """

    def __init__(self, source: str) -> None:
        self.names: list[tuple[int, str]] = []
        """Offset and spelling of each name and keyword, also within f-strings."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._lines = [0, *accumulate(len(line) + 1 for line in source.split("\n"))]
        try:
            for token in tokenize.generate_tokens(io.StringIO(source).readline):
                self._read(token)
        except (tokenize.TokenError, SyntaxError, ValueError):
            return

    def is_code(self, offset: int) -> bool:
        """Whether the character at the offset stands outside of strings and comments."""
        place = bisect_right(self._starts, offset) - 1
        return place < 0 or offset >= self._ends[place]

    def _read(self, token: tokenize.TokenInfo) -> None:
        start = self._offset(token.start)
        if token.type == tokenize.NAME:
            self.names.append((start, token.string))
        elif tokenize.tok_name[token.type] in _TEXT_TOKENS:
            self._starts.append(start)
            self._ends.append(self._offset(token.end))
            if _FORMATTED.match(token.string):  # before Python 3.12 an f-string is one token
                for part in _REPLACEMENTS.finditer(token.string):
                    self.names += [(start + m.start(), m[0]) for m in re.finditer(r"[^\W\d]\w*", part[0])]

    def _offset(self, place: tuple[int, int]) -> int:
        line, column = place
        return self._lines[min(line, len(self._lines)) - 1] + column
