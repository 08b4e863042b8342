"""Executors of other projects, each in turn with ours: llm-sandbox (a fresh Python a block), smolagents (a kernel)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from benchmarks import jupyter_peer, peers
from benchmarks.jupyter_peer import NoPeerError
from benchmarks.peer_environment import LLM_SANDBOX, SMOLAGENTS
from benchmarks.peer_process import PeerProcess, running
from benchmarks.rows import Row, compare, median, not_measured
from sandbox import DockerExecutor, SandboxPolicy
from utils.docker_utils import image_name

TIMES = 16
"""Measurements of a figure, the first of which only warms up."""
FRESH = {"fresh Python block, ms": "<= 0.25", "start and first block, ms": "<= 0.75", "stop, ms": "<= 0.02"}
KERNEL = {
    "kernel block, ms": "<= 0.3",
    "fresh Python block, ms": "<= 0.5",
    "kernel start and first block, ms": "<= 0.3",
    "kernel stop, ms": "<= 0.3",
}
"""Figure -> its bar: those that AutoGen's executors of the same kind are held to, where it has one."""
SET = "value = 2; print(4)"
STATE = "print(value + 2)"


def measure() -> list[Row]:
    """The rows."""
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    return [*await _llm_sandbox(), *await _smolagents()]


async def _llm_sandbox() -> list[Row]:
    try:
        async with running(LLM_SANDBOX, image_name()) as theirs:
            block = await _fresh_blocks(theirs)
            start, stop = await _starts(theirs, _fresh, stops_slowly=True)
    except NoPeerError as error:
        return [not_measured(name, bar, str(error)) for name, bar in FRESH.items()]
    name = LLM_SANDBOX.name
    image = "on our image, its own set-up of a virtual environment skipped"
    lost = f"; {theirs.lost} of its blocks lost their output and were run again" if theirs.lost else ""
    return [
        _row(FRESH, "fresh Python block, ms", block, name, image + lost),
        _row(FRESH, "start and first block, ms", start, name, image),
        _row(FRESH, "stop, ms", stop, name, "theirs once: it waits ten seconds each time"),
    ]


async def _smolagents() -> list[Row]:
    try:
        async with running(SMOLAGENTS, jupyter_peer.image()) as theirs:
            block, fresh = await _kernel_blocks(theirs)
            start, stop = await _starts(theirs, _kernel, stops_slowly=False)
    except NoPeerError as error:
        return [not_measured(name, bar, str(error)) for name, bar in KERNEL.items()]
    name = SMOLAGENTS.name
    return [
        _row(KERNEL, "kernel block, ms", block, name, "both keep their state"),
        _row(KERNEL, "fresh Python block, ms", fresh, name, "theirs is no fresh Python: its kernel, which keeps state"),
        _row(KERNEL, "kernel start and first block, ms", start, name, "on our image with a kernel gateway in it"),
        _row(KERNEL, "kernel stop, ms", stop, name),
    ]


Pair = tuple[list[float], list[float]]
"""Seconds of ours, seconds of theirs."""


def _row(bars: dict[str, str], figure: str, pair: Pair, peer_name: str, note: str = "") -> Row:
    ours, theirs = pair
    their_ms = (median(theirs) if len(theirs) > 1 else theirs[0]) * 1000
    return compare(figure, median(ours) * 1000, their_ms, peer_name, bars[figure], note)


def _fresh(directory: str) -> DockerExecutor:
    return peers.ours(directory)


def _kernel(directory: str) -> DockerExecutor:
    return DockerExecutor(policy=SandboxPolicy(kernel=True), work_dir=directory)


async def _fresh_blocks(theirs: PeerProcess) -> Pair:
    ours: list[float] = []
    their_blocks: list[float] = []
    await theirs.start()
    async with peers.directory() as directory, _fresh(directory) as box:
        for _ in range(TIMES):
            ours.append(await peers.block(box))
            their_blocks.append(await theirs.block(peers.PRINT))
    await theirs.remove()
    return ours, their_blocks


async def _kernel_blocks(theirs: PeerProcess) -> tuple[Pair, Pair]:
    """Blocks in our kernel, and fresh ones of ours, beside theirs."""
    kept: list[float] = []
    fresh: list[float] = []
    their_blocks: list[float] = []
    await theirs.start()
    async with (
        peers.directory() as one,
        peers.directory() as two,
        _kernel(one) as kernel,
        _fresh(two) as box,
    ):
        await peers.block(kernel, SET)
        await theirs.block(SET)
        for _ in range(TIMES):
            kept.append(await peers.block(kernel, STATE))
            fresh.append(await peers.block(box))
            their_blocks.append(await theirs.block(STATE))
    await theirs.remove()
    return (kept, their_blocks), (fresh, their_blocks)


async def _starts(
    theirs: PeerProcess, make: Callable[[str], DockerExecutor], *, stops_slowly: bool
) -> tuple[Pair, Pair]:
    """Start with a first block, and stop; a peer that waits at its stop does so once only."""
    starts: list[float] = []
    their_starts: list[float] = []
    stops: list[float] = []
    their_stops: list[float] = []
    async with peers.directory() as directory:
        for number in range(TIMES):
            started = time.perf_counter()
            box = make(directory)
            try:
                await box.start()
                await peers.block(box)
                starts.append(time.perf_counter() - started)
            finally:
                stops.append(await peers.seconds(box.stop))
            their_starts.append(await theirs.start() + await theirs.block(peers.PRINT))
            if number and stops_slowly:
                await theirs.remove()
            else:
                their_stops.append(await theirs.stop())
    return (starts, their_starts), (stops, their_stops)
