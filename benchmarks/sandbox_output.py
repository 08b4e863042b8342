"""Output: what 100 MB of it cost the host, and how long the first live byte takes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

from autogen_core import CancellationToken

from benchmarks import peers
from benchmarks.rows import Row, absolute, median

HUNDRED_MB = "import sys\nfor _ in range(100): sys.stdout.write('x' * 999_999 + '\\n')"

MEMORY = """
import asyncio, resource, sys
from benchmarks import peers

async def main() -> None:
    async with peers.directory() as directory:
        box = getattr(peers, sys.argv[1])(directory)
        await box.start()
        await peers.block(box)
        idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await peers.block(box, sys.argv[2], expected="")
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - idle) * 1024 / 1e6)
        await peers.end(box)

asyncio.run(main())
"""
"""Each in a process of its own: a peak is never given back."""


def measure() -> list[Row]:
    """The rows."""
    ours, theirs = _memory("ours"), _memory("autogens")
    first = asyncio.run(_first_byte())
    return [
        absolute("100 MB of output, host memory above idle, MB", ours, "<= 16 MB", theirs, peers.AUTOGEN),
        absolute("first live output after it is printed, ms", first * 1000, "<= 50 ms", note="AutoGen's shows none"),
    ]


def _memory(name: str) -> float:
    root = Path(__file__).resolve().parent.parent
    command = [sys.executable, "-c", MEMORY, name, HUNDRED_MB]
    return float(subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout)


async def _first_byte() -> float:
    """Seconds between the print and the call of `on_output`; container and host share one clock."""
    delays: list[float] = []
    code = "import time\nprint(time.time())\ntime.sleep(0.2)\nprint('end')"
    async with peers.directory() as directory, peers.ours(directory) as box:
        for _ in range(16):
            heard: list[float] = []

            def take(_: object, text: str, heard: list[float] = heard) -> None:
                if not heard:
                    heard.append(time.time() - float(text.split()[0]))

            await box.run("python", code, cancellation_token=CancellationToken(), on_output=take)
            delays.append(heard[0])
    return median(delays)
