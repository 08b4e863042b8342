"""What is hidden in code: characters that reorder or vanish, and encodings that change what the bytes say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from safety.characters import BIDI_CONTROLS, character_name, is_invisible, is_tag, is_variation_selector
from safety.disguised_names import disguised_names
from safety.python_text import PythonText
from safety.verdicts import Finding, Verdict

_LINE_END = re.compile(r"\r\n?|\n")
# The expression of PEP 263; a second line counts only after a first one that holds no code.
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")
_NO_CODE = re.compile(r"^[ \t\f]*(?:#.*)?$")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
_TAG_RUN = re.compile("(\U0001f3f4?)([\U000e0000-\U000e007f]+)")
_HIDDEN_RUN = 3
_JOINERS = "\u200c\u200d"
_LONGEST_TOKENIZED = 200_000


class _Place(NamedTuple):
    """Something found, by its offset in the text."""

    offset: int
    what: str


def hidden_findings(code: str, language: str) -> tuple[Finding, ...]:
    """What a reader of the code would not see, at most one finding a rule. Any string is read; none raises.

    `deny`: bidi controls, NUL, an encoding other than UTF-8 declared in Python. `ask`: other control characters,
    invisible characters in code or many in a row anywhere, tags, names that pass for others. Words of any script, emoji
    and the invisible characters that they need are nothing to find.
    """
    return tuple(_findings(code, language == "python"))


def _findings(code: str, python: bool) -> Iterator[Finding]:
    nul = [_Place(match.start(), "U+0000") for match in re.finditer("\0", code)]
    yield from _finding(code, "hidden.nul", "deny", nul, "Python and shells end or refuse the text there")
    control = [_Place(match.start(), f"U+{ord(match.group()):04X}") for match in _CONTROL.finditer(code)]
    yield from _finding(code, "hidden.control", "ask", control, "a terminal obeys such characters in place of showing")
    if python:
        yield from _finding(code, "hidden.encoding", "deny", list(_cookies(code)), "the bytes then say something else")
    if code.isascii():
        return
    bidi = [_Place(offset, character_name(char)) for offset, char in enumerate(code) if char in BIDI_CONTROLS]
    yield from _finding(code, "hidden.bidi", "deny", bidi, "the code is shown in another order than it runs in")
    tags = [
        _Place(match.start(2), character_name(match.group(2)[0]))
        for match in _TAG_RUN.finditer(code)
        if not match.group(1)
    ]
    yield from _finding(code, "hidden.tags", "ask", tags, "they can carry a text that nobody sees")
    # One line end for the tokenizer; lines and columns stay what they are.
    text = _LINE_END.sub("\n", code)
    source = PythonText(text) if python and len(text) <= _LONGEST_TOKENIZED else None
    unseen = [_Place(offset, character_name(text[offset])) for offset in _invisible(text, source)]
    yield from _finding(text, "hidden.invisible", "ask", unseen, "what is there is not what is seen")
    names = [_Place(offset, f"{word} ({why})") for offset, word, why in disguised_names(text, source)]
    yield from _finding(text, "hidden.name", "ask", names, "a name may be taken for another")


def _finding(text: str, rule: str, verdict: Verdict, places: list[_Place], why: str) -> Iterator[Finding]:
    """One finding for all places of a rule, at the first of them; none where there is no place."""
    if not places:
        return
    offset, what = places[0]
    before = _LINE_END.split(text[:offset])
    message = what if len(places) == 1 else f"{what} and {len(places) - 1:,} more"
    yield Finding(
        rule=rule,
        verdict=verdict,
        message=f"{message}: {why}",
        line=len(before),
        column=len(before[-1]) + 1,
        touches="obfuscation",
    )


def _cookies(code: str) -> Iterator[_Place]:
    """Encodings other than UTF-8 and its subset ASCII that the first two lines declare."""
    for pattern in (_LINE_END, re.compile("\n")):
        lines = [match.removeprefix("\ufeff") for match in pattern.split(code, maxsplit=2)[:2]]
        for number, line in enumerate(lines):
            cookie = _COOKIE.match(line)
            if cookie is not None and not _is_utf_8(cookie.group(1)):
                yield _Place(code.index(line), f"The code declares the encoding {cookie.group(1)[:40]}")
                return
            if number == 0 and not _NO_CODE.match(line):
                break


def _is_utf_8(encoding: str) -> bool:
    """Whether Python reads the name as UTF-8 or ASCII (`_get_normal_name` in its tokenizer)."""
    name = encoding[:12].lower().replace("_", "-")
    return name in ("utf-8", "utf8", "ascii", "us-ascii") or name.startswith("utf-8-")


def _invisible(text: str, source: PythonText | None) -> Iterator[int]:
    """Offsets of invisible characters that no script or emoji needs where they stand.

    In the strings and comments of Python only a row of them counts, since a single one does nothing there; in its code
    each does.
    """
    run = 0
    for offset, char in enumerate(text):
        if char.isascii() or not is_invisible(char) or char in BIDI_CONTROLS or is_tag(char):
            run = 0
            continue
        run += 1
        in_python_code = source is not None and source.is_code(offset)
        if run >= _HIDDEN_RUN or in_python_code or (source is None and not _needed(text, offset)):
            yield offset


def _needed(text: str, offset: int) -> bool:
    """Whether an invisible character belongs to an emoji or to a script that joins its letters, or marks UTF-8."""
    char, before, after = text[offset], text[offset - 1 : offset], text[offset + 1 : offset + 2]
    if offset == 0:
        return char == "\ufeff"
    if is_variation_selector(char):
        return before in "0123456789#*" or not (before.isascii() or is_invisible(before))
    return char in _JOINERS and not before.isascii() and bool(after) and not (after.isascii() or is_invisible(after))
