"""What is hidden in code: characters that reorder or vanish, and encodings that change what the bytes say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from safety.characters import BIDI_CONTROLS, character_name, is_invisible, is_tag, is_variation_selector
from safety.disguised_names import disguised_names
from safety.python_text import PythonText
from safety.verdicts import Finding, Verdict

_LINE_END = re.compile(r"\r\n?|\n")
# The expression of PEP 263; a second line counts only after a first one that holds no code.
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")
_NO_CODE = re.compile(r"^[ \t\f]*(?:#.*)?$")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TAG_RUN = re.compile("(\U0001f3f4?)([\U000e0000-\U000e007f]+)")
_HIDDEN_RUN = 3
_JOINERS = "\u200c\u200d"
_LONGEST_NAME = 40


def hidden_findings(code: str, language: str) -> tuple[Finding, ...]:
    """What a reader of the code would not see, at most one finding a rule. Any string is read; none raises.

    `deny`: bidi controls, NUL, lone surrogates, an encoding other than UTF-8 declared in Python. `ask`: other control
    characters, invisible characters in code or many in a row anywhere, tags, names that pass for others. Words of
    any script, emoji and the invisible characters that they need are nothing to find.
    """
    return tuple(_findings(code, language == "python"))


def _findings(code: str, python: bool) -> Iterator[Finding]:
    nul = [match.start() for match in re.finditer("\0", code)]
    yield from _finding(code, "hidden.nul", "deny", nul, "Python and shells end or refuse the text there")
    control = [match.start() for match in _CONTROL.finditer(code)]
    yield from _finding(code, "hidden.control", "ask", control, "a terminal obeys such characters in place of showing")
    if python:
        for offset, encoding in _cookies(code):
            what = f"the code declares the encoding {encoding[:40]}"
            yield from _finding(code, "hidden.encoding", "deny", [offset], "its bytes then say something else", what)
    if code.isascii():
        return
    surrogates = [match.start() for match in _SURROGATE.finditer(code)]
    yield from _finding(code, "hidden.surrogate", "deny", surrogates, "no file can hold half a character")
    bidi = [offset for offset, char in enumerate(code) if char in BIDI_CONTROLS]
    yield from _finding(code, "hidden.bidi", "deny", bidi, "the code is shown in another order than it runs in")
    tags = [match.start(2) for match in _TAG_RUN.finditer(code) if not match.group(1)]
    yield from _finding(code, "hidden.tags", "ask", tags, "they can carry a text that nobody sees")
    # One kind of line end; lines and columns stay what they are.
    text = _LINE_END.sub("\n", code)
    source = PythonText(text) if python else None
    unseen = list(_invisible(text, source))
    yield from _finding(text, "hidden.invisible", "ask", unseen, "what is there is not what is seen")
    names = list(disguised_names(text, source))
    if names:
        _, word, reason = names[0]
        places = [offset for offset, _, _ in names]
        yield from _finding(text, "hidden.name", "ask", places, reason, f"the name {word[:_LONGEST_NAME]}")


def _finding(text: str, rule: str, verdict: Verdict, places: list[int], why: str, what: str = "") -> Iterator[Finding]:
    """One finding for all places of a rule, at the first of them; none where there is no place."""
    if not places:
        return
    before = _LINE_END.split(text[: places[0]])
    more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
    yield Finding(
        rule=rule,
        verdict=verdict,
        message=f"{what or character_name(text[places[0]])}{more}: {why}",
        line=len(before),
        column=len(before[-1]) + 1,
        touches="obfuscation",
    )


def _cookies(code: str) -> Iterator[tuple[int, str]]:
    """Place and name of an encoding, neither UTF-8 nor its subset ASCII, in the first two lines; at most one."""
    for pattern in (_LINE_END, re.compile("\n")):
        lines = [match.removeprefix("\ufeff") for match in pattern.split(code, maxsplit=2)[:2]]
        for number, line in enumerate(lines):
            cookie = _COOKIE.match(line)
            if cookie is not None and not _is_utf_8(cookie.group(1)):
                yield code.index(line), cookie.group(1)
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
        if offset == 0 and char == "\ufeff":  # marks UTF-8, as Python takes it too
            continue
        if char.isascii() or not is_invisible(char) or char in BIDI_CONTROLS or is_tag(char):
            run = 0
            continue
        run += 1
        in_python_code = source is not None and source.is_code(offset)
        if run >= _HIDDEN_RUN or in_python_code or (source is None and not _needed(text, offset)):
            yield offset


def _needed(text: str, offset: int) -> bool:
    """Whether an invisible character belongs to an emoji or to a script that joins its letters."""
    char, before, after = text[offset], text[offset - 1 : offset], text[offset + 1 : offset + 2]
    if not before:
        return False
    if is_variation_selector(char):
        return before in "0123456789#*" or not (before.isascii() or is_invisible(before))
    return char in _JOINERS and not before.isascii() and bool(after) and not (after.isascii() or is_invisible(after))
