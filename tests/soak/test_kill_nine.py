"""A few rounds of case 59; `make soak` plays fifty."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.soak.kill_nine import one_round, whole_run_s

ROUNDS = 2


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.timeout(300)
def test_case_59_killed_at_random_moments_and_resumed(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")  # noqa: T201  shown where the test fails
    longest_s = whole_run_s(tmp_path / "whole")
    for number in range(ROUNDS):
        one_round(tmp_path / str(number), seed + number, longest_s)
