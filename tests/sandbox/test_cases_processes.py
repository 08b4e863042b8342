"""Abuse cases 14-21 on the real sandbox: processes that would outlive, outwit or attack the supervisor."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from autogen_core import CancellationToken

from sandbox.executor import DockerExecutor
from tests.sandbox import box as boxes
from tests.sandbox.box import run

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]


async def test_case_14_daemon_in_a_new_session(box: DockerExecutor) -> None:
    result = await run(
        box,
        """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3):
            os.close(descriptor)
        open('/workspace/alive', 'w').write('x')
        while True:
            time.sleep(0.05)
            os.utime('/workspace/alive')
    os._exit(0)
while not os.path.exists('/workspace/alive'):
    time.sleep(0.01)
print('parent ends')
""",
    )
    assert result.output == "parent ends\n"
    first = await run(box, "stat -c %Y.%y alive", "bash")
    second = await run(box, "sleep 0.2; stat -c %Y.%y alive", "bash")
    assert first.output == second.output


async def test_case_15_child_holds_the_output(box: DockerExecutor) -> None:
    result = await run(box, "sleep 1000 &\necho done", "bash")
    assert (result.output, result.exit_code) == ("done\n", 0)
    assert result.duration_s < 1


async def test_case_16_cancel(box: DockerExecutor) -> None:
    token = CancellationToken()
    started = asyncio.Event()
    code = "trap '' INT TERM\necho started\nwhile true; do sleep 0.1 & wait; done"
    running = asyncio.create_task(run(box, code, "bash", token=token, on_output=lambda *_: started.set()))
    await started.wait()
    before = time.monotonic()
    token.cancel()
    result = await running
    assert time.monotonic() - before < 1
    assert (result.cancelled, result.exit_code, result.timed_out) == (True, 130, False)
    assert result.output == "started\n"


async def test_case_16_cancel_of_the_callers_task(box: DockerExecutor) -> None:
    started = asyncio.Event()
    running = asyncio.create_task(run(box, "echo hi; sleep 1000", "bash", on_output=lambda *_: started.set()))
    await started.wait()
    running.cancel()
    before = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - before < 1


async def test_case_17_signal_is_not_a_time_out(box: DockerExecutor) -> None:
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
        result = await run(box, f"import os; os.kill(os.getpid(), {int(number)})")
        assert (result.exit_code, result.signal) == (128 + number, number)
        assert [result.timed_out, result.oom, result.cancelled] == [False] * 3
    result = await run(box, "exit 124", "bash")
    assert (result.exit_code, result.timed_out) == (124, False)


@pytest.mark.parametrize(
    ("language", "code"), [("python", "import sys; print(repr(sys.stdin.read()))"), ("bash", "cat; echo end")]
)
async def test_case_18_standard_input_is_at_its_end(language: str, code: str, box: DockerExecutor) -> None:
    result = await run(box, code, language)
    assert result.output in ("''\n", "end\n")
    assert result.duration_s < 1


PROGRAM = """
import asyncio, sys
from pathlib import Path
from autogen_core import CancellationToken
from sandbox.executor import DockerExecutor
from tests.sandbox.box import SMALL

async def main() -> None:
    async with DockerExecutor(container_name=sys.argv[1], policy=SMALL, work_dir=Path(sys.argv[2])) as box:
        await box.run(
            "bash",
            "trap '' TERM; setsid sleep 1000 & echo running; sleep 1000",
            cancellation_token=CancellationToken(),
            on_output=lambda _, text: print(text, flush=True),
        )

asyncio.run(main())
"""


@contextlib.contextmanager
def program(name: str, work_dir: Path) -> Iterator[subprocess.Popen[str]]:
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, name, str(work_dir)],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        assert boxes.containers(name) == ["running"]
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]  # asked for above


@pytest.mark.parametrize(
    ("number", "seconds"),
    [
        pytest.param(signal.SIGINT, 5, id="case_19_interrupted"),
        pytest.param(signal.SIGKILL, 5, id="case_20_killed"),
    ],
)
async def test_cases_19_20_the_program_ends(number: int, seconds: float, tmp_path: Path) -> None:
    name = f"roundtable-test-{os.getpid()}-{number}"
    with program(name, tmp_path) as process:
        process.send_signal(number)
        assert await boxes.until(lambda: boxes.containers(name) == [], seconds)


ATTACKS = """
import ctypes, os, resource, signal, sys

libc = ctypes.CDLL(None, use_errno=True)
worked = []

def attack(name, action):
    try:
        result = action()
    except (OSError, PermissionError, ValueError):
        return
    if result == -1 or result is False:
        return
    worked.append(name)

