"""Texts made from other texts: what a fuzz run feeds to its targets."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

PIECES = [
    *(
        "```",
        "````",
        "~~~",
        "```python\n",
        "~~~sh\n",
        "\n```\n",
        "\n~~~\n",
        "`",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        " ",
        "    ",
    ),
    *(
        "\t",
        "> ",
        ">",
        "- ",
        "* ",
        "+",
        "1. ",
        "2) ",
        "#",
        "---",
        "===",
        "<!--",
        "-->",
        "<div>",
        "</div>",
        "<pre>",
        "<a>",
    ),
    *(
        "[a]: b",
        "\\",
        "&#96;",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "'",
        '"',
        "'''",
        '"""',
        "f'{",
        "$(",
        "${",
        "<<EOF\n",
        ";",
        "|",
    ),
    *("import os\n", "eval(", "lambda: ", "def f():\n", "\\\n", "0x", "1e999", "**", "\0", "\x1b[31m", "\x7f", "\x85"),
    *("\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\ufe0f", "\u2028", "\u00a0", "\U000e0041", "\U0001f600"),
    *("\u0435", "\u03bf", "\uff45", "\u0301", "\ud800", "\udfff", "# coding: utf-7\n", "approve"),
]
_MOST_REPEATS = 3000


def mutate(random: Random, text: str, others: Sequence[str]) -> str:
    """A text near to the given one, or far from it: pieces put in, taken out, doubled, moved, many times over."""
    for _ in range(random.choice((1, 2, 4, 8, 16))):
        text = random.choice(_WAYS)(random, text, others)
    return text


def _place(random: Random, text: str) -> int:
    return random.randint(0, len(text))


def _insert(random: Random, text: str, others: Sequence[str]) -> str:
    place = _place(random, text)
    return text[:place] + random.choice(PIECES) + text[place:]


def _remove(random: Random, text: str, others: Sequence[str]) -> str:
    place = _place(random, text)
    return text[:place] + text[place + random.choice((1, 3, 20)) :]


def _any_character(random: Random, text: str, others: Sequence[str]) -> str:
    place = _place(random, text)
    return text[:place] + chr(random.choice((random.randrange(256), random.randrange(0x110000)))) + text[place + 1 :]


def _splice(random: Random, text: str, others: Sequence[str]) -> str:
    other = random.choice(others)
    return text[: _place(random, text)] + other[_place(random, other) :]


def _repeat(random: Random, text: str, others: Sequence[str]) -> str:
    place, length = _place(random, text), random.choice((1, 2, 7))
    piece = random.choice((random.choice(PIECES), text[place : place + length]))
    return text[:place] + piece * random.choice((2, 10, 100, _MOST_REPEATS)) + text[place:]


def _indent(random: Random, text: str, others: Sequence[str]) -> str:
    indentation = random.choice(("  ", "    ", "\t", "> ", "- "))
    return "".join(indentation + line for line in text.splitlines(keepends=True))


_WAYS = (_insert, _insert, _insert, _remove, _remove, _any_character, _splice, _repeat, _indent)
