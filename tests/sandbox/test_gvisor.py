"""What gVisor does in its own way: attacks that cost the container there are the sandbox's failure, never output."""

import pytest

from sandbox.executor import DockerExecutor
from tests.sandbox.box import run
from utils.errors import SandboxError

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]

COSTLY = {
    "a fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "a memory bomb": "data = []\nwhile True: data.append(b'x' * (8 << 20))",
    "a forged frame": "open('/proc/1/fd/1', 'wb', 0).write(b'x' * 100)",
}


@pytest.mark.parametrize("name", COSTLY)
async def test_what_costs_the_container_is_the_sandboxs_failure(name: str, own_box: DockerExecutor) -> None:
    with pytest.raises(SandboxError, match=r"ended in the middle|did not write"):
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
