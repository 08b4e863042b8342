"""Abuse cases 53-56: odd output, and what the sandbox does when Docker fails it."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.executor import DockerExecutor
from tests.sandbox import box as boxes
from tests.sandbox.box import run
from utils.errors import ConfigurationError, ImageMissingError, SandboxError

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]


async def test_case_53_output_that_is_no_text(box: DockerExecutor) -> None:
    live: list[str] = []
    pieces = [(1, b"a\xff\0b\n"), (2, b"\xe2\x98"), (2, b"\x83"), (1, b"\xe2")]
    code = f"import os\nfor piece in {pieces}: os.write(*piece)"
    result = await run(box, code, on_output=lambda _, text: live.append(text))
    assert result.exit_code == 0
    assert "a\ufffd\x00b\n" in result.output
    assert "☃" in result.output
    assert result.output.endswith("\ufffd")
    assert "".join(live) == result.output


@contextlib.asynccontextmanager
async def proxy(path: Path) -> AsyncIterator[set[asyncio.StreamWriter]]:
    """A socket that leads to the real engine, until its connections are cut."""
    open_now: set[asyncio.StreamWriter] = set()
    tasks: set[asyncio.Task[None]] = set()

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        engine_reader, engine_writer = await asyncio.open_unix_connection("/var/run/docker.sock")
        open_now.update((writer, engine_writer))
        for pair in ((reader, engine_writer), (engine_reader, writer)):
            tasks.add(asyncio.create_task(copy(*pair)))

    server = await asyncio.start_unix_server(serve, path)
    try:
        yield open_now
    finally:
        server.close()
        for writer in open_now:
            writer.transport.abort()
        await asyncio.gather(*tasks)


# docker-py leaves the sockets of connections that were refused to the garbage collector.
refused_sockets = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@refused_sockets
async def test_case_54_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    executor = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path / "work")
    with pytest.raises(SandboxError, match="No Docker engine"):
        await executor.start()
    await executor.stop()
    gc.collect()


@refused_sockets
async def test_case_54_the_engine_stops_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path / "work")
    started = asyncio.Event()
    async with proxy(tmp_path / "engine.sock") as connections:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
        await executor.start()
        await run(executor, "echo one > kept.txt", "bash")
        code = "echo two > lost.txt; echo started; sleep 100"
        running = asyncio.create_task(run(executor, code, "bash", on_output=lambda *_: started.set()))
        await started.wait()
        for writer in connections:
            writer.transport.abort()
        with pytest.raises(SandboxError, match="ended in the middle"):
            await running
    with pytest.raises(SandboxError):
        await run(executor, "echo still no engine", "bash")
    # Nothing was run again by itself; with the engine back, a fresh sandbox has what had come back.
    monkeypatch.delenv("DOCKER_HOST")
    result = await run(executor, "ls", "bash")
    assert result.output == "_block.sh\nkept.txt\n"
    assert any("fresh sandbox" in note for note in result.notes)
    await executor.stop()
    gc.collect()
    assert await boxes.until(lambda: boxes.containers(executor.container_name) == [], 5)


async def test_case_55_the_image_is_missing(tmp_path: Path) -> None:
    executor = DockerExecutor("roundtable-no-such-image:1", policy=boxes.SMALL, work_dir=tmp_path)
    with pytest.raises(ImageMissingError, match="docker pull roundtable-no-such-image:1"):
        await executor.start()
    assert boxes.containers(executor.container_name) == []


async def test_case_56_the_container_is_removed_from_outside(own_box: DockerExecutor) -> None:
    await run(own_box, "echo one > kept.txt", "bash")
    started = asyncio.Event()
    running = asyncio.create_task(run(own_box, "echo hi; sleep 100", "bash", on_output=lambda *_: started.set()))
    await started.wait()
    remove = await asyncio.create_subprocess_exec(
        "docker", "rm", "-f", own_box.container_name, stdout=asyncio.subprocess.DEVNULL
    )
    await remove.wait()
    with pytest.raises(SandboxError, match="ended in the middle"):
        await running
    result = await run(own_box, "cat kept.txt", "bash")
    assert result.output == "one\n"
    assert any("fresh sandbox" in note for note in result.notes)


async def test_an_unknown_runtime_is_a_configuration_error(tmp_path: Path) -> None:
    executor = DockerExecutor(policy=boxes.policy(runtime="runsc-that-is-not-there"), work_dir=tmp_path)
    with pytest.raises(ConfigurationError, match="Docker does not know the runtime runsc-that-is-not-there"):
        await executor.start()
    with pytest.raises(ConfigurationError, match="does not know the runtime"):  # no block falls back to another one
        await boxes.run(executor, "print(1)")
    assert boxes.containers(executor.container_name) == []


async def test_more_processors_than_there_are(tmp_path: Path) -> None:
    executor = DockerExecutor(policy=boxes.policy(cpus=500), work_dir=tmp_path)
    with pytest.raises(ConfigurationError, match="CPU"):
        await executor.start()
