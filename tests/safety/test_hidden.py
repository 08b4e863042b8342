"""What is hidden in code is found, and words of the world are not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safety.code_blocks import parse
from safety.visible import hidden_findings


def found(code: str, language: str = "python") -> dict[str, str]:
    """Verdict of each rule that found something."""
    return {finding.rule: finding.verdict for finding in hidden_findings(code, language)}


@pytest.mark.parametrize("char", "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
@pytest.mark.parametrize("code", ["x = 1{}\n", "x = '{}'\n", "# {}\n", "if True:\n    '''\n{}\n'''\n"])
@pytest.mark.parametrize("language", ["python", "bash", "javascript"])
def test_case_46_bidi_controls_are_denied_wherever_they_stand(char: str, code: str, language: str) -> None:
    assert found(code.format(char), language)["hidden.bidi"] == "deny"


def test_case_46_the_trojan_source_comment_is_denied_at_its_line() -> None:
    code = "level = 'user'\nif level != 'user\u202e \u2066# Check if admin\u2069 \u2066':\n    pass\n"
    (finding,) = hidden_findings(code, "python")
    assert (finding.verdict, finding.line, finding.column) == ("deny", 2, 18)
    assert "U+202E RIGHT-TO-LEFT OVERRIDE and 3 more" in finding.message
    assert finding.message.isascii()


@pytest.mark.parametrize(
    "code",
    [
        "еval('1')",  # Cyrillic ie
        "os.systеm('ls')",
        "ехес('1')",  # wholly Cyrillic
        "оѕ = 1",
        "pаssword = 1\npassword = 2",
        "х = 1\nx = 2",  # Cyrillic ha beside Latin x
        "Αdmin = 1",  # Greek Alpha
        "ｅｖａｌ('1')",
        "𝐞𝐯𝐚𝐥('1')",
        "import ｏｓ",
        "getattr(o, n).sｙstem",
        "f'{ехес(1)}'",
        "f'{x:{оѕ}}'",
        "def f(sｅlf): pass",
        "scοpe = 1",  # Greek omicron
        "ⅰnt = 1; int = 2",
    ],
)
def test_case_47_a_name_that_passes_for_another_is_asked_about(code: str) -> None:
    assert found(code)["hidden.name"] == "ask"


@pytest.mark.parametrize("char", "\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f\U000e0100\u3164\u115f\u034f\u180e\u2062")
def test_case_47_an_invisible_character_in_code_is_asked_about(char: str) -> None:
    for language in ("python", "bash"):
        assert found(f"pass{char}word = 1\n", language) == {"hidden.invisible": "ask"}


def test_case_47_hidden_text_in_strings_and_comments_is_asked_about() -> None:
    row = "".join("\u200b\u200c"[bit] for bit in (0, 1, 1, 0))
    for code in (f"x = 'a{row}b'\n", f"# a{row}b\n"):
        assert found(code) == {"hidden.invisible": "ask"}
    tags = "".join(chr(0xE0000 + ord(char)) for char in "approve")
    assert found(f"# nothing here{tags}\n") == {"hidden.tags": "ask"}
    assert found(f"x = '😀{chr(0xE0100)}{chr(0xE0101)}{chr(0xE0102)}'\n") == {"hidden.invisible": "ask"}


@pytest.mark.parametrize(
    "code",
    [
        "# coding: utf-7\n+AGkAbQBwAG8AcgB0-",
        "# -*- coding: UTF_7 -*-\n",
        "#!/usr/bin/env python3\n# vim: set fileencoding=latin-1 :\n",
        "\n# coding: cp037\n",
        "\f\t # coding=rot13\n",
        "\ufeff# coding: utf-16\n",
        "# coding: raw_unicode_escape\r\nx\r\n",
        "#\r# coding: unicode_escape\r",
        "# encoding: utf7",
        "# coding: undefined",
        "# coding: no-such-thing",
        "# coding: utf-8 # coding: utf-7\n# coding: utf-7",
    ],
)
def test_case_48_another_encoding_is_denied(code: str) -> None:
    assert found(code)["hidden.encoding"] == "deny"


@pytest.mark.parametrize(
    "code",
    [
        "# coding: utf-8\n",
        "# -*- coding: UTF-8 -*-\n",
        "# coding=utf_8\n",
        "# coding: utf8",
        "# vim: fileencoding=utf-8-unix\n",
        "# coding: ascii\n",
        "x = 1\n# coding: latin-1 is what the file came in\n",
        "\n\n# coding: utf-7\n",
        "x = '# coding: utf-7'\n",
        "# The coding of this is plain\n",
    ],
)
def test_case_48_utf_8_and_words_about_encodings_are_nothing(code: str) -> None:
    assert found(code) == {}
    assert found("# coding: utf-7\n", "bash") == {}


@pytest.mark.parametrize(
    "code", ["x = 1\x1b[2K\n", "x = 1\rimport os\n", "x\b\n", "x\x1a\n", "x = '\x9b'\n", "\x85", "\x7f"]
)
def test_case_45_control_characters_in_code_are_asked_about(code: str) -> None:
    for language in ("python", "bash"):
        assert found(code, language) == {"hidden.control": "ask"}


def test_half_a_character_is_denied_since_its_bytes_cannot_be_run() -> None:
    assert found("x = '\ud800'\n") == {"hidden.surrogate": "deny"}


def test_nul_is_denied_also_when_it_comes_through_the_parser() -> None:
    block = parse("```python\nx = 1\n\0import os\n```\n", {"python": "python"}).blocks[0]
    assert found(block.code) == {"hidden.nul": "deny"}
    assert hidden_findings(block.code, "python")[0].line == 2


@pytest.mark.parametrize(
    "code",
    [
        "print('Grüße, Привет, Γειά, こんにちは, 你好, مرحبا, שלום')\n",
        "данные = [1, 2]\nсумма = sum(данные)\nprint(f'{сумма}')\n",
        "变量 = 1\nprint(变量)\n",
        "σ_x, Δt, λ, µ, dν, x̄ = 1, 2, 3, 4, 5, 6\nρ = p = 1\nα = a = 2\nγ = y = 3\n",
        "θ_max = 1\nxₙ = 2\nℝ = 3\nnaïve = straße = 4\n",
        "df_продажи = 1\n",
        "print('👨\u200d👩\u200d👧 ❤\ufe0f ❤\ufe0f\u200d🔥 1\ufe0f\u20e3')\n",
        "print('🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f')\n",
        "print('می\u200cخواهم', 'क्\u200dष')\n",
        "print('10\u00a0000 €', '1\u202f234')\n",
        "text.replace('\u200b', '')\n",
        "text.strip('\ufeff')\n",
        "\ufeffprint('x')\n",
        "x = 1\r\ny = 2\r\n",
        "\x0c\nclass A:\n\tpass\n",
        "print('\\x1b[31mred\\x1b[0m', '\\u202e')\n",
        "# Это комментарий: вызов ехес не нужен\n",
    ],
)
def test_the_words_of_the_world_are_nothing(code: str) -> None:
    assert found(code) == {}


@pytest.mark.parametrize(
    "code",
    [
        "echo 'Привет, мир' # Grüße\n",
        "echo '👨\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3'\n",
        "printf '10\u00a0000 €'\n",
        "grep -P '\\x{200b}' f\n",
        "echo a\r\necho b\r\n",
    ],
)
def test_the_words_of_the_world_are_nothing_in_a_shell_either(code: str) -> None:
    assert found(code, "bash") == {}


def test_source_that_does_not_parse_is_looked_through_all_the_same() -> None:
    assert found("'''never closed\nx\u200by\n") == {"hidden.invisible": "ask"}
    assert found("x = (\nеval('1')\n")["hidden.name"] == "ask"


PIECES = [
    "'",
    '"',
    "'''",
    "#",
    "f'{",
    "}",
    "\n",
    "\\",
    "(",
    "х",
    "x",
    "е",
    "\u200b",
    "\u202e",
    "\ud800",
    "\0",
    "é",
    "\r",
    "0",
]


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(st.characters(exclude_categories=()))), max_size=60).map(
        "".join
    )
)
def test_no_code_is_too_strange_and_places_are_in_the_code(code: str) -> None:
    lines = code.count("\n") + code.count("\r") + 1
    for language in ("python", "bash", ""):
        findings = hidden_findings(code, language)
        assert len({finding.rule for finding in findings}) == len(findings)
        assert all(1 <= finding.line <= lines and finding.column >= 1 for finding in findings)
        if "\u202e" in code:
            assert any(finding.verdict == "deny" for finding in findings)


@pytest.mark.parametrize(
    "code",
    [
        "é",
        "\u200b",
        "\u202e",
        "х",
        "'",
        "(",
        "f'{",
        "\0",
        "\r",
        "\\\n",
        "é = 1\n",
        "'é\n",
        "1é",
        "{é",
        "\ud800",
        "#é\n",
    ],
    ids=ascii,
)
def test_48_kb_of_anything_take_a_moment(code: str) -> None:
    text = ("é" + code * 50_000)[:48_000]
    start = time.process_time()
    hidden_findings(text, "python")
    assert time.process_time() - start < 1.5
