"""Code as a human judges it: numbered, every invisible character visible, findings under their lines."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from interfaces.terminal.markdown import highlighted
from interfaces.terminal.outlet import TAB_SIZE
from interfaces.terminal.plain import counted, one_line, shown
from interfaces.terminal.trimmed import Trimmed

SHORT = 80
"""Lines of a block that is shown whole beside the question; of a longer one the start and the findings are."""
_START = 50
_AROUND = 3
_BLANKS_SHOWN = 2
_WIDE_GAP = re.compile(r" {40,}")
_LONGEST_LINE = 1000

Row = tuple[str, Text]


def whole(code: str, language: str, findings: Iterable[Mapping[str, Any]] = ()) -> list[Row]:
    """Every line of the code with its number, nothing left out but runs of blanks, whose length is told."""
    return _rows(code, language, findings, keep=None)


def excerpt(code: str, language: str, findings: Sequence[Mapping[str, Any]] = ()) -> tuple[list[Row], int]:
    """Show a short block whole, of a longer one the start and what is around findings; how many lines were left out."""
    rows = whole(code, language, findings)
    if len(rows) <= SHORT:
        return rows, 0
    total = len(_lines(code))
    keep = set(range(1, _START + 1))
    for finding in findings:
        line = int(finding.get("line", 0))
        keep.update(range(line - _AROUND, line + _AROUND + 1))
    keep &= set(range(1, total + 1))
    return _rows(code, language, findings, keep), total - len(keep)


def table(rows: Iterable[Row]) -> RenderableType:
    """The rows side by side; long lines go on below themselves."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="faint", no_wrap=True, justify="right")
    grid.add_column(overflow="fold")
    for number, text in rows:
        grid.add_row(number, text)
    return Trimmed(grid)


def unified(old: str, new: str, old_name: str, new_name: str) -> list[Text]:
    """The unified diff of two texts, line by line in colours; empty when they are the same."""
    styles = {"+": "good", "-": "bad", "@": "notice"}
    lines = difflib.unified_diff(
        shown(old, code=True).splitlines(), shown(new, code=True).splitlines(), old_name, new_name, lineterm="", n=2
    )
    return [Text(line, style=styles.get(line[:1], "default"), no_wrap=False) for line in lines]


def _lines(code: str) -> list[str]:
    return shown(code, code=True).removesuffix("\n").split("\n")


def _rows(code: str, language: str, findings: Iterable[Mapping[str, Any]], keep: set[int] | None) -> list[Row]:
    lines = _lines(code)
    coloured = highlighted("\n".join(lines), language).split("\n", allow_blank=True)
    at: dict[int, list[Mapping[str, Any]]] = {}
    for finding in findings:
        at.setdefault(int(finding.get("line", 0)), []).append(finding)
    rows: list[Row] = []
    blank = skipped = 0
    for number, line in enumerate(lines, start=1):
        if keep is not None and number not in keep:
            skipped += 1
            continue
        rows += _gap(skipped, "line not shown")
        skipped = 0
        if not line.strip() and number not in at:
            blank += 1
            if blank <= _BLANKS_SHOWN:
                rows.append((str(number), Text()))
            continue
        rows += _gap(blank - _BLANKS_SHOWN, "more empty line")
        blank = 0
        rows.append((str(number), _fit(coloured[number - 1] if number <= len(coloured) else Text(line), keep)))
        rows += [("", _pointer(finding, line)) for finding in at.get(number, ())]
    return rows + _gap(blank - _BLANKS_SHOWN, "more empty line") + _gap(skipped, "line not shown")


def _gap(count: int, noun: str) -> list[Row]:
    if count <= 0:
        return []
    first, _, rest = noun.partition("line")
    return [("", Text(f"⋯ {count:,} {first}{'line' if count == 1 else 'lines'}{rest}", style="ask"))]


def _fit(line: Text, keep: set[int] | None) -> Text:
    """The line with wide gaps told instead of shown; cut when it is very long and not everything is shown anyway."""
    line = line.copy()
    line.expand_tabs(TAB_SIZE)
    for match in reversed(list(_WIDE_GAP.finditer(line.plain))):
        gap = Text(f"⟨{counted(match.end() - match.start(), 'blank')}⟩", style="ask")
        line = line[: match.start()] + gap + line[match.end() :]
    if keep is not None and len(line) > _LONGEST_LINE:
        line = line[:_LONGEST_LINE] + Text(f" ⋯ {len(line) - _LONGEST_LINE:,} more characters", style="ask")
    return line


def _pointer(finding: Mapping[str, Any], line: str) -> Text:
    column = int(finding.get("column", 0))
    before = line[: column - 1] if column else line[: len(line) - len(line.lstrip())]
    indent = len(before.expandtabs(TAB_SIZE))
    style = "deny" if finding.get("verdict") == "deny" else "ask"
    text = Text(f"{' ' * min(indent, 40)}^ {one_line(str(finding.get('message', '')))}", style=style)
    return text.append(f"  ({one_line(str(finding.get('rule', '')))})", style="dim not bold")
