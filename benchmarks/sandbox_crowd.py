"""Many sandboxes at once: how long they take to start, and how many blocks a second they run together."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from autogen_ext.code_executors.docker import DockerCommandLineCodeExecutor

from benchmarks import peers
from benchmarks.rows import Row, compare

BLOCKS = 3
"""Blocks that each sandbox runs, one after the other, while the others do the same."""

ROUNDS = 5
"""Times that both crowds are made, one after the other: a start of 64 is at the mercy of the machine."""


def measure() -> list[Row]:
    """The rows."""
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    rows = []
    for count in (16, 64):
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(await _crowd(count, peers.ours))
            theirs.append(await _crowd(count, peers.autogens))
        start, rate, failed = _middle(ours)
        their_start, their_rate, their_failed = _middle(theirs)
        note = f"failures: ours {failed}, theirs {their_failed}; medians of {ROUNDS} rounds, in turn"
        name = f"{count} sandboxes at once, fresh blocks a second"
        row = compare(name, rate, their_rate, peers.AUTOGEN, ">= 4.5", note)
        # A sandbox that fails is not met, however fast the others are.
        rows.append(row if failed == 0 else replace(row, met=False))
        if count == 64:
            rows.append(compare("64 sandboxes at once, start, s", start, their_start, peers.AUTOGEN, "<= 1"))
    return rows


def _middle(rounds: list[tuple[float, float, int]]) -> tuple[float, float, int]:
    starts, rates, failures = zip(*rounds, strict=True)
    return statistics.median(starts), statistics.median(rates), sum(failures)


async def _crowd(count: int, make: Callable[[str], DockerCommandLineCodeExecutor]) -> tuple[float, float, int]:
    """Seconds until all have started, blocks a second, and how many sandboxes failed."""
    with TemporaryDirectory() as parent:
        boxes = []
        for number in range(count):
            directory = f"{parent}/{number}"
            boxes.append(make(directory))
        await asyncio.to_thread(Path(parent).chmod, 0o755)
        try:
            started = time.perf_counter()
            start_results = await asyncio.gather(*(box.start() for box in boxes), return_exceptions=True)
            start = time.perf_counter() - started
            alive = [box for box, result in zip(boxes, start_results, strict=True) if result is None]
            started = time.perf_counter()
            results = await asyncio.gather(*(_work(box) for box in alive), return_exceptions=True)
            seconds = time.perf_counter() - started
        finally:
            await asyncio.gather(*(peers.end(box) for box in boxes))
    done = sum(result is None for result in results)
    return start, done * BLOCKS / seconds, count - done


async def _work(box: DockerCommandLineCodeExecutor) -> None:
    for _ in range(BLOCKS):
        await peers.block(box)
