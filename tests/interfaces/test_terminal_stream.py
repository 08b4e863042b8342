"""Words of a model as they come: nothing lost, nothing twice, nothing obeyed, whatever the pieces."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from interfaces.terminal.outlet import make_console
from interfaces.terminal.stream import MarkdownStream

MESSAGE = """# Plan

I compute with `math` and [a link](http://example.com/x). <b>raw [red]x[/red]</b>

1. first
2. second
   goes on
3. third

- a
- b

| a | b |
|---|---|
| 1 | 2 |

```python
text = \"\"\"
```not a fence
\"\"\"

print("é")
```
~~~bash extra
ls -la
~~~
> quoted

Done.
"""


def shown(parts: list[RenderableType], width: int = 80) -> str:
    console = make_console(StringIO(), width=width)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return capture.get()


def streamed(text: str, cuts: list[int]) -> str:
    stream = MarkdownStream()
    parts: list[RenderableType] = []
    at = 0
    for cut in [*sorted(cuts), len(text)]:
        parts += stream.feed(text[at:cut])
        tail = stream.tail()
        assert tail is None or shown([tail]) is not None
        at = cut
    return shown([*parts, *stream.close()])


@settings(deadline=None)  # a machine that is busy is no failure
@given(st.lists(st.integers(0, len(MESSAGE)), max_size=40))
def test_the_pieces_make_no_difference(cuts: list[int]) -> None:
    assert streamed(MESSAGE, cuts) == streamed(MESSAGE, [])


def test_what_a_message_looks_like() -> None:
    assert (
        streamed(MESSAGE, list(range(len(MESSAGE))))
        == """\
Plan

I compute with math and a link (http://example.com/x). <b>raw [red]x[/red]</b>

 1 first
 2 second goes on
 3 third

 • a
 • b

 a  b
 ────
 1  2

python ─────────────────────────────────────────────────────────────────────────
text = \"\"\"
```not a fence
\"\"\"

print("é")
────────────────────────────────────────────────────────────────────────────────

bash ───────────────────────────────────────────────────────────────────────────
ls -la
────────────────────────────────────────────────────────────────────────────────

▌ quoted

Done.
"""
    )


@settings(deadline=None)  # a machine that is busy is no failure
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), st.integers(1, 7))
def test_any_text_is_shown_without_control_codes(text: str, step: int) -> None:
    out = streamed(text, list(range(0, len(text), step)))
    assert not [c for c in out if (c < " " and c != "\n") or c in "\x7f\u202e\u2066\u200b"]


@settings(deadline=None)  # a machine that is busy is no failure
@given(st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30), max_size=20))
def test_every_line_of_code_is_shown_once_and_in_order(lines: list[str]) -> None:
    code = [f"x{line}" for line in lines]  # never a fence
    text = "Here:\n\n```python\n" + "".join(f"{line}\n" for line in code) + "```\n"
    out = streamed(text, list(range(0, len(text), 3))).splitlines()
    assert out[3:-1] == code


def test_line_ends_of_every_kind_are_line_ends() -> None:
    assert streamed("a\r\n\r\nb\r\rc", [2, 3, 7]) == "a\n\nb\n\nc\n"


def test_escape_sequences_in_code_are_shown() -> None:
    out = streamed("```python\nprint('\x1b[2J')  # \u202e\n```\n", [15])
    assert "print('␛[2J')  # <U+202E>" in out


def test_an_open_fence_is_closed_at_the_end() -> None:
    assert streamed("```python\nprint(1)", [4]).splitlines()[1:] == ["print(1)", "─" * 80]


def test_code_is_highlighted_in_colours_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLORFGBG", raising=False)
    console = Console(file=StringIO(), force_terminal=True, color_system="standard", width=80)
    for part in MarkdownStream().feed("```python\nimport os\n"):
        with console.capture() as capture:
            console.print(part)
    assert "\x1b[94;49mimport\x1b[0m" in capture.get()


@pytest.mark.parametrize("text", ["", "\n\n\n", "   \n"])
def test_nothing_is_nothing(text: str) -> None:
    assert streamed(text, []) == ""
