"""What every sandbox promises to the agents: one suite for the real one and for the fake.

Each test brings a script for the fake; the real one runs the code.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from autogen_core import CancellationToken

from sandbox.base import Sandbox
from sandbox.executor import DockerExecutor
from sandbox.fake import FakeSandbox, Scripted, ScriptError
from tests.sandbox.box import SMALL, policy, run
from utils.errors import SandboxError

Make = Callable[..., Sandbox]


REAL = [pytest.param(name, marks=pytest.mark.docker) for name in ("docker", "kernel")]


@pytest_asyncio.fixture(params=["fake", *REAL])
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    made: list[Sandbox] = []

    def build(*script: Scripted) -> Sandbox:
        work_dir = tmp_path / "work"
        if request.param == "fake":
            made.append(FakeSandbox(script, work_dir=work_dir, policy=SMALL))
        else:
            used = policy(kernel=True) if request.param == "kernel" else SMALL
            made.append(DockerExecutor(policy=used, work_dir=work_dir))
        return made[-1]

    yield build
    for box in made:
        await box.stop()
        await box.stop()


async def test_info_and_languages_are_known_before_the_start(make: Make) -> None:
    box = make()
    assert box.info.languages[:3] == ("python", "bash", "sh")
    assert (box.languages["py"], box.languages["shell"], box.languages["js"]) == ("python", "bash", "javascript")
    assert set(box.languages.values()) == set(box.info.languages)
    assert (box.info.network, box.info.timeout_s) == ("none", SMALL.timeout_s)
    assert box.info.policy == policy(kernel=box.info.state).digest
    assert box.info.limits["memory"] == "256 MiB"
    assert "numpy" in box.info.packages


async def test_output_is_live_and_whole(make: Make) -> None:
    box = make(Scripted(output="4\n"))
    live: list[tuple[str, str]] = []
    await box.start()
    await box.start()
    result = await run(box, "print(2+2)", on_output=lambda stream, text: live.append((stream, text)))
    assert (result.exit_code, result.output) == (0, "4\n")
    assert {stream for stream, _ in live} == {"stdout"}
    assert "".join(text for _, text in live) == "4\n"
    assert [result.truncated, result.timed_out, result.oom, result.cancelled] == [False] * 4


async def test_a_failure_of_the_program_is_a_result(make: Make) -> None:
    box = make(Scripted(exit_code=3, code="exit"))
    result = await run(box, "exit 3", "bash")
    assert (result.exit_code, result.signal, result.files) == (3, 0, ())


async def test_a_file_comes_back(make: Make) -> None:
    box = make(Scripted(files={"out/data.txt": b"hello"}))
    result = await run(box, "import os; os.mkdir('out'); open('out/data.txt', 'w').write('hello')")
    [change] = result.files
    assert (change.path, change.size, change.change) == ("out/data.txt", 5, "new")
    assert change.sha256 == hashlib.sha256(b"hello").hexdigest()
    assert (box.work_dir / "out/data.txt").read_text() == "hello"


async def test_a_cancel_stops_the_block_within_a_second(make: Make) -> None:
    box = make(Scripted(output="up\n", hangs=True), Scripted(output="next\n"))
    token = CancellationToken()
    up = asyncio.Event()
    running = asyncio.create_task(run(box, "echo up; sleep 100", "bash", token=token, on_output=lambda *_: up.set()))
    await up.wait()
    token.cancel()
    result = await asyncio.wait_for(running, 1)
    assert (result.cancelled, result.exit_code, result.output) == (True, 130, "up\n")
    assert (await run(box, "echo next", "bash")).output == "next\n"


async def test_a_token_that_is_cancelled_already(make: Make) -> None:
    token = CancellationToken()
    token.cancel()
    result = await run(make(Scripted()), "touch ran", "bash", token=token)
    assert (result.cancelled, result.files) == (True, ())


async def test_a_language_that_is_not_there(make: Make) -> None:
    box = make()
    with pytest.raises(SandboxError, match="full image"):
        await run(box, "fn main() {}", "rust")
    with pytest.raises(SandboxError, match="Unsupported language: cobol"):
        await run(box, "STOP RUN.", "cobol")


async def test_files_are_put_in_but_hidden_ones(make: Make, tmp_path: Path) -> None:
    box = make()
    (tmp_path / "data.csv").write_text("1,2\n")
    (tmp_path / ".env").write_text("KEY=x")
    left = await box.put_files([tmp_path / "data.csv", tmp_path / ".env"])
    assert left == (".env: hidden",)
    assert (box.work_dir / "data.csv").read_text() == "1,2\n"


async def test_stop_without_a_start(make: Make) -> None:
    await make().stop()


async def test_the_fake_fails_loudly(tmp_path: Path) -> None:
    fake = FakeSandbox([Scripted(code="print")], work_dir=tmp_path)
    with pytest.raises(ScriptError, match="foresees"):
        await run(fake, "import os")
    with pytest.raises(ScriptError, match="at its end"):
        await run(fake, "print(1)")
    unplayed = FakeSandbox([Scripted()], work_dir=tmp_path)
    with pytest.raises(ScriptError, match="never played"):
        unplayed.check_finished()
    failing = FakeSandbox([Scripted(error=SandboxError("gone"))], work_dir=tmp_path)
    with pytest.raises(SandboxError, match="gone"):
        await run(failing, "print(1)")


async def test_what_the_image_has_is_not_lacking(make: Make) -> None:
    box = make()
    assert box.lacks(["numpy", "Pandas>=1"]) == ()
    assert box.lacks(["numpy<1", "no-such-package"]) == ("numpy<1", "no-such-package")


async def test_a_network_where_the_policy_has_none_is_the_sandboxs_failure(make: Make) -> None:
    box = make(Scripted())
    with pytest.raises(SandboxError, match="No block may have a network"):
        await box.run("bash", "echo ran", cancellation_token=CancellationToken(), network=True)


async def test_an_installation_that_is_cancelled_already(make: Make) -> None:
    token = CancellationToken()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await make().install(["no-such-package"], cancellation_token=token)
