"""The figures: their form, and the bars on the corpora where those lie beside the checkout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.safety import measure

ROOT = Path(__file__).parents[2]
CORPORA = ROOT.parent / "shared" / "corpora"
SAMPLES = [
    {"id": "a", "language": "python", "category": "x", "label": "risky", "code": "open('/etc/shadow')"},
    {"id": "b", "language": "bash", "category": "x", "label": "risky", "code": "echo hello"},
    {"id": "c", "language": "python", "category": "y", "label": "benign", "code": "print(1)"},
    {"id": "d", "language": "bash", "category": "y", "label": "benign", "code": "curl http://x.example"},
]


def test_json_has_the_figures(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text("\n".join(json.dumps(sample) for sample in SAMPLES), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.safety", "--corpus", str(tmp_path), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    assert set(figures) == {"recall", "false_alarms", "median_ms", "max_ms", "by_category", "missed", "alarmed"}
    assert (figures["recall"], figures["false_alarms"]) == (0.5, 0.5)
    assert (figures["missed"], figures["alarmed"]) == (["b"], ["d"])


def test_missing_corpus_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.safety", "--corpus", str(tmp_path / "nowhere")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "no such file" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not CORPORA.is_dir(), reason=f"no corpora at {CORPORA}")
def test_bars_on_the_corpora() -> None:
    figures = measure(CORPORA)
    assert figures.recall is not None
    assert figures.recall >= 0.97
    assert figures.false_alarms is not None
    assert figures.false_alarms <= 0.01
