"""The executors that ours is timed beside, on the same image and in the same run."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor
from autogen_ext.code_executors.docker import DockerCommandLineCodeExecutor

from sandbox import DockerExecutor, SandboxPolicy
from utils.docker_utils import image_name

AUTOGEN = "AutoGen 0.7.5 Docker executor"
PRINT = "print(2+2)"
IMPORTS = "import numpy, pandas, matplotlib.pyplot\nprint(2+2)"


def ours(directory: str, *, warm: bool = False) -> DockerExecutor:
    """Our executor with the policy as it is shipped, but for the warm start."""
    return DockerExecutor(policy=SandboxPolicy(warm=warm), work_dir=directory)


def autogens(directory: str) -> DockerCommandLineCodeExecutor:
    """AutoGen's executor on our image, so that both start the same interpreter."""
    logging.getLogger("autogen_ext").setLevel(logging.CRITICAL)
    Path(directory).mkdir(exist_ok=True)
    Path(directory).chmod(0o755)  # the image's user must be able to read it
    return DockerCommandLineCodeExecutor(image=image_name(), work_dir=directory)


@asynccontextmanager
async def directory() -> AsyncIterator[str]:
    """A work directory."""
    with TemporaryDirectory() as name:
        yield name


async def block(executor: CodeExecutor, code: str = PRINT, language: str = "python", expected: str = "4\n") -> float:
    """Seconds that a block takes. Raises `RuntimeError` when it does not print what it should."""
    started = time.perf_counter()
    result = await executor.execute_code_blocks([CodeBlock(code=code, language=language)], CancellationToken())
    seconds = time.perf_counter() - started
    if result.exit_code != 0 or (expected and result.output.replace("\r", "") != expected):
        raise RuntimeError(f"{type(executor).__name__}: {result.exit_code} {result.output[:500]!r}")
    return seconds


async def seconds(action: Callable[[], Awaitable[object]]) -> float:
    """Seconds that something takes."""
    started = time.perf_counter()
    await action()
    return time.perf_counter() - started


def bare(command: list[str]) -> float:
    """Seconds that a process takes on the host."""
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


async def docker(*arguments: str) -> str:
    """What a command of Docker's prints; a failure of it is none of the caller's."""
    process = await asyncio.create_subprocess_exec("docker", *arguments, stdout=PIPE, stderr=DEVNULL)
    return (await process.communicate())[0].decode()


async def remove(executor: DockerCommandLineCodeExecutor) -> None:
    """Remove AutoGen's container without its ten seconds of waiting."""
    await docker("rm", "-f", executor.container_name)
    executor._running = False


async def end(executor: DockerCommandLineCodeExecutor) -> None:
    """Stop ours, remove AutoGen's."""
    if isinstance(executor, DockerExecutor):
        await executor.stop()
    else:
        await remove(executor)
