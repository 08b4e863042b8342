"""What the one parser takes for code, and what it passes over."""

from __future__ import annotations

import hashlib
import time

import pytest

from safety.code_blocks import CodeBlock, digest, parse

LANGUAGES = {"python": "python", "py": "python", "python3": "python", "bash": "bash", "sh": "bash", "shell": "bash"}


def codes(text: str) -> list[tuple[str, str]]:
    """Language and code of what could run."""
    return [(block.language, block.code) for block in parse(text, LANGUAGES).blocks]


def test_blocks_come_in_order_with_place_and_line() -> None:
    parsed = parse("First:\n\n```python\nx = 1\nprint(x)\n```\n\nthen\n```sh\nls\n```\n", LANGUAGES)
    assert parsed.blocks == (CodeBlock(0, "python", "x = 1\nprint(x)\n", 4), CodeBlock(1, "bash", "ls\n", 10))
    assert not parsed.unterminated
    assert parsed.unsupported == ()


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n",
        "```python\nprint(1)\n``\n",
        "````python\nprint(1)\n```\n",
        "```python\nprint(1)\n~~~\n",
        "```python\nprint(1)\n```python\n",
        "```python\nprint(1)\n    ```\n",
        "```python\nprint(1)\n``` x\n",
        "```python",
        "```python\nprint(1)\n```\n\n```\noutput",
        "```python\nprint(1)\n```\n\n~~~rust\n",
        "- ```python\n  print(1)\n\nafter the list\n",
        "- ```python\n  print(1)\n```\n",
        "> ```python\n> print(1)\n\n```python\nprint(2)\n```\n",
        "```python\r\nprint(1)\r\n",
        "```python\rprint(1)\r",
        "Look: ```python\nprint(1)\n```\n",
        "```python\nprint(1)\n```\n<div>\n\n```bash\n",
    ],
)
def test_case_34_an_unterminated_fence_anywhere_lets_nothing_run(text: str) -> None:
    parsed = parse(text, LANGUAGES)
    assert parsed.unterminated
    assert parsed.blocks == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("````markdown\n```python\nprint(1)\n```\n````\n", []),
        ("````python\ns = '''\n```\nx\n```\n'''\n````\n", [("python", "s = '''\n```\nx\n```\n'''\n")]),
        ("~~~text\n```python\nprint(1)\n```\n~~~\n", []),
        ("<!--\n```python\nprint(1)\n```\n-->\n", []),
        ("<!--\n\n```python\nprint(1)\n```\n\n-->\n", []),
        ("<div>\n```python\nprint(1)\n```\n</div>\n", []),
        ("<details>\n\n```python\nprint(1)\n```\n\n</details>\n", [("python", "print(1)\n")]),
        ("<pre>\n\n```python\nprint(1)\n```\n\n</pre>\n", []),
        ("1. Do:\n   ```python\n   if x:\n       y()\n   ```\n2. Done\n", [("python", "if x:\n    y()\n")]),
        ("- a\n  - b\n    ```python\n    x\n\n    y\n    ```\n", [("python", "x\n\ny\n")]),
        ("- ```python\n  \tx\n  ```\n", [("python", "\tx\n")]),
        ("- ```python\n\tx\n  ```\n", [("python", "  x\n")]),
        ("  ```python\n  x\n    y\n z\n  ```\n", [("python", "x\n  y\nz\n")]),
        ("    ```python\n    print(1)\n    ```\n", []),
        ("\t```python\n\tprint(1)\n\t```\n", []),
        ("Use ```python print(1) ``` here\n", []),
        ("Words\n```python\nprint(1)\n```\nwords\n", [("python", "print(1)\n")]),
        ("```python print(1)```\n", []),
        ("print(1)\n\n    print(2)\n", []),
        ("`python\nprint(1)\n`\n", []),
        ("``python\nprint(1)\n``\n", []),
        ("```python\nprint(1)\n`````\n", [("python", "print(1)\n")]),
        ("```python\nprint(1)\n  ```\n", [("python", "print(1)\n")]),
        ("[a]: b\n<a>\n```python\nprint(1)\n```\n", [("python", "print(1)\n")]),
    ],
)
def test_case_35_a_fence_is_what_commonmark_says(text: str, expected: list[tuple[str, str]]) -> None:
    assert codes(text) == expected
    assert not parse(text, LANGUAGES).unterminated


@pytest.mark.parametrize(
    "info",
    [
        *("python", "py", "python3", "Python", "PY", "python3.12", "py3", " python", "python ", "python\t", "\tpython"),
        *('python title="x.py"', "python {linenos=true}", "python{1,3}", "{.python}", "{ .python #id }", "{python}"),
        *("{python, echo=FALSE}", "python:main.py", "python,ignore", "python=", "language-python", "lang-py", ".py"),
        *("pyth&#111;n", "python filename=a.py &amp; more"),
    ],
)
@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\t\r\n"])
def test_case_36_every_way_to_name_python_is_python(info: str, fence: str, end: str) -> None:
    closing = fence + end
    line_end = end.lstrip(" \t")
    assert codes(f"{fence}{info}{end}print(1){line_end}{closing}") == [("python", f"print(1){line_end}")]


