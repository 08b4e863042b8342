"""Abuse cases 1-12 on the real sandbox: what a block tries to use up."""

import tracemalloc
from pathlib import Path

import pytest
from autogen_core import CancellationToken

from sandbox.executor import DockerExecutor
from tests.sandbox import box as boxes
from tests.sandbox.box import run

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]

HOST_BYTES = 16 << 20
"""What the host may need for any one block."""


async def test_case_01_fork_bomb(box: DockerExecutor) -> None:
    result = await run(
        box,
        """
import os, time
count = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(100)
    except OSError as error:
        print(count, error.strerror)
        break
    count += 1
""",
    )
    assert result.exit_code == 0
    count, reason = result.output.split(maxsplit=1)
    assert 30 < int(count) < boxes.SMALL.pids
    assert "temporarily unavailable" in reason


@boxes.COSTS_THE_CONTAINER
async def test_case_01_fork_bomb_that_never_rests(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.policy(timeout_s=1), work_dir=tmp_path) as own:
        result = await run(own, ":(){ :|:& };: ; wait; while true; do :|: & done", "bash")
        assert result.timed_out
        assert result.duration_s < 5
        await boxes.check_clean(own)


@boxes.COSTS_THE_CONTAINER
async def test_case_02_memory_bomb(box: DockerExecutor) -> None:
    result = await run(box, "data = []\nwhile True: data.append(b'x' * (8 << 20))")
    assert (result.exit_code, result.oom, result.timed_out, result.signal) == (137, True, False, 9)


@boxes.COSTS_THE_CONTAINER
async def test_case_02_memory_bomb_in_a_child(box: DockerExecutor) -> None:
    result = await run(box, "python3 -c \"data=[]\nwhile True: data.append(b'x'*(8<<20))\"; echo after $?", "bash")
    assert (result.exit_code, result.oom) == (0, True)
    assert "after 137" in result.output


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("while True: pass", id="case_03_busy_loop"),
        pytest.param("import time\nwhile True: time.sleep(1000)", id="case_04_sleep"),
        pytest.param(
            "import signal\nfor n in range(1, 65):\n  try: signal.signal(n, signal.SIG_IGN)\n"
            "  except (OSError, ValueError): pass\nwhile True: pass",
            id="case_05_ignores_sigterm",
        ),
    ],
)
async def test_cases_03_04_05_time_limit(code: str, tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.policy(timeout_s=1), work_dir=tmp_path) as own:
        result = await run(own, code)
        assert (result.exit_code, result.timed_out, result.oom) == (124, True, False)
        assert 1 <= result.duration_s < 2
        await boxes.check_clean(own)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("for _ in range(100_000): print('x' * 90)", id="case_06_endless_output"),
        pytest.param("import sys; sys.stdout.write('x' * 100_000_000)", id="case_07_one_line_of_100_mb"),
    ],
)
async def test_cases_06_07_output(code: str, box: DockerExecutor) -> None:
    live: list[str] = []
    tracemalloc.start()
    result = await run(box, code, on_output=lambda _, text: live.append(text))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.truncated
    assert result.exit_code == 0
    limit = boxes.SMALL.output_kib * 1024
    assert limit <= len(result.output) < limit + 200
    assert "bytes of output left out" in result.output
    assert "".join(live) == result.output
    assert peak < HOST_BYTES


async def test_case_06_head_and_tail_are_kept(box: DockerExecutor) -> None:
    result = await run(box, "seq 1 200000", "bash")
    assert result.output.startswith("1\n2\n3\n")
    assert result.output.endswith("199999\n200000\n")
    dropped = int(result.output.split("[... ")[1].split()[0])
    whole = sum(len(str(number)) + 1 for number in range(1, 200_001))
    marker = len(f"\n[... {dropped} bytes of output left out ...]\n")
    assert dropped == whole - (len(result.output) - marker)


async def test_case_08_huge_file(box: DockerExecutor) -> None:
    result = await run(
        box,
        "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nopen('big', 'wb').write(b'x' * (41 << 20))",
    )
    assert result.exit_code == 1
    assert "File too large" in result.output


async def test_case_09_full_disk(box: DockerExecutor) -> None:
    result = await run(box, "for i in 1 2 3; do head -c 30M /dev/zero > $i; done", "bash")
    assert result.exit_code == 1
    assert "No space left on device" in result.output
    assert [name.split(":")[0] for name in result.left_behind] == ["1", "2"]
    assert [change.path for change in result.files] == ["3"]
    # Its own few bytes find room; what is longer runs outside the workspace, and says why.
    assert (await run(box, "print('here')")).output == "here\n"
    after = await run(box, f"# {'x' * 20_000}\nprint('still here')")
    assert after.output == "still here\n"
    assert any("workspace is full" in note for note in after.notes)


@boxes.only_runc("inodes are not counted")
@pytest.mark.parametrize("place", ["/workspace", "/tmp", "/home/sandbox", "/dev/shm"])
async def test_case_10_a_million_files(place: str, box: DockerExecutor) -> None:
    code = f"import os\nos.chdir({place!r})\nfor i in range(1_000_000): open(f'f{{i}}', 'w').close()"
    result = await run(box, code)
    assert "No space left on device" in result.output
    assert result.exit_code == 1
    if place == "/workspace":
        assert len(result.files) == boxes.SMALL.files_out
        assert any("more than 50 files" in name for name in result.left_behind)
        assert len(result.left_behind) <= 51


@boxes.only_runc("inodes are not counted")
async def test_case_10_directories_without_end(box: DockerExecutor) -> None:
    code = "import os\nos.chdir('/tmp')\nwhile True:\n  os.mkdir('d')\n  os.chdir('d')"
    result = await run(box, code)
    assert "No space left on device" in result.output


async def test_case_11_descriptors(box: DockerExecutor) -> None:
    result = await run(box, "kept = []\nwhile True: kept.append(open('/dev/null'))")
    assert "Too many open files" in result.output


async def test_case_12_zip_bomb(box: DockerExecutor) -> None:
    result = await run(
        box,
        """
import zipfile
with zipfile.ZipFile('bomb.zip', 'w', zipfile.ZIP_DEFLATED) as bomb:
    for number in range(4):
        bomb.writestr(f'{number}.bin', bytes(30 << 20))
with zipfile.ZipFile('bomb.zip') as bomb:
    bomb.extractall('out')
""",
    )
    assert "No space left on device" in result.output
    # The first two are over the limit of one file; what there was room for of the third is not.
    assert [name.split(":")[0] for name in result.left_behind] == ["out/0.bin", "out/1.bin"]
    assert {"bomb.zip"} <= boxes.names(box.work_dir) <= {"bomb.zip", "out/2.bin"}
    assert (box.work_dir / "bomb.zip").stat().st_size < 1 << 20


async def test_a_cancelled_token_runs_nothing(box: DockerExecutor) -> None:
    token = CancellationToken()
    token.cancel()
    result = await run(box, "open('ran', 'w')", token=token)
    assert (result.cancelled, result.exit_code) == (True, 130)
    assert boxes.names(box.work_dir) == set()
