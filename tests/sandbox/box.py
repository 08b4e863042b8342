"""What the tests of the sandbox share: small limits, a run, and the check that nothing is left."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from autogen_core import CancellationToken

from sandbox.base import ExecutionResult, OnOutput, Sandbox
from sandbox.executor import DockerExecutor
from sandbox.policy import SandboxPolicy

IMAGE = os.environ.get("ROUNDTABLE_TEST_IMAGE", "")
"""Another image to try the suite on; empty: the program's own."""

RUNTIME = os.environ.get("ROUNDTABLE_TEST_RUNTIME", "")
"""Another container runtime to try the suite on (`make test-runsc`); empty: the engine's own."""


def only_runc(reason: str) -> pytest.MarkDecorator:
    """Mark a test of what gVisor, which is another kernel, does not have or does in its own way."""
    return pytest.mark.skipif("runsc" in RUNTIME, reason=f"gVisor: {reason}")


COSTS_THE_CONTAINER = only_runc("it costs the container, as test_gvisor.py shows")
NO_NETWORK = only_runc("it is registered without a network, as test_gvisor.py shows")
SMALL = SandboxPolicy(
    image=IMAGE,
    runtime=RUNTIME,
    timeout_s=20,
    memory_mib=256,
    reserve_mib=64,
    workspace_mib=64,
    workspace_inodes=1500,
    tmp_mib=48,
    tmp_inodes=500,
    home_mib=32,
    home_inodes=500,
    shm_mib=32,
    shm_inodes=500,
    pids=64,
    file_size_mib=40,
    open_files=128,
    output_kib=64,
    file_out_mib=8,
    files_out_mib=16,
    files_out=50,
    files_in_mib=16,
)


def policy(**changes: object) -> SandboxPolicy:
    return SandboxPolicy.model_validate(SMALL.model_dump() | changes)


async def run(
    box: Sandbox,
    code: str,
    language: str = "python",
    *,
    token: CancellationToken | None = None,
    on_output: OnOutput | None = None,
) -> ExecutionResult:
    return await box.run(language, code, cancellation_token=token or CancellationToken(), on_output=on_output)


LEFT = """
import json, os
def listed(path):
    return sorted(os.listdir(path))
processes = [name for name in os.listdir('/proc') if name.isdigit() and int(name) not in (1, os.getpid())]
# gVisor has no such lists: there none can be made.
lists = [f'/proc/sysvipc/{name}' for name in ('shm', 'sem', 'msg') if os.path.exists('/proc/sysvipc')]
shared = sum(len(open(name).readlines()) - 1 for name in lists)
print(json.dumps([2 + 2, processes, shared, listed('/tmp'), listed(os.environ['HOME']), listed('/dev/shm')]))
"""


async def check_clean(box: Sandbox) -> None:
    """The sandbox still runs a block, and no process, shared memory or temporary file of an earlier one is left."""
    result = await run(box, "print(2+2)")
    assert (result.exit_code, result.output, result.timed_out, result.oom) == (0, "4\n", False, False), result
    result = await run(box, LEFT)
    four, processes, shared, tmp, home, shm = json.loads(result.output)
    assert (four, processes, shared, tmp, shm) == (4, [], 0, [], [])
    assert set(home) <= {".cache", ".config"}  # what the image keeps ready for matplotlib


async def empty_workspace(box: DockerExecutor) -> None:
    for path in box.work_dir.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    await run(box, "chmod -R u+rwx . 2>/dev/null; find . -mindepth 1 -delete", "bash")


def containers(name: str) -> list[str]:
    """States of the containers that have this name; empty when it is gone."""
    command = ["docker", "ps", "-a", "--filter", f"name={name}", "--format", "{{.State}}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def inspect(name: str, fields: str) -> list[str]:
    """Fields of a container, as `docker inspect --format` gives them."""
    command = ["docker", "inspect", "--format", fields, name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


async def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition comes true in time."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not await asyncio.to_thread(condition):
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


def names(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir()}
