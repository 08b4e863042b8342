"""Characters that a reader does not see, or takes for others."""

from __future__ import annotations

import unicodedata

BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Unicode's Bidi_Control: they change the order in which text is shown ("Trojan Source", CVE-2021-42574)."""

_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Invisible though their category is a letter's, a mark's or a symbol's."""

_LATIN_LOOK_ALIKES = {
    "а": "a", "с": "c", "ԁ": "d", "е": "e", "һ": "h", "і": "i", "ј": "j", "ӏ": "l", "о": "o", "р": "p", "ԛ": "q",
    "ѕ": "s", "ԝ": "w", "х": "x", "у": "y", "А": "A", "В": "B", "С": "C", "Е": "E", "Н": "H", "І": "I", "Ј": "J",
    "К": "K", "М": "M", "О": "O", "Р": "P", "Ѕ": "S", "Т": "T", "Х": "X", "У": "Y", "Ү": "Y", "Ԍ": "G", "Ԛ": "Q",
    "Ԝ": "W", "ο": "o", "Α": "A", "Β": "B", "Ε": "E", "Ζ": "Z", "Η": "H", "Ι": "I", "Κ": "K", "Μ": "M", "Ν": "N",
    "Ο": "O", "Ρ": "P", "Τ": "T", "Υ": "Y", "Χ": "X", "ϳ": "j", "օ": "o", "ѵ": "v", "հ": "h", "ո": "n", "ս": "u",
    "ɑ": "a", "ɡ": "g", "ց": "g", "զ": "q",
    "Ꭺ": "A", "Ꭼ": "E", "Ꮲ": "P", "Ꮪ": "S", "Ꭲ": "T", "Ꮃ": "W", "Ꮯ": "C", "Ꮋ": "H", "Ꮇ": "M",
}  # fmt: skip
"""Cyrillic, Greek, Armenian and Cherokee letters that look like a Latin one in common fonts (after Unicode TR 39)."""

_NEARLY = {"ν": "v", "ρ": "p", "α": "a", "ι": "i", "κ": "k", "υ": "u", "γ": "y", "к": "k", "м": "m", "т": "t", "п": "n"}
"""Letters that look like a Latin one only at a glance, and that formulas are full of."""

_STRICTLY = str.maketrans(_LATIN_LOOK_ALIKES)
_AT_A_GLANCE = str.maketrans(_LATIN_LOOK_ALIKES | _NEARLY)


def is_variation_selector(char: str) -> bool:
    """Whether the character only picks a glyph for the one before it, such as U+FE0F after an emoji."""
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def is_tag(char: str) -> bool:
    """Whether the character is of the tags block, which can carry a whole hidden text."""
    return "\U000e0000" <= char <= "\U000e007f"


def is_invisible(char: str) -> bool:
    """Whether the character shows nothing at all and is neither white space nor a control character."""
    return char in _BLANK_LETTERS or is_variation_selector(char) or unicodedata.category(char) == "Cf"


def is_odd_space(char: str) -> bool:
    """Whether the character looks like a space or a line end and is another: no-break space, line separator."""
    return char not in " \n" and unicodedata.category(char) in ("Zs", "Zl", "Zp")


def is_styled(char: str) -> bool:
    """Whether a letter is another one in dress: full-width or mathematical. Python reads both as the plain letter."""
    return "\uff21" <= char <= "\uff5a" or "\U0001d400" <= char <= "\U0001d7ff"


def has_look_alike(word: str) -> bool:
    """Whether a word mixes Latin letters with letters of another script that look like Latin ones."""
    return any(char.isascii() for char in word) and any(char in _LATIN_LOOK_ALIKES for char in word)


def in_latin(word: str) -> str:
    """The word with letters that cannot be told from Latin ones put in Latin."""
    return word.translate(_STRICTLY)


def at_a_glance(word: str) -> str:
    """What a quick reader takes the word for: `in_latin`, and letters that are merely similar too."""
    return word.translate(_AT_A_GLANCE)


def character_name(char: str) -> str:
    """Code point and Unicode name: `U+0435 CYRILLIC SMALL LETTER IE`."""
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip()
