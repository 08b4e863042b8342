"""Text made safe to look at."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safety.visible import far_away, visible

any_text = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b]8;;http://x\x1b\\y", "␛]8;;http://x␛\\y"),
        ("\x9b31m", "<U+009B>31m"),
        ("safe\rrm -rf", "safe␍rm -rf"),
        ("a\r\n", "a␍\n"),
        ("a\b\b\x7f\0\x0b\x0c", "a␈␈␡␀␋␌"),
        ("caf\u00e9 漢字 Привет 😀", "caf\u00e9 漢字 Привет 😀"),
        ("a\x85b", "a<U+0085>b"),
        ("\ud800", "<U+D800>"),
        ("\ue000\U000f0000\uffff\u0378", "<U+E000><U+F0000><U+FFFF><U+0378>"),
        ("<U+202E>", "<U+202E>"),
    ],
)
def test_case_45_control_characters_are_shown_and_never_obeyed(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(text, words=True) == shown


@pytest.mark.parametrize("char", "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_case_46_bidi_controls_are_shown(char: str) -> None:
    assert visible(f"a{char}b") == visible(f"a{char}b", words=True) == f"a<U+{ord(char):04X}>b"


@pytest.mark.parametrize(
    "char", "\u200b\u2060\ufeff\u180e\u2061\u2028\u2029\u115f\u1160\u3164\uffa0\u2800\u034f\U000e0041"
)
def test_case_47_what_shows_nothing_is_shown(char: str) -> None:
    assert visible(f"a{char}b") == visible(f"a{char}b", words=True) == f"a<U+{ord(char):04X}>b"


@pytest.mark.parametrize("char", "\u00a0\u202f\u2009\u3000\u200c\u200d\ufe0f\U000e0100\u00ad")
def test_what_typography_needs_is_shown_in_code_alone(char: str) -> None:
    assert visible(f"a{char}b") == f"a<U+{ord(char):04X}>b"
    assert visible(f"a{char}b", words=True) == f"a{char}b"


@given(any_text)
def test_what_is_shown_can_be_printed_anywhere_and_says_the_same_again(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert visible(shown) == shown
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert not any(unicodedata.category(char) in hidden for char in shown if char not in "\n\t")
    assert shown.count("\n") == text.count("\n")


def test_case_51_code_behind_blank_lines_is_told() -> None:
    code = "print('hello')\n" + "\n" * 10_000 + "import os\n"
    assert far_away(code) == ("line 10,002 follows 10,000 blank lines",)


@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "\u3000", "\u200b", "\ufeff", "\u2800"])
def test_case_51_a_line_that_only_looks_blank_is_blank(blank: str) -> None:
    code = "print('hello')\n" + f"{blank}\n" * 50 + "import os\n"
    assert far_away(code) == ("line 52 follows 50 blank lines",)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("x = 1\n" + " " * 5000 + "import os\n", "line 2 goes on at column 5,001 after 5,000 blanks"),
        ("x = 1;" + " " * 5000 + "import os\n", "line 1 goes on at column 5,007 after 5,000 blanks"),
        ("x = 1;" + "\u00a0" * 100 + "import os\n", "line 1 goes on at column 107 after 100 blanks"),
        ("x = 1;" + "\u200b" * 100 + "import os\n", "line 1 goes on at column 107 after 100 blanks"),
        ("x = '" + "a" * 5000 + "'; import os\n", "line 1 goes on to column 5,017"),
        ("x = 1\r\n\r\n" + "y" * 301, "line 3 goes on to column 301"),
    ],
)
def test_case_51_code_beyond_the_right_edge_is_told(code: str, sentence: str) -> None:
    assert far_away(code) == (sentence,)


def test_case_51_many_such_places_are_told_in_a_few_sentences() -> None:
    sentences = far_away(("\n" * 50 + "x\n") * 1000)
    assert len(sentences) == 9
    assert sentences[-1] == "992 more lines are like these"


@pytest.mark.parametrize("code", ["", "x = 1\n" * 1000, "def f():\n" + " " * 60 + "return 1\n", "x\n" + "\n" * 5000])
def test_nothing_far_away_is_told_of_ordinary_code(code: str) -> None:
    assert far_away(code) == ()


@given(any_text)
def test_far_away_reads_every_text(text: str) -> None:
    assert all(re.fullmatch(r"[ -~]+", sentence) for sentence in far_away(text))
