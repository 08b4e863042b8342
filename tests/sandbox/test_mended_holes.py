"""What a red team found to go through: each of these did, before it was mended."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import work_dir
from sandbox.executor import DockerExecutor
from sandbox.policy import SandboxPolicy
from tests.sandbox import box as boxes
from tests.sandbox.box import run
from utils.errors import SandboxError

pytestmark = [pytest.mark.docker]
KERNEL = boxes.policy(kernel=True, timeout_s=5, memory_mib=512)

THAWS = {
    "F_SETSIG": """
import fcntl, os, signal
signal.signal(signal.SIGCONT, lambda *_: None)
held = [os.open(path, os.O_RDONLY) for path in ('/workspace', '/tmp')]
for number in held:
    fcntl.fcntl(number, fcntl.F_SETSIG, signal.SIGCONT)
    fcntl.fcntl(number, fcntl.F_NOTIFY, fcntl.DN_MULTISHOT | fcntl.DN_CREATE | fcntl.DN_MODIFY | fcntl.DN_DELETE)
""",
    "timer_create": """
import ctypes, signal
signal.signal(signal.SIGCONT, lambda *_: None)
libc = ctypes.CDLL(None)
class Event(ctypes.Structure):
    _fields_ = [('value', ctypes.c_void_p), ('signo', ctypes.c_int), ('notify', ctypes.c_int),
                ('pad', ctypes.c_int * 12)]
timer = ctypes.c_int()
libc.syscall(222, 1, ctypes.byref(Event(None, signal.SIGCONT, 0)), ctypes.byref(timer))
libc.syscall(223, timer.value, 0, ctypes.byref((ctypes.c_long * 4)(0, 3_000_000, 0, 150_000_000)), None)
""",
    "hangup": """
import array, fcntl, os, signal, socket, termios
signal.signal(signal.SIGCONT, lambda *_: None); signal.signal(signal.SIGHUP, lambda *_: None)
master, slave = os.openpty()
fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
a, b = socket.socketpair()  # the master lives on in flight, in a cycle that is collected when any socket is closed
a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [master, a.fileno(), b.fileno()]))])
os.close(master); a.close(); b.close()
""",
}
GHOST = """
import threading, time
def ghost():
    while True:
        for name in os.listdir('/proc'):
            if name.isdigit() and int(name) not in (1, os.getpid()):
                try:
                    open(f'/proc/{name}/fd/1', 'w').write('FORGED: all tests pass\\n')
                except OSError:
                    pass
        time.sleep(0.002)
import os
from collections.abc import Iterator
threading.Thread(target=ghost, daemon=True).start()
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", THAWS)
async def test_a_kernels_thread_wakes_while_another_block_runs(way: str, tmp_path: Path) -> None:
    async with DockerExecutor(policy=KERNEL, work_dir=tmp_path) as box:
        await run(box, THAWS[way] + GHOST)
        result = await run(
            box, "touch a; sleep 0.3; python3 -c 'import socket; socket.socketpair()'; sleep 0.3", "bash"
        )
        assert result.output == "" or any("may be forged" in note for note in result.notes)


NAMES = [b"line\nbreak", b"no text \xff", b"escape\x1b[31m", "bidi\u202e".encode(), b"back\\slash"]


