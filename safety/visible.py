"""Text made safe to look at: what a terminal would obey, hide or reorder is spelt out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from safety.characters import is_invisible, is_odd_space, is_variation_selector
from safety.hidden import hidden_findings

__all__ = ["far_away", "hidden_findings", "visible"]

_SUSPECT = re.compile(r"[^\n\t -~]")
_HARMLESS_IN_WORDS = frozenset("\u200c\u200d\u00a0\u202f\u2009\u3000\u00ad")

_MANY_BLANK_LINES = 40
_FAR_COLUMN = 300
_WIDE_GAP = re.compile(r"\s{80,}(?=\S)")
_MOST_SENTENCES = 8


def visible(text: str, *, words: bool = False) -> str:
    r"""The text with everything invisible spelt out; only `\n` and `\t` stay as they are.

    Control characters become their pictures (`␛`, `␍`, `␀`); bidi marks, other format characters, variation selectors,
    tags, odd spaces, lone surrogates and characters of no meaning become `<U+202E>`. With `words`, for text that is
    read and not run, what emoji and typography need (joiners, variation selectors, no-break spaces) stays.
    """
    return _SUSPECT.sub(lambda match: _spelt(match.group(), words), text)


def _spelt(char: str, words: bool) -> str:
    if char < " ":
        return chr(0x2400 + ord(char))
    if char == "\x7f":
        return "␡"
    if words and (char in _HARMLESS_IN_WORDS or is_variation_selector(char)):
        return char
    if is_invisible(char) or is_odd_space(char) or unicodedata.category(char) in ("Cc", "Cs", "Co", "Cn"):
        return f"<U+{ord(char):04X}>"
    return char


def far_away(code: str) -> tuple[str, ...]:
    """One sentence for each place where code stands far from what a reader sees at first; at most nine.

    That is: after 40 or more blank lines, beyond column 300, or after 80 or more blanks within a line.
    """
    sentences = list(_far_places(code))
    more = len(sentences) - _MOST_SENTENCES
    if more > 0:
        sentences[_MOST_SENTENCES:] = [f"{more:,} more lines are like these"]
    return tuple(sentences)


def _far_places(code: str) -> Iterator[str]:
    blank = 0
    for number, line in enumerate(re.split(r"\r\n?|\n", code), start=1):
        seen = "".join(" " if is_odd_space(char) or is_invisible(char) else char for char in line).rstrip()
        if not seen:
            blank += 1
            continue
        if blank >= _MANY_BLANK_LINES:
            yield f"line {number:,} follows {blank:,} blank lines"
        blank = 0
        gap = _WIDE_GAP.search(seen)
        if gap is not None:
            yield f"line {number:,} goes on at column {gap.end() + 1:,} after {len(gap.group()):,} blanks"
        elif len(line) > _FAR_COLUMN:
            yield f"line {number:,} goes on to column {len(line):,}"
