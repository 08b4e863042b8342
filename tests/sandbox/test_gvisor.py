"""What gVisor does in its own way: attacks that cost the container there are the sandbox's failure, never output."""

from pathlib import Path

import pytest
from autogen_core import CancellationToken

from sandbox.executor import DockerExecutor
from tests.sandbox.box import policy, run
from utils.errors import SandboxError

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]

COSTLY = {
    "a fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "a memory bomb": "data = []\nwhile True: data.append(b'x' * (8 << 20))",
    "a forged frame": "open('/proc/1/fd/1', 'wb', 0).write(b'x' * 100)",
}


@pytest.mark.parametrize("name", COSTLY)
async def test_what_costs_the_container_is_the_sandboxs_failure(name: str, own_box: DockerExecutor) -> None:
    with pytest.raises(SandboxError, match=r"ended in the middle|did not end|did not write"):
        await run(own_box, COSTLY[name])
    result = await run(own_box, "print(2+2)")
    assert result.output == "4\n"
    assert any("fresh sandbox" in note for note in result.notes)


async def test_the_filter_of_blocks_holds(box: DockerExecutor) -> None:
    code = """
import os
for signal in (0, 2, 9, 15):
    try:
        os.kill(1, signal)
    except OSError as error:
        print(error.strerror)
"""
    assert (await run(box, code)).output == "Operation not permitted\n" * 4


async def test_nothing_of_system_v_can_be_made(box: DockerExecutor) -> None:
    result = await run(box, "for kind in -M1000 -S1 -Q; do ipcmk $kind && echo made; done", "bash")
    assert "made" not in result.output
    assert result.output.count("not permitted") == 3


async def test_the_limit_of_processes_is_that_of_its_own_kernel(box: DockerExecutor) -> None:
    code = """
import os, resource, threading
try:
    resource.setrlimit(resource.RLIMIT_NPROC, (1000, 1000))
except ValueError as error:
    print(error)
forever = threading.Event()
try:
    while True:
        threading.Thread(target=forever.wait).start()
except RuntimeError as error:
    print(error, flush=True)
os._exit(0)
"""
    for _ in range(2):
        assert (await run(box, code)).output == "not allowed to raise maximum limit\ncan't start new thread\n"


async def test_a_block_that_is_granted_a_network_does_not_run_without_one(tmp_path: Path) -> None:
    async with DockerExecutor(policy=policy(network="ask"), work_dir=tmp_path) as own:
        with pytest.raises(SandboxError, match="there is no network"):
            await own.run("bash", "touch ran", cancellation_token=CancellationToken(), network=True)
        assert (await run(own, "ls", "bash")).output == "_block.sh\n"


async def test_no_namespace_and_no_device_can_be_made_in_any_way(box: DockerExecutor) -> None:
    code = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
clone, mknodat = {'x86_64': (56, 259), 'aarch64': (220, 33)}[os.uname().machine]
def call(number, *arguments):
    result = libc.syscall(*(ctypes.c_long(value) for value in (number, *arguments)))
    if result == 0 and number in (clone, 435):
        os._exit(0)  # the child
    print('WORKED' if result != -1 else errno.errorcode[ctypes.get_errno()])
for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    call(clone, flag | 17, 0, 0, 0, 0)
words = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
call(435, ctypes.addressof(words), 88)
path = ctypes.create_string_buffer(b'/tmp/disk')
for kind in (0o20000, 0o60000):
    call(mknodat, -100, ctypes.addressof(path), kind | 0o666, os.makedev(1, 3))
os.mkfifo('/tmp/fifo')
"""
    result = await run(box, code)
    assert result.exit_code == 0
    assert result.output.split() == ["EPERM"] * 7 + ["ENOSYS"] + ["EPERM"] * 2
