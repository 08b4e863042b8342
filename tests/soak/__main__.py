"""`python -m tests.soak [--rounds N] [--seed N]`: kill -9 at random moments, each time resumed to the end."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.soak.kill_nine import one_round, whole_run_s


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50, help="kills, 1 or more (50)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of the moments")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        longest_s = whole_run_s(home / "whole")
        print(f"seed {options.seed}; a whole run takes {longest_s:.1f} s", flush=True)  # noqa: T201  a program's output
        for number in range(options.rounds):
            resumed = one_round(home / str(number), options.seed + number, longest_s)
            print(f"round {number + 1} of {options.rounds}: resumed {resumed} times", flush=True)  # noqa: T201
    print(f"{options.rounds} passed, 0 failed")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
