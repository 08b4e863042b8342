"""Case 54 on an engine of its own, which is really stopped in the middle of a block and started again."""

import asyncio
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sandbox.executor import DockerExecutor
from tests.sandbox import box as boxes
from tests.sandbox.box import run
from utils.docker_utils import image_name
from utils.errors import SandboxError

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    # docker-py leaves the sockets of connections that were refused to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0 or shutil.which("dockerd") is None,
        reason="takes root and dockerd; without them the case is tested with a socket that is cut",
    ),
]


class Engine:
    """A dockerd beside the machine's own, without a network."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: asyncio.subprocess.Process | None = None
        self.host = f"unix://{directory}/docker.sock"

    async def start(self) -> None:
        place = self._directory
        self._process = await asyncio.create_subprocess_exec(
            # In a network of its own: without a bridge it would take that of the machine's engine away.
            "unshare", "--net", "dockerd",
            f"--data-root={place}/data", f"--exec-root={place}/exec", f"--pidfile={place}/pid",
            f"--host={self.host}", "--bridge=none", "--iptables=false", "--ip-forward=false",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        assert await boxes.until(self._answers, 60), "dockerd does not answer"

    def _answers(self) -> bool:
        return subprocess.run(["docker", "-H", self.host, "info"], capture_output=True, check=False).returncode == 0

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()

    def containers(self) -> list[str]:
        command = ["docker", "-H", self.host, "ps", "-aq"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@asynccontextmanager
async def engine() -> AsyncIterator[Engine]:
    # Not pytest's directory, which stays for a while: the image takes a gigabyte.
    with TemporaryDirectory() as place:
        one = Engine(Path(place))
        try:
            await one.start()
            yield one
        finally:
            await one.stop()


async def copy_image(target: str) -> None:
    process = await asyncio.create_subprocess_shell(f"docker save {image_name()} | docker -H {target} load")
    assert await process.wait() == 0


async def test_case_54_the_engine_is_stopped_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with engine() as own:
        await copy_image(own.host)
        monkeypatch.setenv("DOCKER_HOST", own.host)
        policy = boxes.SMALL.model_copy(update={"runtime": ""})
        executor = DockerExecutor(policy=policy, work_dir=tmp_path)
        await executor.start()
        await run(executor, "echo one > kept.txt", "bash")
        started = asyncio.Event()
        code = "echo two >> runs.txt; echo started; sleep 100"
        running = asyncio.create_task(run(executor, code, "bash", on_output=lambda *_: started.set()))
        await started.wait()
        await own.stop()
        with pytest.raises(SandboxError, match="ended in the middle"):
            await running
        with pytest.raises(SandboxError, match="Docker"):
            await run(executor, "echo still no engine", "bash")
        await own.start()
        result = await run(executor, "ls; cat kept.txt", "bash")
        assert result.output == "_block.sh\nkept.txt\none\n"
        assert any("fresh sandbox" in note for note in result.notes)
        await executor.stop()
        gc.collect()
        assert await boxes.until(lambda: own.containers() == [], 10)
