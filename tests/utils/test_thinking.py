from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from utils.thinking import ThinkSplitter, split_thought

CODE = "```python\nprint('<think>not a thought</think>')\n```"


@pytest.mark.parametrize(
    ("text", "thought", "words"),
    [
        ("plain words", "", "plain words"),
        ("<think>a plan</think>\n\nthe answer", "a plan", "the answer"),
        ("\n<think>\na plan\n</think>the answer", "a plan", "the answer"),
        ("<think></think>\n\nthe answer", "", "the answer"),
        ("<think>one</think><think>two</think>three", "onetwo", "three"),
        ("<thinking>a plan</thinking>the answer", "a plan", "the answer"),
        ("[THINK]a plan[/THINK]the answer", "a plan", "the answer"),
        ("<think>never closed", "never closed", ""),
        ("a plan begun in the template\n</think>\n\nthe answer", "a plan begun in the template", "the answer"),
        (CODE, "", CODE),
        ("```html\n</think>\n```\nwords", "", "```html\n</think>\n```\nwords"),
        ("the tag `</think>` ends a thought", "", "the tag `</think>` ends a thought"),
        ("words first <think>then this</think> and code", "", "words first <think>then this</think> and code"),
        (f"<think>I try\n{CODE}\nfirst", "I try\n```python\nprint('<think>not a thought", "')\n```\nfirst"),
        ("<thinly veiled", "", "<thinly veiled"),
        ("think>hink", "", "think>hink"),
        ("", "", ""),
    ],
)
def test_a_thought_counts_only_at_the_beginning(text: str, thought: str, words: str) -> None:
    assert split_thought(text) == (thought, words)


@given(st.lists(st.sampled_from(["<think>", "</think>", "<th", "ink>", "</th", " ", "\n", "words", "```"])), st.data())
def test_the_pieces_of_a_stream_make_no_difference(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert joined(pieces) == joined([text])


def joined(pieces: list[str]) -> tuple[str, str]:
    splitter = ThinkSplitter()
    shown = [one for piece in pieces for one in splitter.feed(piece)] + splitter.finish()
    return (
        "".join(text for kind, text in shown if kind == "thought"),
        "".join(text for kind, text in shown if kind == "words"),
    )


def test_words_are_shown_as_soon_as_they_are_no_tag() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("<thi") == []
    assert splitter.feed("nk>so") == [("thought", "so")]
    assert splitter.feed(" on</thi") == [("thought", " on")]
    assert splitter.feed("nk>\n\nThe") == [("words", "The")]
    assert splitter.feed(" end") == [("words", " end")]
    assert splitter.finish() == []
