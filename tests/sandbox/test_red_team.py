"""What was tried against the first process, its limits and its sweep, and must go on failing."""

import ast
import asyncio
import time
from pathlib import Path

import pytest
from autogen_core import CancellationToken

from sandbox.executor import DockerExecutor
from tests.sandbox import box as boxes
from tests.sandbox.box import run

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]

SIGNALS_BY_DESCRIPTOR = """
import fcntl, os, socket
ours, theirs = socket.socketpair()
sent = 0
for number in (0, 2, 9, 15, 17, 19, 34, 64):  # 0: SIGIO; with 17 the supervisor would look for children that ended
    fcntl.fcntl(ours, fcntl.F_SETOWN, 1)
    fcntl.fcntl(ours, fcntl.F_SETSIG, number)
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    for _ in range(2000):
        theirs.send(b'x')
        sent += len(ours.recv(10))
print(sent)
"""


@boxes.only_runc("signals of descriptors are its own kernel's")
async def test_case_21_signals_of_a_descriptor_that_the_supervisor_is_made_the_owner_of(box: DockerExecutor) -> None:
    result = await run(box, SIGNALS_BY_DESCRIPTOR)
    assert (result.output, result.exit_code, result.notes) == ("16000\n", 0, ())


CALLS = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(4096)

def call(number, *arguments):
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = libc.syscall(ctypes.c_long(number), *wide)
    return errno.errorcode[ctypes.get_errno()] if result == -1 else result

print({
    'kill with the numbers of x32': call(62 | 0x40000000, 1, 0),
    'kill with high bits': call(62, 1 | 5 << 32, 0),
    'tgkill through the group': call(234, os.getpid(), 1, 0),
    'kcmp': call(312, os.getpid(), 1, 0, 0, 0),
    'pidfd_getfd': call(438, os.open('/proc/1', os.O_RDONLY), 1, 0),
    'process_madvise': call(440, os.open('/proc/1', os.O_RDONLY), room, 0, 20, 0),
    'setns': call(308, os.open('/proc/1', os.O_RDONLY), 0x20000000),
    'robust list': call(274, 1, room, room),
    'a user namespace': call(272, 0x10000000),
    'a child in a user namespace': call(56, 0x10000000 | 17, 0, 0, 0, 0),
})
"""


@boxes.only_runc("its calls fail in other ways")
async def test_case_21_other_ways_into_the_supervisor(box: DockerExecutor) -> None:
    result = await run(box, CALLS)
    told = ast.literal_eval(result.output)
    assert set(told.values()) <= {"EPERM", "ENOSYS", "EBADF"}, told
    assert result.notes == ()


WRITES = """
import os
wrote = []
for folder, names, files in os.walk('/proc/1'):
    names[:] = [name for name in names if name == 'attr']
    for name in files:
        try:
            descriptor = os.open(os.path.join(folder, name), os.O_WRONLY)
            for text in (b'1', b'1000', b'0', b'x'):
                os.write(descriptor, text)
                wrote.append(name)
        except OSError:
            pass
print(wrote)
"""


@boxes.only_runc("its /proc has other files")
async def test_case_21_nothing_of_the_supervisor_in_proc_can_be_written(box: DockerExecutor) -> None:
    assert (await run(box, WRITES)).output == "[]\n"


TRACED = """
import ctypes, os, signal, threading, time
libc = ctypes.CDLL(None)
traced = '/workspace/traced'
os.mkfifo(traced)

def trace():
    libc.ptrace(0, 0, 0, 0)  # PTRACE_TRACEME: by the parent, which is the supervisor
    while True:
        time.sleep(0.01)

for _ in range(5):
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            while os.getppid() != 1:
                time.sleep(0.001)
            for _ in range(3):
                threading.Thread(target=trace, daemon=True).start()
            libc.ptrace(0, 0, 0, 0)
            with open(traced, 'wb', 0) as told:
                told.write(b'x')
            while True:
                time.sleep(0.01)
        os._exit(0)
count = 0
with open(traced, 'rb', 0) as told:
    while count < 5:
        count += len(told.read(1))
print(libc.ptrace(0, 0, 0, 0), flush=True)
os.kill(os.getpid(), signal.SIGUSR1)
print('it stops before this')
"""


@boxes.only_runc("it has a ptrace of its own")
async def test_case_14_processes_that_make_the_supervisor_their_tracer(box: DockerExecutor) -> None:
    # That nothing of them is left is looked at after each test.
    result = await run(box, TRACED)
    assert result.output == "0\n"
    assert result.exit_code != 0


HOPS = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int main() {
    int flags[] = {SIGCHLD, CLONE_PARENT | SIGCHLD, CLONE_VFORK | CLONE_VM | SIGCHLD, SIGCONT, 0};
    for (int i = 0; i < 20; i++)
        if (fork() == 0) {
            setsid();
            if (flags[i % 5] & CLONE_VM)
                for (;;) if (vfork() == 0) { if (fork() == 0) _exit(0); _exit(0); }
            for (;;) if (syscall(SYS_clone, flags[i % 5], 0, 0, 0, 0) > 0) _exit(0);
        }
    write(1, "go\n", 3);
    for (;;) pause();
}
"""


