"""AutoGen's Jupyter executor in Docker, on our image with a Jupyter kernel gateway in it."""

from __future__ import annotations

import asyncio
import hashlib
import platform
import subprocess
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock
from docker.errors import DockerException

from benchmarks import peers
from utils.docker_utils import image_name
from utils.wheels import platforms, python_with_pip

if TYPE_CHECKING:
    from autogen_ext.code_executors.docker_jupyter import DockerJupyterCodeExecutor

NAME = "AutoGen 0.7.5 Jupyter in Docker"
_GATEWAY = "jupyter-kernel-gateway==3.0.1"
_DOCKERFILE = """\
FROM {image}
USER root
COPY wheels /wheels
RUN python3 -m pip install -q --no-index --find-links /wheels {gateway} && rm -r /wheels
USER 1000:1000
ENV TOKEN=UNSET
CMD exec python3 -m jupyter kernelgateway --KernelGatewayApp.ip=0.0.0.0 --KernelGatewayApp.port=8888 \\
    --KernelGatewayApp.auth_token="$TOKEN" --JupyterApp.answer_yes=true --JupyterWebsocketPersonality.list_kernels=true
EXPOSE 8888
"""
"""What AutoGen's own Dockerfile adds to its base image."""
READY_S = 60.0


class NoPeerError(Exception):
    """It cannot be had on this machine; the message says why."""


def image() -> str:
    """Name of the image, built where it is missing. Raises `NoPeerError`."""
    recipe = _DOCKERFILE.format(image=image_name(), gateway=_GATEWAY)
    name = f"roundtable-bench-jupyter:{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    if subprocess.run(["docker", "image", "inspect", name], capture_output=True, check=False).returncode == 0:
        return name
    with TemporaryDirectory() as scratch:
        fetch = [python_with_pip(Path(scratch)), "-m", "pip", "download", "-q", "--only-binary=:all:"]
        fetch += [
            "--implementation=cp",
            f"--python-version={_python()}",
            "--dest",
            f"{scratch}/context/wheels",
            _GATEWAY,
        ]
        _run([*fetch, *(f"--platform={name}" for name in platforms(platform.machine()))], "its wheels")
        Path(scratch, "context", "Dockerfile").write_text(recipe)
        _run(["docker", "build", "-q", "-t", name, f"{scratch}/context"], "its image")
    return name


def _python() -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    command = ["docker", "run", "--rm", "--network=none", image_name(), "python3", "-c", code]
    return _run(command, "the version of the image's Python").strip()


def _run(command: list[str], what: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        raise NoPeerError(f"{what} could not be had: {last[:200]}")
    return done.stdout


async def block(box: DockerJupyterCodeExecutor, code: str) -> float:
    """Seconds that a block takes which prints 4; AutoGen may put another end of line between the pieces of one."""
    started = time.perf_counter()
    result = await box.execute_code_blocks([CodeBlock(code=code, language="python")], CancellationToken())
    seconds = time.perf_counter() - started
    if result.exit_code != 0 or result.output.split() != ["4"]:
        raise NoPeerError(f"it answered {result.exit_code} {result.output[:200]!r}")
    return seconds


@asynccontextmanager
async def executor(name: str) -> AsyncIterator[DockerJupyterCodeExecutor]:
    """A started executor; its container is killed at the end. Raises `NoPeerError`."""
    try:
        from autogen_ext.code_executors.docker_jupyter import DockerJupyterCodeExecutor, DockerJupyterServer
    except ImportError as error:
        raise NoPeerError(f"{error.name} is missing: pip install 'autogen-ext[docker-jupyter-executor]'") from error
    container = f"roundtable-bench-{uuid.uuid4().hex}"
    try:
        try:
            server = DockerJupyterServer(custom_image_name=name, container_name=container, stop_container=False)
        except (DockerException, LookupError, TypeError) as error:  # the last two where the engine publishes no port
            raise NoPeerError(f"its container does not start: {error}") from error
        with TemporaryDirectory() as directory:
            box = DockerJupyterCodeExecutor(server, output_dir=Path(directory))
            try:
                address = server.connection_info
                await until_up(address.host, address.port, address.token)
                await box.start()
                yield box
            finally:
                await box.stop()
    finally:
        await peers.docker("rm", "--force", container)


async def until_up(host: str, port: int | None, token: str | None) -> None:
    """Wait until its gateway answers: its own `start` gives up before, with a warning for each of its retries.

    Raises `NoPeerError`.
    """
    deadline = time.monotonic() + READY_S
    while True:
        try:
            return await asyncio.to_thread(_ask, host, port, token)
        except (OSError, HTTPException) as error:
            if time.monotonic() > deadline:
                raise NoPeerError(f"its gateway does not answer: {error}") from error
            await asyncio.sleep(0.05)


def _ask(host: str, port: int | None, token: str | None) -> None:
    """Ask for what its `start` asks for first. Raises `OSError` or `HTTPException`."""
    connection = HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/api/kernelspecs", headers={"Authorization": f"token {token}"})
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise HTTPException(f"{response.status} {response.reason}")
    finally:
        connection.close()
