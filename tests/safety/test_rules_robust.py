"""Whatever the block: an answer, never an exception, never `allow` for what could not be read."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from safety.rules import MAX_BYTES, review

WORDS = """import os|def f(x):|while True:|lambda:|f'{|}'|exec(|eval(|open(|'/etc/passwd'|x|1|**
if |then|fi|do|done|for x in |$(|${|<<EOF|EOF|cat
rm -rf |/|~|&&|eval |async |await |yield |match x:|class A:
@|self.a|base64.b64decode(|__import__(|é|sh"""
CHARACTERS = "()[]{}:;,.=+-*/%\"'`$#|&<>!\\\n\t \0\u202e\u200b\ud800"
PIECES = st.sampled_from([*CHARACTERS, *WORDS.replace("\n", "|").split("|"), "\n    ", "| sh"])


@given(st.text(st.characters(), max_size=2000), st.sampled_from(["python", "bash", "sh"]))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.timeout(300)
def test_any_text_gets_an_answer(code: str, language: str) -> None:
    verdict, findings = review(language, code)
    assert verdict == "allow" or findings


@given(st.lists(PIECES, max_size=300).map("".join), st.sampled_from(["python", "bash"]))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.timeout(300)
def test_any_mixture_of_syntax_gets_an_answer(code: str, language: str) -> None:
    verdict, findings = review(language, code)
    assert verdict == "allow" or findings


@given(st.binary(max_size=3000), st.sampled_from(["python", "bash"]))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.timeout(300)
def test_any_bytes_get_an_answer(data: bytes, language: str) -> None:
    review(language, data.decode("latin-1"))
    review(language, data.decode("utf-8", "surrogateescape"))


def full(unit: str) -> str:
    """A block of just under the largest size, out of one piece."""
    return unit * ((MAX_BYTES - 1) // len(unit.encode("utf-8", "surrogatepass")))


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "[",
        "{",
        "-",
        "not ",
        "a.",
        "f(",
        "x = (y\n",
        "f(a, b)\n",
        "open('/etc/x' + a)\n",
        "exec('1')\n",
        "x += 'a'\n",
        "a = b\n",
        "'",
        "lambda: ",
        "if x:\n ",
        "\0",
    ],
)
@pytest.mark.timeout(120)
def test_large_python_gets_an_answer(unit: str) -> None:
    review("python", full(unit))


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "$(",
        "${a:-",
        "`",
        "{a,b}",
        "a|",
        "sh\n",
        "a=$b$c\n",
        '"',
        "'",
        "eval 'ls'\n",
        "f() { f | f & }\n",
        "<<E\n",
        "[ $a ] && b\n",
        "\\x41",
        "if ",
    ],
)
@pytest.mark.timeout(120)
def test_large_shell_gets_an_answer(unit: str) -> None:
    review("bash", full(unit))


@pytest.mark.parametrize("depth", [50, 90, 400, 5000])
@pytest.mark.parametrize(
    ("opening", "closing"),
    [("(", ")"), ("[", "]"), ("f(", ")"), ("lambda: (", ")"), ("-", ""), ("exec(", ")"), ("a[", "]")],
)
def test_deep_nesting_gets_an_answer(opening: str, closing: str, depth: int) -> None:
    review("python", opening * depth + "1" + closing * depth)


@pytest.mark.parametrize("code", ["def (:", "if x", "print('", "\0", "x = = 1", "\ud800"])
def test_broken_python_is_never_allowed(code: str) -> None:
    assert review("python", code)[0] != "allow"


def test_where_python_is_broken_is_told_without_the_parsers_own_names() -> None:
    _, findings = review("python", "x = 1\ny = = 2\n")
    assert [finding.message for finding in findings] == ["does not parse as Python: invalid syntax (line 2)"]


@pytest.mark.parametrize("code", ["if true; then", "echo 'a", "f() {", "case x in", "rm -rf / ; ("])
def test_broken_shell_is_never_allowed(code: str) -> None:
    assert review("bash", code)[0] != "allow"


def test_block_over_the_limit_asks_and_one_at_the_limit_is_read() -> None:
    assert review("python", "#" * (MAX_BYTES + 1))[0] == "ask"
    assert review("python", "#" * MAX_BYTES)[0] == "allow"
    assert review("python", "é" * (MAX_BYTES // 2 + 1))[0] == "ask"


def test_characters_beyond_ascii_are_letters_to_the_shell() -> None:
    # One in some ten thousand of such texts used to crash the parser, and the program with it.
    pieces = ("\U000cb2c2", "é", "\u3000", "$x", "<<é\n", "`", "{", "\U0010ffff=1", "^", "]")
    for count in range(2000):
        review("bash", "".join(pieces[(count * step) % len(pieces)] for step in range(1, 9)))
    script = "f='Größe \U0001f600'\ncat /etc/shadow > größe\n"
    assert "files.read-secret" in {finding.rule for finding in review("bash", script)[1]}
