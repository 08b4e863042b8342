"""The executor in a program of one's own: started, stopped, cancelled, loaded and left, as AutoGen's is."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor

from sandbox import DockerExecutor
from tests.sandbox import box as boxes
from utils.errors import ConfigurationError, SandboxError

pytestmark = [pytest.mark.docker]

ROOT = Path(__file__).resolve().parents[2]


async def execute(
    executor: CodeExecutor, code: str, language: str = "python", token: CancellationToken | None = None
) -> Any:
    block = CodeBlock(language=language, code=code)
    return await executor.execute_code_blocks([block], token or CancellationToken())


def running(executor: DockerExecutor, code: str, token: CancellationToken | None = None) -> "asyncio.Task[Any]":
    return asyncio.create_task(execute(executor, code, "bash", token))


async def test_a_cancelled_call_does_not_wait_for_its_turn(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as own:
        token = CancellationToken()
        first = running(own, "sleep 3; echo first")
        second = running(own, "echo second > ran", token)
        third = running(own, "echo third")
        await asyncio.sleep(0.2)
        token.cancel()
        result = await asyncio.wait_for(second, 1)
        assert (result.exit_code, result.output) == (130, "Code execution was cancelled.")
        third.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(third, 1)
        assert not first.done()
        assert (await first).output == "first\n"
        assert boxes.names(tmp_path) == set()
        assert (await execute(own, "print(4)")).output == "4\n"


async def test_a_token_may_be_cancelled_in_another_thread(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as own:
        token = CancellationToken()
        calls = [running(own, "sleep 100", token), running(own, "echo second > ran", token)]
        await asyncio.sleep(0.3)
        asyncio.get_running_loop().set_debug(True)  # it then refuses what is not thread-safe
        await asyncio.to_thread(token.cancel)
        results = await asyncio.wait_for(asyncio.gather(*calls), 1)
        assert [result.exit_code for result in results] == [130, 130]
        assert boxes.names(tmp_path) == set()


@pytest.mark.parametrize("end", ["stop", "restart"])
async def test_a_stop_ends_what_runs_and_what_waits(end: str, tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as own:
        calls = [running(own, "echo one; sleep 100"), running(own, "echo two; sleep 100")]
        await asyncio.sleep(0.3)
        await asyncio.wait_for(getattr(own, end)(), 5)
        results = await asyncio.wait_for(asyncio.gather(*calls), 1)
        assert [result.exit_code for result in results] == [130, 130]
        assert (results[0].output, results[1].output) == (
            "one\nCode execution was cancelled.",
            "Code execution was cancelled.",
        )
        if end == "restart":
            assert (await execute(own, "print(5)")).output == "5\n"
        else:
            with pytest.raises(ValueError, match="Must first be started"):
                await execute(own, "print(5)")
    assert boxes.containers(own.container_name) == []


async def test_a_cancelled_start_leaves_no_container(tmp_path: Path) -> None:
    own = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path)
    for seconds in (0.002, 0.01, 0.02, 0.04, 0.08):
        # A quick machine may have started it in that time.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(own.start(), seconds)
        await own.stop()
        assert boxes.containers(own.container_name) == []
    await own.start()
    assert (await execute(own, "print(1)")).output == "1\n"
    await own.stop()
    assert boxes.containers(own.container_name) == []


async def test_a_failed_start_leaves_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own = DockerExecutor(image="an-image-that-is-not-there:1")
    with pytest.raises(SandboxError, match="is not there"):
        await own.start()
    assert os.listdir(tmp_path) == []


PROGRAM = """
import asyncio
import sys
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock
from sandbox import DockerExecutor

executor = DockerExecutor(container_name=sys.argv[1])

async def run(code):
    block = CodeBlock(language="python", code=code)
    result = await executor.execute_code_blocks([block], CancellationToken())
    return result.output

async def used_and_not_stopped():
    await executor.start()
    print(await asyncio.gather(run("print(1)"), run("print(2)")), executor.work_dir)

async def again():
    try:
        await run("print(3)")
    except ValueError as error:
        print(error)
    async with executor:
        print(await asyncio.gather(run("print(4)"), run("print(5)")))

