"""Python blocks that keep their state: ours in an IPython kernel, AutoGen's over Jupyter in Docker."""

from __future__ import annotations

import asyncio
import time

from benchmarks import jupyter_peer, peers
from benchmarks.rows import Row, absolute, compare, median, not_measured
from sandbox import DockerExecutor, SandboxPolicy

TIMES = 16
"""Blocks, the first of which only warms up."""
STARTS = 4
"""Starts: AutoGen's takes seconds."""
BLOCK, START = "kernel block, ms", "kernel start and first block, ms"
BAR = "<= 0.3"


def measure() -> list[Row]:
    """The rows."""
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    bare = [peers.bare(["/usr/bin/python3", "-c", peers.PRINT]) for _ in range(TIMES)]
    start, block, pandas = await _ours()
    rows = [
        compare("kernel block, ms", block * 1000, median(bare) * 1000, "bare /usr/bin/python3 -c", "<= 1"),
        absolute("kernel block that uses pandas again, ms", pandas * 1000, "<= 50 ms"),
    ]
    try:
        their_start, their_block = await _theirs(jupyter_peer.image())
    except jupyter_peer.NoPeerError as error:
        return [*rows, not_measured(BLOCK, BAR, str(error)), not_measured(START, BAR, str(error))]
    return [
        *rows,
        compare(BLOCK, block * 1000, their_block * 1000, jupyter_peer.NAME, BAR),
        compare(START, start * 1000, their_start * 1000, jupyter_peer.NAME, BAR),
    ]


async def _ours() -> tuple[float, float, float]:
    """Seconds of a start with a first block, of a block, and of one with pandas, which is loaded already."""
    starts: list[float] = []
    blocks: list[float] = []
    heavy: list[float] = []
    for number in range(STARTS):
        async with peers.directory() as directory:
            started = time.perf_counter()
            box = DockerExecutor(policy=SandboxPolicy(kernel=True), work_dir=directory)
            try:
                await box.start()
                await peers.block(box)
                starts.append(time.perf_counter() - started)
                if number == 0:
                    await peers.block(box, "value = 2; print(4)")
                    for _ in range(TIMES):
                        blocks.append(await peers.block(box, "print(value + 2)"))
                    for _ in range(TIMES):
                        heavy.append(await peers.block(box, peers.IMPORTS))
            finally:
                await box.stop()
    return median(starts), median(blocks), median(heavy)


async def _theirs(image: str) -> tuple[float, float]:
    starts: list[float] = []
    blocks: list[float] = []
    for number in range(STARTS):
        started = time.perf_counter()
        async with jupyter_peer.executor(image) as box:
            await jupyter_peer.block(box, peers.PRINT)
            starts.append(time.perf_counter() - started)
            if number == 0:
                await jupyter_peer.block(box, "value = 2; print(4)")
                for _ in range(TIMES):
                    blocks.append(await jupyter_peer.block(box, "print(value + 2)"))
    return median(starts), median(blocks)