def syscall(*arguments):
    return libc.syscall(*(ctypes.c_long(argument) for argument in arguments))

for number in range(1, 65):
    attack(f'kill {number}', lambda: os.kill(1, number))
    attack(f'tkill {number}', lambda: syscall(200, 1, number))
    attack(f'tgkill {number}', lambda: syscall(234, 1, 1, number))
attack('sigqueue', lambda: libc.sigqueue(1, 2, 0))
attack('pidfd', lambda: os.pidfd_open(1))
folder = os.open('/proc/1', os.O_RDONLY)
attack('pidfd of /proc/1', lambda: syscall(424, folder, 2, 0, 0))
attack('renice', lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attack('renice group', lambda: os.setpriority(os.PRIO_PGRP, 1, 19))
attack('renice user', lambda: os.setpriority(os.PRIO_USER, 0, 19))
attack('ioprio', lambda: syscall(251, 1, 1, 3 << 13))
attack('ioprio user', lambda: syscall(251, 3, os.getuid(), 3 << 13))
attack('affinity', lambda: os.sched_setaffinity(1, {0}))
attack('scheduler', lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
attack('prlimit', lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3)))
attack('ptrace', lambda: libc.ptrace(16, 1, 0, 0))
attack('process_vm_readv', lambda: syscall(310, 1, 0, 0, 0, 0, 0))
attack('move_pages', lambda: syscall(279, 1, 0, 0, 0, 0, 0))
for name in ('mem', 'environ', 'maps', 'fd', 'cwd', 'root', 'exe'):
    attack('list ' + name, lambda: os.listdir(f'/proc/1/{name}'))
    attack('read ' + name, lambda: open(f'/proc/1/{name}', 'rb').read(1))
attack('oom', lambda: open('/proc/1/oom_score_adj', 'w').write('1000'))
for number in range(12):
    attack(f'fd {number} of PID 1', lambda: open(f'/proc/1/fd/{number}', 'wb').write(b'x'))
print('worked', worked)
# Frames, on everything that is open here.
forged = b'\\0\\0\\0\\2D' + b'\\0' * 16 + b'{}'
for number in range(256):
    try:
        os.write(number, forged)
    except OSError:
        pass
sys.stdout.flush()
"""


@boxes.only_runc("some reach the supervisor and cost the container, as test_gvisor.py shows")
async def test_case_21_attacks_on_the_supervisor(box: DockerExecutor) -> None:
    look = "cut -d' ' -f 1,4,18,19,40,41 /proc/1/stat; grep -i allowed_list /proc/1/status"
    before = await run(box, look, "bash")
    result = await run(box, ATTACKS)
    assert result.output.startswith("worked []\n"), result.output
    assert result.notes == ()
    after = await run(box, look, "bash")
    assert before.output == after.output
    assert after.notes == ()


async def test_case_21_starving_the_supervisor(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.policy(timeout_s=2, cpus=0.5), work_dir=tmp_path) as own:
        result = await run(own, "import os\nfor _ in range(50):\n  if os.fork() == 0: break\nwhile True: pass")
        assert result.timed_out
        assert result.duration_s < 5
        await boxes.check_clean(own)


@boxes.only_runc("limits of another process cannot be changed")
async def test_case_21_a_changed_supervisor_is_discarded(own_box: DockerExecutor) -> None:
    # What the filter refuses to a block is done from outside here: the sandbox must notice all the same.
    await run(own_box, "echo up", "bash")
    pid, identifier = boxes.inspect(own_box.container_name, "{{.State.Pid}} {{.Id}}")
    os.setpriority(os.PRIO_PROCESS, int(pid), 15)
    result = await run(own_box, "echo block", "bash")
    assert (result.output, result.exit_code) == ("block\n", 0)
    assert any("thrown away" in note for note in result.notes)
    after = await run(own_box, "echo again", "bash")
    assert any("fresh sandbox" in note for note in after.notes)
    assert boxes.inspect(own_box.container_name, "{{.Id}}") != [identifier]


async def test_case_21_a_forged_frame_is_the_sandboxs_failure(own_box: DockerExecutor) -> None:
    from sandbox.channel import Channel
    from utils.errors import SandboxError

    taken = Channel._take

    def forge(self: Channel, data: bytes) -> None:
        taken(self, data[:-1] + bytes([data[-1] ^ 1]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Channel, "_take", forge)
        with pytest.raises(SandboxError, match="did not write"):
            await run(own_box, "print('x')")
    assert (await run(own_box, "print('x')")).output == "x\n"
