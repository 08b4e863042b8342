"""Names that a reader takes for others: letters of another script, styled letters."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
import unicodedata
from collections.abc import Iterator

from safety.characters import at_a_glance, character_name, has_look_alike, in_latin, is_styled
from safety.python_text import PythonText

_WORD = re.compile(r"[^\W\d]\w*")
_PART = re.compile(r"[^\W\d_]+")
_LONGEST = 40
_KNOWN = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | sys.stdlib_module_names


def disguised_names(text: str, source: PythonText | None) -> Iterator[tuple[int, str, str]]:
    """Offset, word and reason of each name that may be taken for another.

    A word of one script is none, be it Cyrillic, Greek or Chinese, unless it reads like a name that Python or the same
    source has: `ехес` in Cyrillic. Without `source` every word of the text counts as a name, and only mixtures of
    scripts are looked for.
    """
    names = [(match.start(), match.group()) for match in _WORD.finditer(text)] if source is None else source.names
    plain = _KNOWN | {word for _, word in names if word.isascii()}
    for offset, word in names:
        if not word.isascii():
            why = _mixture(word) or (_disguise(word, plain) if source is not None else "")
            if why:
                yield offset, word, why


def _mixture(word: str) -> str:
    for part in _PART.findall(word):
        if has_look_alike(part):
            other = next(char for char in part if not char.isascii() and in_latin(char).isascii())
            return f"it mixes in {character_name(other)}"
    return ""


def _disguise(word: str, plain: frozenset[str]) -> str:
    normal = unicodedata.normalize("NFKC", word)
    if normal in plain or any(is_styled(char) for char in word):
        return f"Python reads it as {normal[:_LONGEST]}"
    strictly, loosely = in_latin(word), at_a_glance(word)
    if strictly in plain:
        return f"it looks like {strictly}"
    return f"it looks like {loosely}" if len(loosely) > 1 and loosely in plain else ""
