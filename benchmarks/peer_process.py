"""Another executor as a process: one request in, one timing out."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks import peers
from benchmarks.jupyter_peer import NoPeerError
from benchmarks.peer_environment import Peer, python_of

DRIVER = Path(__file__).with_name("peer_driver.py")
ANSWER_S = 120.0
"""Its longest wait: to stop a container takes one of them ten seconds."""
TRIES = 3
PASSED_ON = (
    "PATH",
    "HOME",
    "TMPDIR",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
)
"""Of the environment: other people's code is given no keys."""


class PeerProcess:
    """A running driver."""

    def __init__(self, peer: Peer, process: Process, label: str) -> None:
        self._peer = peer
        self._process = process
        self._label = label
        self.lost = 0
        """Blocks that came back well, but without what they printed."""

    async def start(self) -> float:
        """Seconds until its container is ready."""
        return (await self._ask({"do": "start"}))[0]

    async def block(self, code: str) -> float:
        """Seconds that a block takes which prints 4; one whose output is lost on the way is run again, and counted."""
        for _ in range(TRIES):
            seconds, output = await self._ask({"do": "block", "code": code})
            if output.split() == ["4"]:
                return seconds
            if output:
                break
            self.lost += 1
        raise NoPeerError(f"{self._peer.name} answered {output[:200]!r}")

    async def stop(self) -> float:
        """Seconds that it takes to end its container."""
        return (await self._ask({"do": "stop"}))[0]

    async def remove(self) -> None:
        """Remove its containers, without its own way of doing so."""
        found = await peers.docker("ps", "--all", "--quiet", "--filter", f"label={self._label}")
        if found:
            await peers.docker("rm", "--force", *found.split())

    async def end(self) -> None:
        """End the driver and remove what it left."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self.remove()

    async def _ask(self, request: dict[str, str]) -> tuple[float, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            await self._process.stdin.drain()
            line = await asyncio.wait_for(self._process.stdout.readline(), ANSWER_S)
        except (OSError, asyncio.TimeoutError) as error:
            raise NoPeerError(f"{self._peer.name} did not answer to {request['do']}: {error!r}") from error
        answer = json.loads(line or '{"error": "its process ended"}')
        if "error" in answer:
            raise NoPeerError(f"{self._peer.name}, {request['do']}: {answer['error']}")
        return float(answer["seconds"]), str(answer["output"])


@asynccontextmanager
async def running(peer: Peer, image: str, python: str = "") -> AsyncIterator[PeerProcess]:
    """A driver with no container yet; nothing of it is left at the end. Raises `NoPeerError`.

    `python`: one that has the peer; empty: the environment that is made for it.
    """
    label = f"roundtable.bench.{uuid.uuid4().hex}"
    process = await asyncio.create_subprocess_exec(
        *(python or python_of(peer), "-I", str(DRIVER), peer.driver, image, label),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
    )
    theirs = PeerProcess(peer, process, label)
    try:
        yield theirs
    finally:
        await theirs.end()