async def test_case_16_a_storm_of_short_lived_orphans_is_cancelled(box: DockerExecutor) -> None:
    for _ in range(3):
        token = CancellationToken()
        started = asyncio.Event()
        running = asyncio.create_task(run(box, HOPS, "c", token=token, on_output=lambda *_, go=started: go.set()))
        await started.wait()
        await asyncio.sleep(0.1)  # for the storm to rise
        before = time.monotonic()
        token.cancel()
        result = await running
        assert time.monotonic() - before < 1
        # Not by the loss of the container, and none of the storm is there for the next block.
        assert (result.cancelled, result.notes) == (True, ())
        assert int((await run(box, "ls /proc | grep -cE '^[0-9]+$'", "bash")).output) <= 5


DEEP_AND_WIDE = """
import os, shutil
for place in ('/workspace', '/tmp'):
    os.chdir(place)
    for number in range(150):
        os.makedirs(f'{number}/below')
        open(f'{number}/below/file', 'w').close() if number < 30 else os.mkfifo(f'{number}/below/fifo')
    for _ in range(30):
        os.mkdir('d' * 200)
        os.chdir('d' * 200)
    open('end', 'w').write('x')
"""


async def test_case_11_the_supervisor_needs_few_descriptors(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.policy(open_files=64), work_dir=tmp_path) as box:
        result = await run(box, DEEP_AND_WIDE)
        assert (result.exit_code, result.output, len(result.files)) == (0, "", 31)
        result = await run(box, "ulimit -n; ls /tmp; find . | wc -l", "bash")
        assert result.output.split() == ["64", "483"]  # the block's own file is there, too
        await boxes.check_clean(box)


async def test_case_8_a_file_over_the_limit_is_not_copied_in_until_it_is_smaller(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (3 << 20))
    (tmp_path / "fits").write_bytes(b"y" * (1 << 20))
    async with DockerExecutor(policy=boxes.policy(file_size_mib=1), work_dir=tmp_path) as box:
        result = await run(box, "wc -c *", "bash")
        assert result.left_behind == ("large: File too large",)
        assert "large" not in result.output
        assert "1048576 fits" in result.output
        (tmp_path / "large").write_bytes(b"z")
        assert (await run(box, "cat large", "bash")).output == "z"


CHANGED = """
umask 0777
ulimit -f 1 -n 10 -c 0
cd /tmp
trap '' TERM HUP INT
kill -s INT 0
sh -c 'kill -s STOP $PPID' &
sleep 0.05
"""
STATE = """
umask
ulimit -n -f
pwd
grep -E 'Sig(Ign|Blk|Pnd)' /proc/self/status
ls -l /proc/self/fd | grep -cE 'socket|/proc/1/|oom'
grep oom_score_adj /proc/1/oom_score_adj
tr '\\0' '\\n' < /proc/self/environ | sort
"""


async def test_a_block_finds_its_process_as_the_first_one_did(box: DockerExecutor) -> None:
    first = await run(box, STATE, "bash")
    changed = asyncio.create_task(run(box, CHANGED, "bash", token=(token := CancellationToken())))
    await asyncio.sleep(0.3)  # it stops itself: nothing of it can tell that it has
    token.cancel()
    assert (await changed).cancelled
    assert (await run(box, STATE, "bash")).output == first.output


TOLD_EARLY = """
import os, time
ready, go = os.pipe()
if os.fork() == 0:
    os.setsid()
    while True:
        open('/tmp/late', 'w').close()
        open('/workspace/late', 'w').close()
        os.write(go, b'x')
os.read(ready, 1)
os.write(3, b'\\0')
time.sleep(100)
"""


async def test_a_warm_block_that_tells_its_end_before_it_ends(tmp_path: Path) -> None:
    policy = boxes.policy(warm=True, warm_imports=("json",))
    async with DockerExecutor(policy=policy, work_dir=tmp_path) as box:
        for _ in range(3):
            await asyncio.wait_for(box.until_warm(), 10)
            assert (await run(box, TOLD_EARLY)).exit_code == 0
            result = await run(box, "ls /tmp; stat -c %Z late; sleep 0.05; stat -c %Z late; rm late", "bash")
            times = result.output.split()
            assert len(times) == 2
            assert times[0] == times[1]


async def test_variables_that_no_program_can_be_started_with_are_told(tmp_path: Path) -> None:
    policy = boxes.policy(env=("LARGE",))
    async with DockerExecutor(policy=policy, work_dir=tmp_path, environ={"LARGE": "x" * 200_000}) as box:
        for language in ("python", "bash"):
            result = await run(box, "true", language)
            assert (result.exit_code, result.output[:13]) == (127, "cannot start ")
            assert result.output.endswith(": Argument list too long\n")
