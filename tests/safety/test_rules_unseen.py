"""Programs of kinds that the rules had not met, written and measured before any rule was changed for them.

What is flagged of them now must not fall again; `docs/safety.md` has the figures at first sight: those are honest.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from safety.rules import review

RECALL = 0.96
FALSE_ALARMS = 0.01


def samples(name: str) -> list[dict[str, Any]]:
    """The programs of one file."""
    text = (Path(__file__).parent / f"unseen_{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


RISKY, BENIGN = samples("risky"), samples("benign")


def flagged(sample: dict[str, Any]) -> bool:
    """Whether a human would be asked, or the program refused, for what it does and not for its syntax alone."""
    verdict, findings = review(sample["language"], sample["code"])
    if verdict == "allow":
        return False
    assert not all(finding.rule == "reading.tangled" for finding in findings), sample["id"]
    return True


def test_the_sets_are_broad() -> None:
    assert len(RISKY) >= 350
    assert len({sample["category"] for sample in RISKY}) >= 40
    assert len(BENIGN) >= 240
    for kind in (RISKY, BENIGN):
        assert min(Counter(sample["language"] for sample in kind).values()) >= len(kind) / 3
    ids = [sample["id"] for sample in (*RISKY, *BENIGN)]
    assert len(set(ids)) == len(ids)


def test_risky_programs_are_flagged() -> None:
    missed = [sample["id"] for sample in RISKY if not flagged(sample)]
    assert 1 - len(missed) / len(RISKY) >= RECALL, missed


def test_ordinary_programs_are_allowed() -> None:
    alarmed = [sample["id"] for sample in BENIGN if flagged(sample)]
    assert len(alarmed) / len(BENIGN) <= FALSE_ALARMS, alarmed