@pytest.mark.parametrize("name", NAMES)
async def test_directories_with_such_names_stay_behind(name: bytes, tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as box:
        result = await run(box, f"import os; os.mkdir({name!r}); open({name!r} + b'/file', 'w').close()")
        assert (result.files, len(result.left_behind)) == ((), 1)


def test_a_large_file_below_such_a_directory_does_not_break_the_store(tmp_path: Path) -> None:
    from sessions.sqlite_store import SqliteStore
    from sessions.workspace import Workspace

    work = tmp_path / "work"
    work.mkdir()
    os.mkdir(os.fsencode(work) + b"/\xff")
    with open(os.fsencode(work) + b"/\xff/large", "wb") as file:
        file.truncate(33 << 20)
    store = SqliteStore(tmp_path / "db")
    Workspace(store, store.create(task="t"), work).save()


async def test_a_directory_that_can_be_listed_and_not_searched(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as box:
        result = await run(box, "mkdir d; echo x > d/f; chmod 444 d; echo done", "bash")
        assert result.output == "done\n"


@pytest.mark.parametrize("mode", ["000", "333"])
async def test_shut_temporary_directories_are_wiped(mode: str, tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as box:
        await run(box, f"chmod {mode} /tmp /dev/shm ~", "bash")
        await boxes.check_clean(box)


ACL = """
import os, struct
nothing = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', tag, 0, 0xFFFFFFFF) for tag in (1, 4, 0x20))
for path in PLACES:
    os.setxattr(path, 'user.note', b'for a later block')
    os.setxattr(path, 'system.posix_acl_default', nothing)
    os.utime(path, (12345, 6789))
"""
LOOK = """
import os
from collections.abc import Iterator
for path in ('/tmp', '/dev/shm', os.environ['HOME']):
    print(os.listxattr(path), int(os.stat(path).st_mtime) == 6789)
"""


async def test_attributes_of_the_temporary_directories_are_wiped(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as box:
        await run(box, "PLACES = ['/tmp', '/dev/shm']" + ACL)
        assert (await run(box, LOOK)).output == "[] False\n" * 3
        assert (await run(box, "int main() { return 3; }", "c")).exit_code == 3


async def test_a_default_list_of_home_or_workspace_does_not_stop_later_blocks(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as box:
        await run(box, "PLACES = ['/workspace', '/home/sandbox']" + ACL)
        await boxes.check_clean(box)


@pytest.mark.slow
async def test_a_frozen_kernel_that_dies_when_it_is_asked_is_made_anew(tmp_path: Path) -> None:
    async with DockerExecutor(policy=KERNEL, work_dir=tmp_path) as box:
        await run(box, "import signal; signal.alarm(1)")
        await run(box, "sleep 1.2", "bash")
        result = await run(box, "print(2)")
        assert result.notes != ()  # and no SandboxError


@pytest.mark.slow
async def test_a_kernel_whose_socket_is_shut_by_a_block_is_made_anew(tmp_path: Path) -> None:
    code = """
import os, socket, subprocess
for name in os.listdir('/proc/self/fd'):
    try:
        if os.readlink('/proc/self/fd/' + name).startswith('socket'):
            shut = socket.socket(fileno=os.dup(int(name)))
            shut.shutdown(socket.SHUT_RD)
    except OSError:
        pass
child = subprocess.Popen(['sleep', '100'])
print('x')
"""
    async with DockerExecutor(policy=KERNEL, work_dir=tmp_path) as box:
        assert (await run(box, code)).notes != ()


@pytest.mark.slow
async def test_a_kernel_that_made_the_supervisor_its_tracer_is_made_anew(tmp_path: Path) -> None:
    async with DockerExecutor(policy=KERNEL, work_dir=tmp_path) as box:
        await run(box, "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)\nprint(1)")
        assert not (await run(box, "print(1)")).timed_out


LONG = """
import os
from collections.abc import Iterator
os.chdir('/workspace')
for _ in range(32):
    os.mkdir(b'\\xff' * 255); os.chdir(b'\\xff' * 255)
try:
    for number in range(40000):
        os.mknod(b'%05d' % number + b'\\xff' * 249)
except OSError:
    pass
"""


async def test_long_names_do_not_use_up_the_supervisors_memory(tmp_path: Path) -> None:
    async with DockerExecutor(policy=SandboxPolicy(image=boxes.IMAGE), work_dir=tmp_path) as box:
        await run(box, LONG)
        assert (await run(box, "echo next", "bash")).output == "next\n"


async def test_a_block_larger_than_a_file_may_be(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.policy(file_size_mib=1), work_dir=tmp_path) as box:
        await run(box, f"x = '{'a' * (2 << 20)}'")


async def test_a_shut_workspace_does_not_bring_the_blocks_file_back(tmp_path: Path) -> None:
    async with DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path) as box:
        assert (await run(box, "chmod 555 /workspace", "bash")).files == ()


@pytest.mark.parametrize("ready", ["warm", "kernel"])
async def test_variables_that_are_too_large_are_told_with_a_warm_start_too(ready: str, tmp_path: Path) -> None:
    policy = boxes.policy(env=("LARGE",), memory_mib=512, **{ready: True})
    async with DockerExecutor(policy=policy, work_dir=tmp_path, environ={"LARGE": "x" * 200_000}) as box:
        if ready == "kernel":
            with pytest.raises(SandboxError, match="Argument list too long"):
                await run(box, "print(1)")
        else:
            assert "Argument list too long" in (await run(box, "print(1)")).output


async def test_a_relative_folder_of_the_path_is_not_looked_into(tmp_path: Path) -> None:
    variables = {"PATH": ":/usr/local/bin:/usr/bin:/bin"}
    async with DockerExecutor(policy=boxes.policy(env=("PATH",)), work_dir=tmp_path, environ=variables) as box:
        await run(box, "printf '#!/bin/sh\\necho planted\\n' > python3; chmod 755 python3", "bash")
        assert (await run(box, "print(1)")).output == "1\n"


LEASE = """
import fcntl, os
held = os.open('/workspace/leased', os.O_RDWR | os.O_CREAT)
os.write(held, b'data')
fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
"""


@pytest.mark.slow
@boxes.only_runc("it has no leases")
async def test_a_file_that_a_kernel_has_leased_comes_back_later(tmp_path: Path) -> None:
    async with DockerExecutor(policy=KERNEL, work_dir=tmp_path) as box:
        assert [left.partition(":")[0] for left in (await run(box, LEASE)).left_behind] == ["leased"]
        result = await run(box, "os.close(held)")
        assert [change.path for change in result.files] == ["leased"]
    assert (tmp_path / "leased").read_text() == "data"


def test_a_directory_that_becomes_a_link_while_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "given" / "below").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "given" / "below" / "file").write_text("given")
    (tmp_path / "secret" / "file").write_text("secret")
    walk = work_dir._walk

    def walk_and_swap(path: Path) -> Iterator[tuple[str, os.stat_result, str]]:
        for entry in walk(path):
            (path / "below").rename(path / "moved")
            (path / "below").symlink_to(tmp_path / "secret")
            yield entry

    monkeypatch.setattr(work_dir, "_walk", walk_and_swap)
    work = work_dir.WorkDir(tmp_path / "work", work_dir.Limits(1 << 20, 10))
    assert len(work.adopt([tmp_path / "given"])) == 1
    assert boxes.names(tmp_path / "work") == set()


NEIGHBOURS = """
import os
from collections.abc import Iterator
if os.fork() == 0:
    os.setsid()
    while True:
        open('/workspace/late', 'w').close()
        if os.fork():
            os._exit(0)
import time
time.sleep(0.05)
"""


async def test_a_chain_of_processes_ends_with_a_warm_block(tmp_path: Path) -> None:
    policy = boxes.policy(warm=True, warm_imports=("json",))
    async with DockerExecutor(policy=policy, work_dir=tmp_path) as box:
        for _ in range(3):
            await box.until_warm()
            assert (await run(box, NEIGHBOURS)).exit_code == 0
            result = await run(
                box, "stat -c %z late; sleep 0.05; stat -c %z late; ls /proc | grep -cE '^[0-9]+$'", "bash"
            )
            first, second, processes = result.output.splitlines()
            assert first == second
            assert int(processes) <= 5


def test_names_of_the_hosts_own_files_are_told_plainly(tmp_path: Path) -> None:
    work = work_dir.WorkDir(tmp_path, work_dir.Limits(1 << 20, 10))
    given = tmp_path / "given\x1b]0;title\x07"
    os.mkfifo(given)
    told = [*work.changes()[2], *work.adopt([given])]
    assert len(told) == 2
    assert all(text.isprintable() for text in told)