@pytest.mark.parametrize(
    "info", ["text", "json", "output", "", "JSON", "{.yaml}", "console", "html", "diff", "csv", "md"]
)
def test_case_36_data_is_passed_over(info: str) -> None:
    parsed = parse(f"```{info}\nimport os\n```\n", LANGUAGES)
    assert (parsed.blocks, parsed.unsupported) == ((), ())


@pytest.mark.parametrize(
    ("info", "name"),
    [
        *(("rust", "rust"), ("C++", "c++"), ("c#", "c#"), ("js title=a", "js"), ("python2", "python2"), ("sql", "sql")),
        *(("wibble", "wibble"), ("main.py", "main.py"), ("pyt\u200bhon", "pyt?hon"), ("x" * 5000, "x" * 40 + "…")),
        *(("ｐｙｔｈｏｎ", "ｐｙｔｈｏｎ"), ("рython", "рython"), ("\x1b[31mred", "?"), ("\ud800", "?")),
    ],
)
def test_case_36_an_unknown_language_is_named_and_not_run(info: str, name: str) -> None:
    parsed = parse(f"```{info}\nx\n```\n\n```python\ny\n```\n\n```{info}\nz\n```\n", LANGUAGES)
    assert parsed.unsupported == (name,)
    assert [block.code for block in parsed.blocks] == ["y\n"]


def test_case_36_a_name_that_the_sandbox_knows_is_code_whatever_it_is_elsewhere() -> None:
    assert parse("```console\nls\n```\n", {"console": "bash"}).blocks == (CodeBlock(0, "bash", "ls\n", 2),)
    assert parse("```python3.9\nx\n```\n", {"bash": "bash"}).unsupported == ("python3.9",)


@pytest.mark.parametrize(
    "text",
    [
        "> ```python\n> print(1)\n> ```\n",
        ">> ```python\n>> print(1)\n>> ```\n",
        "- > ```python\n  > print(1)\n  > ```\n",
        "> - ```python\n>   print(1)\n>   ```\n",
        "> ```rust\n> x\n> ```\n",
    ],
)
def test_case_37_quoted_code_is_neither_run_nor_named(text: str) -> None:
    parsed = parse(text, LANGUAGES)
    assert (parsed.blocks, parsed.unsupported, parsed.unterminated) == ((), (), False)
    after = parse(text + "\n```python\nx\n```\n", LANGUAGES)
    assert [block.code for block in after.blocks] == ["x\n"]


@pytest.mark.parametrize(
    "code",
    [
        *("x\r\ny\r\n", "x\ry\r", "x\r\ny\nz\r\n", "a\0b\n", "\ufeffx\n", "x\x0by\n", "x\x0cy\n", "x\x85y\u2028z\n"),
        *("\tx \t\n", "\n\n x\n\n\n", "'\ud800'\n", "é\n", "é\n", "\x1b]0;t\x07\n"),
    ],
)
def test_code_at_the_margin_is_exactly_what_the_message_says(code: str) -> None:
    text = f"Before\r\n```python\r\n{code}```\r\nafter"
    block = parse(text, LANGUAGES).blocks[0]
    assert block.code == code
    assert block.line == 3
    assert block.digest == hashlib.sha256(b"python\0" + code.encode("utf-8", "surrogatepass")).hexdigest()


def test_the_digest_tells_language_and_every_byte_apart() -> None:
    variants = [
        ("python", "x\n"),
        ("bash", "x\n"),
        ("python", "x"),
        ("python", "x\r\n"),
        ("python", "x\n\n"),
        ("py", ""),
    ]
    assert len({digest(language, code) for language, code in variants}) == len(variants)


def test_a_fence_without_a_word_in_it_holds_no_code() -> None:
    parsed = parse("```python\n\n \t\n```\n\n```rust\n```\n", LANGUAGES)
    assert (parsed.blocks, parsed.unsupported, parsed.unterminated) == ((), (), False)


@pytest.mark.parametrize(
    "filler",
    [
        *("> " * 500_000, ">" * 999_000, "- " * 500_000, "- > " * 250_000, "`" * 1_000_000, "[" * 1_000_000),
        *("```\n" * 250_000, "x" * 1_000_000, "*" * 1_000_000, "\t" * 1_000_000, "1. " * 330_000, "\0" * 1_000_000),
        *("<" * 1_000_000, "#" * 1_000_000, "~~~ `\n~~~\n" * 100_000, "<!--" * 250_000, "\\" * 1_000_000),
    ],
    ids=lambda filler: repr(filler[:8]),
)
def test_a_hostile_megabyte_is_read_without_recursion(filler: str) -> None:
    start = time.process_time()
    parsed = parse(f"{filler}\n\n\n```python\nx\n```\n", LANGUAGES)
    assert len(parsed.blocks) <= 1
    assert time.process_time() - start < 5


def test_what_is_nested_deeper_than_the_parser_reads_does_not_run() -> None:
    assert codes("- " * 40 + "```python\nx\n```\n") == []


def test_a_real_megabyte_is_quick() -> None:
    block = "```python\n" + "total = total + value * 2\n" * 40 + "```\n\nAnd then, in other words:\n\n"
    text = block * (1_000_000 // len(block))
    start = time.process_time()
    assert len(parse(text, LANGUAGES).blocks) == text.count("```python")
    assert time.process_time() - start < 3
