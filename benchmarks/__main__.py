"""`python -m benchmarks [GROUP...]`: measure, print one table, write benchmarks/results.json."""

from __future__ import annotations

import importlib
import sys

from benchmarks.rows import Row, table, write

GROUPS = {
    "sandbox": "benchmarks.sandbox",
    "kernel": "benchmarks.kernel",
    "crowd": "benchmarks.sandbox_crowd",
    "output": "benchmarks.sandbox_output",
    "turns": "benchmarks.turns",
    "others": "benchmarks.others",
}
"""Group -> module that has `measure() -> list[Row]`."""


def main(names: list[str]) -> int:
    """Measure the groups named, or all; status 1 where a bar is not met."""
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"No group {', '.join(unknown)}; there are {', '.join(GROUPS)}.", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in names or GROUPS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        rows += importlib.import_module(GROUPS[name]).measure()
    write(rows)
    print(table(rows))
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
