"""AutoGen's local executors: refused unless said each time, said in red, and run through the same door."""

import asyncio
import io
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from autogen_core import CancellationToken
from rich.console import Console

from interfaces.terminal.banner import banner
from interfaces.terminal.outlet import THEME
from sandbox.base import SandboxInfo
from sandbox.choice import open_sandbox, with_kernel
from sandbox.executor import DockerExecutor
from sandbox.local import LocalSandbox
from tests.interfaces.program import KEY, one_line
from tests.interfaces.program import run as run_program
from tests.sandbox import box as boxes
from tests.sandbox.box import run
from utils.errors import ConfigurationError

pytestmark = pytest.mark.slow

RUNTIMES = ("local", "local-kernel")


@pytest_asyncio.fixture(params=RUNTIMES)
async def local(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LocalSandbox]:
    box = LocalSandbox(boxes.policy(runtime=request.param, timeout_s=2), work_dir=tmp_path / "work", i_know=True)
    yield box
    await box.stop()
    await box.stop()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_it_is_refused_unless_said_each_time(runtime: str, tmp_path: Path) -> None:
    settings = tmp_path / "sandbox.yaml"
    settings.write_text(f"runtime: {runtime}\n")
    arguments = ["-t", "x", "--sandbox-file", str(settings)]
    done = run_program(arguments, tmp_path, OPENAI_API_KEY=KEY)
    assert done.returncode == 2
    assert "no sandbox" in one_line(done.stderr)
    assert "--i-know" in one_line(done.stderr)
    with pytest.raises(ConfigurationError):
        open_sandbox(boxes.policy(runtime=runtime), work_dir=tmp_path, environ={})


def test_it_is_said_where_there_is_no_banner(tmp_path: Path) -> None:
    settings = tmp_path / "sandbox.yaml"
    settings.write_text("runtime: local\n")
    arguments = ["-t", "x", "--i-know", "--sandbox-file", str(settings), "--model", "ollama", "--retries", "0"]
    done = run_program(arguments, tmp_path, OLLAMA_BASE_URL="http://127.0.0.1:9/v1")
    assert "NO SANDBOX" in done.stderr


def test_the_banner_says_it_in_red(local: LocalSandbox) -> None:
    class Info:
        model, edited_prompts, session, ask = "m", (), "s", "risky"
        sandbox: SandboxInfo = local.info

    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", theme=THEME, width=100)
    for part in banner(Info(), demo=False, human=True):  # type: ignore[arg-type]  # a class stands for its instance
        console.print(part)
    red = [line for line in console.file.getvalue().splitlines() if "31m" in line]  # type: ignore[attr-defined]
    assert any("NO SANDBOX" in line for line in red)
    assert (local.info.network, set(local.info.limits)) == ("full", {"time a block"})


async def test_a_block_runs_and_its_files_are_told(local: LocalSandbox) -> None:
    live: list[str] = []
    code = "open('out.txt', 'w').write('x')\nimport os\nprint(os.getcwd())"
    result = await run(local, code, on_output=lambda _, text: live.append(text))
    assert result.exit_code == 0
    assert result.output.splitlines()[0] == str(local.work_dir.resolve())
    assert [(change.path, change.size, change.change) for change in result.files] == [("out.txt", 1, "new")]
    assert "".join(live) == result.output
    failed = await run(local, "1/0")
    assert failed.exit_code == 1
    assert "ZeroDivisionError" in failed.output
    assert boxes.names(local.work_dir) == {"out.txt"}


async def test_what_is_kept(local: LocalSandbox) -> None:
    await run(local, "kept = 1")
    result = await run(local, "print(kept)")
    assert (result.exit_code == 0) == local.info.state
    assert local.info.state == (local.info.runtime.startswith("local-kernel"))


async def test_a_time_out(local: LocalSandbox) -> None:
    await run(local, "kept = 1")
    result = await run(local, "import time\ntime.sleep(100)")
    assert (result.exit_code, result.timed_out) == (124, True)
    if local.info.state:
        assert result.notes == ("the kernel was interrupted, its variables are kept",)
        assert (await run(local, "print(kept)")).output.strip() == "1"


async def test_a_cancel(local: LocalSandbox) -> None:
    await local.start()
    token = CancellationToken()
    code = "open('up', 'w').close()\nimport time\ntime.sleep(100)"
    running = asyncio.create_task(run(local, code, token=token))
    assert await boxes.until((local.work_dir / "up").exists, 2)
    before = time.monotonic()
    token.cancel()
    result = await running
    assert time.monotonic() - before < 1
    assert (result.cancelled, result.exit_code) == (True, 130)
    assert (await run(local, "print(2 + 2)")).output.strip() == "4"


async def test_a_dead_kernel_is_renewed_and_said(tmp_path: Path) -> None:
    box = LocalSandbox(boxes.policy(runtime="local-kernel"), work_dir=tmp_path / "work", i_know=True)
    result = await run(box, "import os; os._exit(0)")
    assert result.notes == ("the kernel was restarted, its variables are gone: it ended with the block",)
    assert (await run(box, "print(2 + 2)")).output.strip() == "4"
    await box.stop()


async def test_what_runs_is_what_was_approved(local: LocalSandbox) -> None:
    # AutoGen's executors would add -qqq to this line.
    line = "! pip install nothing-at-all" if local.info.state else 'pip() { echo "$@"; }\npip install x'
    result = await run(local, line, "python" if local.info.state else "bash")
    if local.info.state:
        assert (result.exit_code, result.files) == (1, ())
        assert "not run" in result.notes[0]
    else:
        assert result.output == "install x\n"


@pytest.mark.parametrize("code", ["import sys; print(repr(sys.stdin.read()))", "print(input())"])
async def test_standard_input_is_at_its_end(code: str, local: LocalSandbox) -> None:
    result = await run(local, code)
    assert not result.timed_out
    assert "''" in result.output or "Error" in result.output


async def test_a_link_that_has_the_blocks_name_is_not_written_through(tmp_path: Path) -> None:
    box = LocalSandbox(boxes.policy(runtime="local"), work_dir=tmp_path / "work", i_know=True)
    (tmp_path / "mine.txt").write_text("mine")
    await box.start()
    os.symlink(tmp_path / "mine.txt", box.work_dir / "_block.py")
    assert (await run(box, "print(1)")).output == "1\n"
    assert (tmp_path / "mine.txt").read_text() == "mine"
    refused = await run(box, "# filename: ../mine.txt\nprint(1)")
    assert (refused.exit_code, refused.output) == (1, "Filename is not in the workspace")
    await box.stop()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sandbox.local.find_spec", lambda name: None if name == "nbclient" else object())
    with pytest.raises(ConfigurationError, match=r"nbclient.*pip install 'autogen-ext"):
        LocalSandbox(boxes.policy(runtime="local-kernel"), work_dir=tmp_path, i_know=True)


def test_which_sandbox_a_policy_means(tmp_path: Path) -> None:
    kernel = with_kernel(boxes.policy(warm=True))
    assert (kernel.kernel, kernel.warm) == (True, False)
    assert kernel.digest != boxes.policy(warm=True).digest
    assert isinstance(open_sandbox(kernel, work_dir=tmp_path, environ={}), DockerExecutor)
    notebook = open_sandbox(with_kernel(boxes.policy(runtime="local")), work_dir=tmp_path, environ={}, i_know=True)
    assert notebook.info.state
