"""Abuse cases 31-33 on the real sandbox: the network, privileges, and the posture that is checked at each start."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import container
from sandbox.executor import DockerExecutor
from sandbox.posture import broken_promises
from tests.sandbox import box as boxes
from tests.sandbox.box import run
from utils.errors import SandboxError

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]


@contextlib.contextmanager
def service() -> Iterator[tuple[int, list[str]]]:
    """A service of the host, on all its addresses; the list holds who connected."""
    seen: list[str] = []
    with socket.create_server(("0.0.0.0", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, address = server.accept()
                    seen.append(address[0])
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = server.getsockname()[1]
        yield port, seen
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


async def test_case_31_nothing_is_reachable(box: DockerExecutor) -> None:
    with service() as (port, seen):
        with socket.create_connection(("127.0.0.1", port), 5):
            pass
        result = await run(
            box,
            f"""
import socket
for host, port in (('169.254.169.254', 80), ('172.17.0.1', {port}), ('127.0.0.1', {port}), ('10.0.0.1', 53),
                   ('host.docker.internal', {port}), ('8.8.8.8', 53), ('fd00:ec2::254', 80)):
    try:
        socket.create_connection((host, port), 1)
        print('reached', host)
    except OSError:
        pass
try:
    print(socket.getaddrinfo('example.com', 80))
except OSError as error:
    print('no name service')
try:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    print('raw socket')
except OSError as error:
    print(error.strerror)
print(socket.if_nameindex())
""",
        )
        assert len(seen) <= 1
    assert result.output == "no name service\nOperation not permitted\n[(1, 'lo')]\n"


async def test_case_32_mount_unshare_and_setuid_are_refused(box: DockerExecutor) -> None:
    result = await run(
        box,
        """
import ctypes, os, stat
libc = ctypes.CDLL(None, use_errno=True)
def refused(name, result):
    print(name, 'WORKED' if result != -1 else 'refused')
refused('mount', libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))
refused('unshare user', libc.unshare(0x10000000))
refused('unshare mount', libc.unshare(0x20000))
refused('setns', libc.setns(os.open('/proc/self/ns/net', 0), 0))
refused('chroot', libc.chroot(b'/tmp'))
refused('setuid', libc.setuid(0))
refused('keyctl', libc.syscall(250, 0, -3, 1))
refused('bpf', libc.syscall(321, 0, 0, 0))
refused('init_module', libc.syscall(175, 0, 0, b''))
refused('mknod', libc.mknod(b'/tmp/disk', 0o60666, os.makedev(254, 0)))
refused('sethostname', libc.sethostname(b'x', 1))
refused('settimeofday', libc.settimeofday(b'\\0' * 16, None))
for folder, _, names in os.walk('/'):
    if folder.startswith(('/proc', '/sys')):
        continue
    for name in names:
        mode = os.lstat(os.path.join(folder, name)).st_mode
        if stat.S_ISREG(mode) and mode & 0o6000:
            print('setuid program', folder, name)
""",
    )
    assert "WORKED" not in result.output
    assert "setuid program" not in result.output
    assert result.output.count("refused") == 12
    made = await run(box, "cp /usr/bin/id ./id; chmod 4755 ./id; ./id -u; rm id", "bash")
    assert made.output == "1000\n"


@boxes.only_runc("fewer facts are told of a process")
async def test_case_33_posture_from_inside(box: DockerExecutor) -> None:
    result = await run(box, "cat /proc/self/status; id -u", "bash")
    lines = dict(line.split(":\t") for line in result.output.splitlines() if ":\t" in line)
    assert {lines[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (lines["NoNewPrivs"], lines["Seccomp"]) == ("1", "2")
    assert result.output.endswith("1000\n")


def host_setting(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["HostConfig"].__setitem__(name, value)


BREAKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "CapBnd": host_setting("CapDrop", []),
    "new privileges": host_setting("SecurityOpt", []),
    "seccomp": host_setting("SecurityOpt", ["no-new-privileges:true", "seccomp=unconfined"]),
    "the user": lambda body: body.__setitem__("User", "0:0"),
    "root file system": host_setting("ReadonlyRootfs", False),
    "network": host_setting("NetworkMode", "bridge"),
    "memory": lambda body: body["HostConfig"].update(Memory=0, MemorySwap=0),
    "processes": host_setting("PidsLimit", -1),
    "/dev/shm": lambda body: body["HostConfig"]["Tmpfs"].pop("/dev/shm"),
    "inodes": lambda body: body["HostConfig"]["Tmpfs"].update({"/tmp": "uid=1000,size=1m"}),
    "other places": lambda body: body["HostConfig"]["Tmpfs"].update({"/opt": "uid=1000"}),
    "Docker socket": host_setting("Binds", ["/var/run/docker.sock:/var/run/docker.sock"]),
}


NOT_TOLD_BY_GVISOR = {"new privileges", "seccomp", "network", "memory", "processes", "inodes", "Docker socket"}


@pytest.mark.parametrize("name", sorted(BREAKS.keys() - (NOT_TOLD_BY_GVISOR if boxes.RUNTIME else set())))
async def test_case_33_a_start_with_a_broken_promise_fails(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = container._specification

    def broken(*arguments: Any) -> dict[str, Any]:
        body = whole(*arguments)
        BREAKS[name](body)
        return body

    monkeypatch.setattr(container, "_specification", broken)
    executor = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path)
    with pytest.raises(SandboxError, match=name):
        await executor.start()
    assert boxes.containers(executor.container_name) == []


async def test_case_33_a_missing_fact_is_a_broken_promise() -> None:
    assert len(broken_promises({}, boxes.SMALL)) >= 12
