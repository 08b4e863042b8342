"""`doctor --attack`: ten abuse cases against the user's own sandbox, each of which must be contained."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from autogen_core import CancellationToken

from interfaces.terminal.attacks import ATTACKS, Attack, Scene
from sandbox.executor import DockerExecutor
from sandbox.policy import load_policy
from utils.errors import SandboxError
from utils.settings import Settings

TIMEOUT_S = 3
"""Time limit of a block while the attacks run, in place of sandbox.yaml's where that is longer; seconds."""
PROCESSES = "set -- /proc/[0-9]*; echo alive $#"
MOST_PROCESSES = 6
"""A supervisor, this block, and where it is on a warm interpreter or a kernel with its helpers."""


@dataclass(frozen=True)
class Outcome:
    """How one attack ended."""

    attack: Attack
    contained: bool
    text: str
    duration_s: float


@dataclass
class _Service:
    """A service of this machine that nothing in the sandbox may reach."""

    port: int = 0
    visits: list[str] = field(default_factory=list)


async def play(settings: Settings) -> AsyncIterator[Outcome]:
    """Play the attacks, one after the other, in one sandbox made from sandbox.yaml.

    Raises `ConfigurationError`, and `SandboxError` where there is no sandbox to attack.
    """
    policy = load_policy(settings.sandbox_file)
    policy = policy.model_copy(update={"timeout_s": min(policy.timeout_s, TIMEOUT_S)})
    with tempfile.TemporaryDirectory(prefix="roundtable-attack-") as folder:
        work_dir = Path(folder) / "deep" / "work"
        work_dir.mkdir(parents=True)
        box = DockerExecutor(policy=policy, work_dir=work_dir, environ=settings.environ)
        async with _service() as service:
            scene = Scene(
                policy, settings.environ, work_dir, lambda: len(service.visits), service.port, _own_addresses()
            )
            try:
                await box.start()
                for attack in ATTACKS:
                    yield await _play_one(box, attack, scene)
            finally:
                await box.stop()


async def _play_one(box: DockerExecutor, attack: Attack, scene: Scene) -> Outcome:
    code = attack.code.replace("@PORT@", str(scene.port)).replace("@ADDRESSES@", " ".join(scene.addresses))
    started = time.monotonic()
    try:
        result = await box.run(attack.language, code, cancellation_token=CancellationToken())
        wrong, text = attack.judge(result, scene), attack.contained(result)
    except SandboxError:
        wrong, text = "", "seen, and that sandbox thrown away"
    wrong = wrong or await _what_is_left(box)
    return Outcome(attack, not wrong, wrong or text, time.monotonic() - started)


async def _what_is_left(box: DockerExecutor) -> str:
    """The sandbox must still work, with nothing of the attack in it."""
    try:
        result = await box.run("bash", PROCESSES, cancellation_token=CancellationToken())
    except SandboxError as error:
        return f"afterwards the sandbox did not work any more: {error}"
    words = result.output.split()
    if result.exit_code != 0 or len(words) != 2 or words[0] != "alive":
        return f"afterwards the sandbox did not work any more: {result.output.strip()[:70]}"
    return "" if int(words[1]) <= MOST_PROCESSES else f"afterwards {words[1]} processes are left"


@contextlib.asynccontextmanager
async def _service() -> AsyncIterator[_Service]:
    """Listen on every address of this machine, as a careless database does, and note who comes."""
    service = _Service()

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        service.visits.append(str(writer.get_extra_info("peername")))
        writer.close()

    server = await asyncio.start_server(visit, "0.0.0.0", 0)
    service.port = int(server.sockets[0].getsockname()[1])
    try:
        yield service
    finally:
        server.close()
        await server.wait_closed()


def _own_addresses() -> tuple[str, ...]:
    """Addresses under which this machine might be reached from a container."""
    found = ["127.0.0.1", "172.17.0.1", "host.docker.internal"]
    for target in ("192.0.2.1", "172.17.0.1"):  # asks the routing table only, sends nothing
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            found.append(str(probe.getsockname()[0]))
    return tuple(dict.fromkeys(found))
