"""Errors as they are told: sentences that end, so that the hint behind them does not run into them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from utils import errors
from utils.errors import RoundtableError, StoreError, as_sentence

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("interfaces", "teams", "agents", "sandbox", "tools", "safety", "sessions", "utils")
NAMES = {
    name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, RoundtableError)
} | {"error_line"}
UNKNOWN = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Stands for a part of a text that is known at run time only."""


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("It failed: no space left", "It failed: no space left. Do this."),
        ("It failed.", "It failed. Do this."),
        ("Did it fail?", "Did it fail? Do this."),
        ("It said (status 404: gone)", "It said (status 404: gone). Do this."),
        ("It said 'gone.'", "It said 'gone.' Do this."),
        ("It said: cut here…", "It said: cut here… Do this."),
        ("Ends in a line end\n", "Ends in a line end. Do this."),
        ("", "Do this."),
    ],
)
def test_a_message_ends_before_its_hint_begins(message: str, told: str) -> None:
    error = StoreError(message, "Do this.")
    assert str(error) == told
    assert error.message == as_sentence(message) == str(error.args[0])


def test_every_hint_and_message_that_is_written_down_ends() -> None:
    """Hints end in a mark or in a command behind a colon; messages in a mark, or in what only the run tells."""
    places = [place for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")) for place in told_in(path)]
    assert len(places) > 200
    assert [place for place, text, number in places if not ends(text, is_hint=number == 1)] == []


def ends(text: str, *, is_hint: bool) -> bool:
    bare = text.rstrip("\"'`)")
    return not bare or bare[-1] in f".!?{UNKNOWN}" or (is_hint and ": " in text)


def told_in(path: Path) -> Iterator[tuple[str, str, int]]:
    """Each text that an error is made of: where, what, and 0 for the message, 1 for the hint."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
            arguments = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "hint")]
            for number, argument in enumerate(arguments):
                for text in texts(argument):
                    yield f"{path.relative_to(ROOT)}:{argument.lineno}: {text}", text, number


def texts(node: ast.expr) -> Iterator[str]:
    """What an expression may be, as far as it is written down."""
    if isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(v.value) if isinstance(v, ast.Constant) else UNKNOWN for v in node.values)
    elif isinstance(node, ast.Constant):
        yield str(node.value)
    else:
        yield UNKNOWN
