"""How much of a corpus the rules flag: `python -m benchmarks.safety --corpus DIR [--json]`."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safety.rules import review


@dataclass
class Figures:
    """Shares from 0 to 1, milliseconds, lists of ids."""

    recall: float | None = None
    """Share of the risky blocks that are flagged; null where there are none."""
    false_alarms: float | None = None
    """Share of the benign blocks that are flagged; null where there are none."""
    median_ms: float = 0.0
    max_ms: float = 0.0
    by_category: dict[str, dict[str, float | int | str]] = field(default_factory=dict)
    """By `language/category`: label, blocks, flagged, denied, share."""
    missed: list[str] = field(default_factory=list)
    alarmed: list[str] = field(default_factory=list)


def samples(directory: Path) -> Iterator[dict[str, Any]]:
    """The objects of all JSONL files of a directory, or of one file."""
    files = [directory] if directory.is_file() else sorted(directory.glob("*.jsonl"))
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                sample = json.loads(line)
                sample["code"], sample["label"], sample["language"]
            except (ValueError, KeyError, TypeError) as error:
                raise SystemExit(f"{path}:{number}: not a sample ({error!r})") from error
            yield sample


def measure(directory: Path) -> Figures:
    """Review every block of a corpus, after a warm-up."""
    review("python", "import yaml\nyaml.load('')")
    review("bash", "ls")
    figures, times = Figures(), []
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for sample in samples(directory):
        begun = time.perf_counter()
        verdict, _ = review(sample["language"], sample["code"])
        times.append((time.perf_counter() - begun) * 1000)
        groups[f"{sample['language']}/{sample.get('category', '')}"].append((sample["label"], verdict))
        name = str(sample.get("id", len(times)))
        if sample["label"] == "risky" and verdict == "allow":
            figures.missed.append(name)
        elif sample["label"] == "benign" and verdict != "allow":
            figures.alarmed.append(name)
    for label, attribute in (("risky", "recall"), ("benign", "false_alarms")):
        verdicts = [verdict for group in groups.values() for of, verdict in group if of == label]
        if verdicts:
            setattr(figures, attribute, sum(verdict != "allow" for verdict in verdicts) / len(verdicts))
    for name, group in sorted(groups.items()):
        flagged = sum(verdict != "allow" for _, verdict in group)
        figures.by_category[name] = {
            "label": group[0][0],
            "blocks": len(group),
            "flagged": flagged,
            "denied": sum(verdict == "deny" for _, verdict in group),
            "share": flagged / len(group),
        }
    if times:
        figures.median_ms, figures.max_ms = statistics.median(times), max(times)
    return figures


def show(figures: Figures) -> str:
    """The figures as a table."""
    lines = [f"{'category':34} {'label':7} {'blocks':>6} {'flagged':>7} {'denied':>6} {'share':>6}"]
    for name, row in figures.by_category.items():
        lines.append(
            f"{name:34} {row['label']:7} {row['blocks']:6} {row['flagged']:7} {row['denied']:6} "
            f"{float(row['share']):6.1%}"
        )
    recall = "none" if figures.recall is None else f"{figures.recall:.1%}"
    alarms = "none" if figures.false_alarms is None else f"{figures.false_alarms:.1%}"
    lines.append(
        f"\nrecall {recall}, false alarms {alarms}; a block takes {figures.median_ms:.1f} ms in the median, "
        f"{figures.max_ms:.1f} ms at most"
    )
    lines.append(f"missed: {', '.join(figures.missed) or 'none'}\nalarmed: {', '.join(figures.alarmed) or 'none'}")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.safety", description="How much of a corpus the rules flag, and how fast; no model."
    )
    parser.add_argument("--corpus", type=Path, required=True, help="a directory of JSONL files, or one file")
    parser.add_argument("--json", action="store_true", help="one JSON object in place of the table")
    arguments = parser.parse_args()
    if not arguments.corpus.exists():
        sys.exit(f"{arguments.corpus}: no such file or directory")
    figures = measure(arguments.corpus)
    print(json.dumps(asdict(figures)) if arguments.json else show(figures))


if __name__ == "__main__":
    main()
