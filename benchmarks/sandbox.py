"""One sandbox at a time: blocks fresh and warm, start and stop."""

from __future__ import annotations

import asyncio
import time

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock

from benchmarks import peers
from benchmarks.rows import Row, compare, median
from sandbox import DockerExecutor

TIMES = 16
"""Measurements of a figure, the first of which only warms up."""
PYTHON = "/usr/bin/python3"


def measure() -> list[Row]:
    """The rows."""
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    return [
        *await _blocks(),
        *await _warm_blocks(),
        *await _start_and_stop(),
    ]


async def _blocks() -> list[Row]:
    fresh: list[float] = []
    theirs: list[float] = []
    bare: list[float] = []
    shell: list[float] = []
    their_shell: list[float] = []
    async with (
        peers.directory() as one,
        peers.directory() as two,
        peers.ours(one) as our_box,
        peers.autogens(two) as their_box,
    ):
        for _ in range(TIMES):
            bare.append(peers.bare([PYTHON, "-c", peers.PRINT]))
            fresh.append(await peers.block(our_box))
            theirs.append(await peers.block(their_box))
            shell.append(await peers.block(our_box, "echo 4", "bash"))
            their_shell.append(await peers.block(their_box, "echo 4", "bash"))
        await peers.remove(their_box)
    ms = [median(values) * 1000 for values in (fresh, bare, theirs, shell, their_shell)]
    return [
        compare("fresh Python block, ms", ms[0], ms[1], "bare /usr/bin/python3 -c", "<= 1.15"),
        compare("fresh Python block, ms", ms[0], ms[2], peers.AUTOGEN, "<= 0.25"),
        compare("bash block, ms", ms[3], ms[4], peers.AUTOGEN, "<= 0.08"),
    ]


INSIDE = """
import subprocess, time
started = time.perf_counter()
subprocess.run(["python3", "-c", {code!r}], stdout=subprocess.DEVNULL, check=True)
print(time.perf_counter() - started)
"""
"""A bare process in the image: the host's Python need not have the packages."""


async def _warm_blocks() -> list[Row]:
    small: list[float] = []
    heavy: list[float] = []
    bare: list[float] = []
    bare_heavy: list[float] = []
    fallback: list[float] = []
    async with (
        peers.directory() as one,
        peers.directory() as two,
        peers.ours(one, warm=True) as warm_box,
        peers.ours(two) as cold_box,
    ):
        for _ in range(TIMES):
            bare.append(peers.bare([PYTHON, "-c", peers.PRINT]))
            await warm_box.until_warm()
            small.append(await peers.block(warm_box))
            await warm_box.until_warm()
            heavy.append(await peers.block(warm_box, peers.IMPORTS))
            fallback.append(await peers.block(warm_box, peers.IMPORTS))
            bare_heavy.append(await _inside(cold_box))
    light_ms, bare_ms = median(small) * 1000, median(bare) * 1000
    heavy_ms, bare_heavy_ms, fallback_ms = (median(values) * 1000 for values in (heavy, bare_heavy, fallback))
    return [
        compare("warm Python block, ms", light_ms, bare_ms, "bare /usr/bin/python3 -c", "<= 0.5"),
        compare("warm block, numpy + pandas + pyplot, ms", heavy_ms, bare_heavy_ms, "bare python3 inside", "<= 0.05"),
        compare("the same back to back, none ready, ms", fallback_ms, bare_heavy_ms, "bare python3 inside", "<= 1.15"),
    ]


async def _inside(box: DockerExecutor) -> float:
    code = INSIDE.format(code=peers.IMPORTS)
    result = await box.execute_code_blocks([CodeBlock(code=code, language="python")], CancellationToken())
    return float(result.output)


async def _start_and_stop() -> list[Row]:
    starts: list[float] = []
    their_starts: list[float] = []
    stops: list[float] = []
    their_stop = 0.0
    async with peers.directory() as one, peers.directory() as two:
        for number in range(TIMES):
            started = time.perf_counter()
            ours = peers.ours(one)
            await ours.start()
            await peers.block(ours)
            starts.append(time.perf_counter() - started)
            stops.append(await peers.seconds(ours.stop))
            started = time.perf_counter()
            theirs = peers.autogens(two)
            await theirs.start()
            await peers.block(theirs)
            their_starts.append(time.perf_counter() - started)
            if number == 0:
                their_stop = await peers.seconds(theirs.stop)
            else:
                await peers.remove(theirs)
    ms, their_ms = median(starts) * 1000, median(their_starts) * 1000
    once = "theirs once: it waits ten seconds each time"
    return [
        compare("start and first block, ms", ms, their_ms, peers.AUTOGEN, "<= 0.75"),
        compare("stop, ms", median(stops) * 1000, their_stop * 1000, peers.AUTOGEN, "<= 0.02", once),
    ]
