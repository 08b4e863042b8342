"""The parser beside cmark, and what holds for every string."""

from __future__ import annotations

import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from safety.code_blocks import CodeBlock, digest, parse
from safety.fences import DATA_NAMES, fence_name
from tests.fuzz.reference import fences

LANGUAGES = {"py": "python", "x": "x"}

PIECES = [
    *(
        "```",
        "````",
        "~~~",
        "py",
        "x",
        "\n",
        "\n",
        "\n",
        "\n\n",
        " ",
        "  ",
        "    ",
        "\t",
        "> ",
        ">",
        "- ",
        "1. ",
        "2) ",
    ),
    *("a", "```py\n", "~~~x\n", "\n```\n", "\n~~~\n", "<!--", "-->", "<div>", "</div>", "<pre>", "[a]: b", "`", "#"),
    *("---", "===", "*", "\\", "&amp;", "   ", "+", "\r\n", "rust", "text", "{", "}", ".", ":", "\0", "é", "\u2028"),
]
messages = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
any_text = st.text(st.characters(exclude_categories=()), max_size=200)
hostile = st.lists(st.one_of(st.sampled_from([*PIECES, "\r", "\ud800", "<a>"]), any_text), max_size=30).map("".join)

# cmark keeps an empty list item open over a blank line that is indented; the specification, and markdown-it, do not.
EMPTY_ITEM = re.compile(r"^[ \t>]*([-+*]|\d+[.)])[ \t]*\r?\n[ \t>]*\r?\n", re.MULTILINE)
# Within a quote, markdown-it goes on with it at a `>` that is indented by four, where cmark begins anew.
INDENTED_QUOTE = re.compile(r"^ *(?: {4}|\t)[ \t]*>", re.MULTILINE)


def in_lines(code: str) -> str:
    """The code with the line ends that cmark gives."""
    return code.replace("\r\n", "\n").replace("\0", "\ufffd")


@settings(max_examples=600, deadline=None)
@given(messages)
def test_every_block_is_what_the_reference_implementation_says(text: str) -> None:
    assume(not EMPTY_ITEM.search(text) and not INDENTED_QUOTE.search(text))
    expected = fences(text)
    parsed = parse(text, LANGUAGES)
    if parsed.unterminated:
        assert parsed.blocks == ()
        return
    assert all(fence.closed for fence in expected)
    code = [(fence_name(fence.info), fence) for fence in expected if not fence.quoted and fence.code.strip()]
    assert [(block.language, in_lines(block.code), block.line) for block in parsed.blocks] == [
        (LANGUAGES[name], fence.code, fence.line + 1) for name, fence in code if name in LANGUAGES
    ]
    others = [name for name, _ in code if name not in LANGUAGES and name not in DATA_NAMES]
    assert len(parsed.unsupported) == len(set(others))


@settings(max_examples=600, deadline=None)
@given(hostile)
def test_no_string_is_too_strange_and_reading_is_repeatable(text: str) -> None:
    parsed = parse(text, LANGUAGES)
    assert parse(text, LANGUAGES) == parsed
    assert [block.index for block in parsed.blocks] == list(range(len(parsed.blocks)))
    for block in parsed.blocks:
        assert block.digest == digest(block.language, block.code) == CodeBlock(9, block.language, block.code).digest


@settings(max_examples=300, deadline=None)
@given(messages)
def test_every_line_of_code_stands_in_the_message_less_its_indentation(text: str) -> None:
    lines = text.replace("\r", "").split("\n")
    for block in parse("\n".join(lines), LANGUAGES).blocks:
        code = block.code.split("\n")[:-1]
        for line, source in zip(code, lines[block.line - 1 :], strict=False):
            assert source.endswith(line.lstrip(" \t"))


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.characters(exclude_categories=(), exclude_characters="`~"), min_size=1), st.sampled_from(["\n", "\r\n"])
)
def test_a_fence_at_the_margin_gives_back_the_very_text(code: str, end: str) -> None:
    assume(code.strip() and not code.endswith("\r"))
    text = f"Words{end}{end}```py{end}{code}{end}```{end}more"
    assert parse(text, LANGUAGES).blocks == (CodeBlock(0, "python", code + end, 4),)
    assert code + end in text
