"""Makes the pictures in docs/ from a real pseudo-terminal: `python -m tests.interfaces.pictures`.

Needs Docker and the sandbox image: what the pictures show has happened.
"""

from __future__ import annotations

import sys
import tempfile
from io import StringIO
from itertools import groupby
from pathlib import Path

from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.interfaces.terminals import ROOT, PseudoTerminal
from tests.scripted_server import ScriptedServer

THEME = TerminalTheme(
    (24, 26, 31),
    (205, 209, 217),
    [
        *((60, 64, 72), (224, 108, 117), (152, 195, 121), (229, 192, 123)),
        *((97, 175, 239), (198, 120, 221), (86, 182, 194), (205, 209, 217)),
    ],
    [
        *((127, 132, 142), (240, 130, 138), (172, 212, 145), (240, 205, 140)),
        *((120, 190, 250), (214, 140, 235), (110, 200, 210), (235, 238, 242)),
    ],
)
FETCH = """I look up where the rates are, and then I average them.

```python
import csv
import io
import os

print(os.environ)
rows = list(csv.DictReader(io.StringIO("rate\\n1.5\\n2.5\\n")))
print(sum(float(row["rate"]) for row in rows) / len(rows))
```
"""


def save(terminal: PseudoTerminal, file: Path, title: str, data: str) -> None:
    """Write what the terminal shows as an SVG. The data directory gets the name that it has for a user."""
    screen = terminal.screen
    lines = [*screen.history.top, *(screen.buffer[row] for row in range(screen.lines))]
    texts = [_line([line[column] for column in range(screen.columns)]) for line in lines]
    while texts and not texts[-1].plain:
        texts.pop()
    console = Console(file=StringIO(), record=True, width=screen.columns, force_terminal=True)
    for text in texts:
        if data in text.plain:
            text = Text(text.plain.replace(data, "~/.local/share/roundtable"))
        console.print(text, no_wrap=True, overflow="ignore")
    svg = console.export_svg(title=title, theme=THEME, unique_id=file.stem)
    file.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


def _line(chars: list[Char]) -> Text:
    text = Text()
    for style, run in groupby(chars, key=_style):
        text.append("".join(char.data for char in run), style)
    text.rstrip()
    return text


def _style(char: Char) -> Style:
    return Style(color=_colour(char.fg), bold=char.bold, italic=char.italics, reverse=char.reverse)


def _colour(name: str) -> str | None:
    """A colour of pyte's, as rich names it."""
    if name == "default":
        return None
    if len(name) == 6 and all(digit in "0123456789abcdef" for digit in name):
        return f"#{name}"
    return name.replace("brown", "yellow").replace("bright", "bright_").replace("bright__", "bright_")


def main() -> int:
    """Make both pictures."""
    docs = ROOT / "docs"
    with tempfile.TemporaryDirectory() as data:
        with PseudoTerminal(str(ROOT / "main.py"), "--demo", "--data-dir", data) as terminal:
            terminal.wait("That was a recording.", timeout=120)
            terminal.exit_status()
            save(terminal, docs / "terminal.svg", "python main.py --demo", data)
        with ScriptedServer([FETCH]) as server:
            environ = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "scripted", "OPENAI_MODEL": "gpt-4o"}
            with PseudoTerminal(str(ROOT / "main.py"), "--data-dir", data, environ=environ) as terminal:
                terminal.wait("›", timeout=60)
                terminal.enter("average the rates")
                terminal.wait("run? ›", timeout=60)
                save(terminal, docs / "approval.svg", "python main.py", data)
                terminal.enter("n use what is in the file")
    return 0


if __name__ == "__main__":
    sys.exit(main())