asyncio.run(used_and_not_stopped())
asyncio.run(again())
"""


def test_it_ends_with_its_event_loop_and_starts_in_another(tmp_path: Path) -> None:
    name = f"roundtable-loops-{os.getpid()}"
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", PROGRAM, name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    first, refused, second = done.stdout.splitlines()
    assert first.startswith("['1\\n', '2\\n'] ")
    assert not Path(first.split()[-1]).exists()
    assert "Must first be started" in refused
    assert second == "['4\\n', '5\\n']"
    # asyncio's debug mode also tells what was slow.
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if not line.startswith("Executing ")] == []
    assert boxes.containers(name) == []


async def test_a_second_event_loop_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as own:
        with pytest.raises(SandboxError, match="another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(execute(own, "print(1)")))
        assert (await execute(own, "print(2)")).output == "2\n"


def triple(number: int) -> int:
    """Three times the number."""
    return 3 * number


async def test_functions_need_a_start_and_are_there_after_the_next_one() -> None:
    own = DockerExecutor(policy=boxes.SMALL, functions=[triple])
    with pytest.raises(ValueError, match="Must first be started"):
        await execute(own, "print(1)")
    assert boxes.containers(own.container_name) == []
    code = "from functions import triple\nprint(triple(3))"
    async with own:
        token = CancellationToken()
        token.cancel()
        assert (await execute(own, code, token=token)).output == "Code execution was cancelled."
        assert (await execute(own, code)).output == "9\n"
    async with own:
        assert (await execute(own, code)).output == "9\n"


async def test_the_code_file_is_one_that_is_there(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as own:
        assert (await execute(own, "print(1)")).code_file is None
        blocks = [CodeBlock(language="python", code=f"{line}print(1)") for line in ("", "# filename: deep/made.py\n")]
        result = await own.execute_code_blocks(blocks, CancellationToken())
        assert result.code_file == str(tmp_path / "deep" / "made.py")
        assert (tmp_path / "deep" / "made.py").read_text() == "# filename: deep/made.py\nprint(1)"


async def test_temporary_files_are_deleted_and_yours_are_kept(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("# mine")
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path, delete_tmp_files=True) as own:
        result = await execute(own, "# filename: made.py\nopen('result', 'w').write('x')")
        assert (result.exit_code, result.code_file) == (0, None)
        await execute(own, "# filename: mine.py\nprint(1)")
        assert boxes.names(tmp_path) == {"mine.py", "result"}
        assert (await execute(own, "ls", "bash")).output == "_block.sh\nmine.py\nresult\n"


async def test_what_stays_behind_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(5):
        (tmp_path / f"file{number}").write_text("x")
    async with DockerExecutor(policy=boxes.policy(files_in=3), work_dir=tmp_path) as own:
        assert (await execute(own, "ls", "bash")).output == "_block.sh\nfile0\nfile1\nfile2\n"
        (record,) = caplog.records
        assert record.name == "sandbox"
        assert record.getMessage() == "stayed behind: file3: more than 3 files; file4: more than 3 files"
        await execute(own, "# filename: -c\nprint(1)")
        assert "the file name '-c' was refused" in caplog.text


async def test_a_relative_work_directory_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = DockerExecutor(policy=boxes.SMALL, work_dir="out")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    async with own:
        await execute(own, "echo x > made", "bash")
    assert boxes.names(tmp_path) == {"out/made"}


async def test_a_work_directory_that_goes(tmp_path: Path) -> None:
    own = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    async with own:
        await execute(own, "echo x > made", "bash")
        assert boxes.names(tmp_path) == {"out/made"}
        shutil.rmtree(tmp_path / "out")
        with pytest.raises(SandboxError, match=r"The work directory .*out cannot be used: No such file"):
            await execute(own, "print(1)")
        assert (await execute(own, "ls", "bash")).output == "_block.sh\n"


async def test_a_block_that_is_too_long_is_refused_and_the_sandbox_is_kept(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as own:
        before = boxes.inspect(own.container_name, "{{.Id}}")
        longest = "'''" + "é" * ((7 << 20) // 2 - 10) + "'''\nprint(1)"
        assert (await execute(own, longest)).output == "1\n"
        result = await execute(own, longest + "     # more")
        assert (result.exit_code, result.output) == (1, "A block may be 7 MiB long, not more")
        assert boxes.inspect(own.container_name, "{{.Id}}") == before


@pytest.mark.parametrize("name", ["a b", "x/../y", "a\r\nX: y", "a?b=c", "-x", "é"])
def test_a_name_that_would_be_something_else_in_a_request_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="container_name"):
        DockerExecutor(work_dir=tmp_path, container_name=name)


async def test_two_that_are_loaded_from_one_dump_do_not_meet(tmp_path: Path) -> None:
    own = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path)
    dumped = json.loads(own.dump_component().model_dump_json())
    async with own, CodeExecutor.load_component(dumped) as first, CodeExecutor.load_component(dumped) as second:
        for executor in (own, first, second, own):
            assert (await execute(executor, "print(1)")).output == "1\n"


@boxes.NO_NETWORK
async def test_extra_hosts_are_known_where_there_is_a_network(tmp_path: Path) -> None:
    hosts = {"far-away": "10.1.2.3"}
    policy = boxes.policy(network="full", packages={"size_mib": 0})
    async with DockerExecutor(policy=policy, work_dir=tmp_path, extra_hosts=hosts) as own:
        assert (await execute(own, "getent hosts far-away", "bash")).output.split() == ["10.1.2.3", "far-away"]
    asking = DockerExecutor(policy=boxes.policy(network="ask"), work_dir=tmp_path, extra_hosts=hosts)
    async with asking:
        assert (await execute(asking, "getent hosts far-away", "bash")).exit_code == 2
        result = await asking.run("bash", "getent hosts far-away", cancellation_token=CancellationToken(), network=True)
        assert result.output.split() == ["10.1.2.3", "far-away"]


@boxes.COSTS_THE_CONTAINER
async def test_want_of_memory_is_said(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as own:
        result = await execute(own, "print('before')\nx = bytearray(1 << 30)")
        assert (result.exit_code, result.output) == (137, "before\n\n Out of memory, of which there are 256 MiB")
