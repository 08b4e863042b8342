"""A figure of the benchmark table: ours beside a peer's from the same run, and the bar that it is held to."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results.json"
_REASON_CHARS = 240


@dataclass(frozen=True)
class Row:
    """One line of the table and of results.json."""

    name: str
    ours: float | None
    """In the unit that the name tells."""
    peer: float | None
    peer_name: str
    ratio: float | None
    """Ours / peer."""
    bar: str
    """What the ratio is held to (`<= 1.15`, `>= 4.5`), or ours itself where the bar has a unit (`<= 16 MB`)."""
    met: bool
    note: str = ""


def compare(name: str, ours: float, peer: float, peer_name: str, bar: str, note: str = "") -> Row:
    """A row whose ratio is held to a bar such as `<= 1.15`."""
    ratio = ours / peer
    return Row(name, ours, peer, peer_name, ratio, bar, _holds(ratio, bar), note)


def absolute(name: str, ours: float, bar: str, peer: float | None = None, peer_name: str = "", note: str = "") -> Row:
    """A row whose own figure is held to a bar such as `<= 16 MB`; a peer stands beside it where it was measured."""
    return Row(name, ours, peer, peer_name, ours / peer if peer else None, bar, _holds(ours, bar), note)


def not_measured(name: str, bar: str, reason: str) -> Row:
    """A figure that could not be had: said, and not met."""
    words = " ".join(reason.split())
    if len(words) > _REASON_CHARS:  # what is behind it stands at the end, who says so at the beginning
        words = f"{words[: _REASON_CHARS // 3]} ... {words[-_REASON_CHARS * 2 // 3 :]}"
    return Row(name, None, None, "", None, bar, False, f"not measured: {words}")


def _holds(value: float, bar: str) -> bool:
    relation, limit = bar.split()[:2]
    return value <= float(limit) if relation == "<=" else value >= float(limit)


def median(values: Sequence[float]) -> float:
    """Median of the figures after the first, which warms up."""
    return statistics.median(values[1:])


def write(rows: Sequence[Row], path: Path = RESULTS) -> None:
    """Write results.json."""
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


def table(rows: Sequence[Row]) -> str:
    """The rows as text."""
    head = ("", "figure", "ours", "peer", "ratio", "bar", "beside")
    lines = [head] + [
        (
            "ok" if row.met else "NO",
            row.name,
            _number(row.ours),
            _number(row.peer),
            _number(row.ratio),
            row.bar,
            "; ".join(text for text in (row.peer_name, row.note) if text),
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in lines
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"
