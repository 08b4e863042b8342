"""`network: ask`: one block has a network, in a container of its own; the next has none again."""

import asyncio
import http.server
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from autogen_core import CancellationToken

from sandbox.executor import DockerExecutor
from tests.sandbox.box import NO_NETWORK, containers, inspect, policy, run
from utils.errors import SandboxError

pytestmark = [pytest.mark.docker, pytest.mark.slow, NO_NETWORK]

FETCH = """
import socket, struct, urllib.request
rows = [line.split() for line in open('/proc/net/route')][1:]
gateways = [socket.inet_ntoa(struct.pack('<I', int(row[2], 16))) for row in rows if row[1] == '00000000']
address = gateways[0] if gateways else '172.17.0.1'
print(urllib.request.urlopen(f'http://{address}:PORT/', timeout=5).read().decode())
"""
"""The host's side of the container's network is its default gateway."""


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"a page of the test's own")

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def fetch() -> Iterator[str]:
    """A block that fetches a page from a server of this test."""
    with http.server.ThreadingHTTPServer(("0.0.0.0", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield FETCH.replace("PORT", str(server.server_port))
        server.shutdown()
        thread.join()


@pytest_asyncio.fixture
async def box(tmp_path: Path) -> AsyncIterator[DockerExecutor]:
    executor = DockerExecutor(policy=policy(network="ask"), work_dir=tmp_path / "work")
    yield executor
    await executor.stop()
    assert containers(executor.container_name) == []  # the one beside it bears its name, too


async def run_granted(box: DockerExecutor, code: str, language: str = "python") -> tuple[int, str]:
    result = await box.run(language, code, cancellation_token=CancellationToken(), network=True)
    return result.exit_code, result.output


async def test_a_fetch_works_for_the_granted_block_and_fails_for_the_next(box: DockerExecutor, fetch: str) -> None:
    before = await run(box, fetch)
    assert before.exit_code == 1
    assert "Network is unreachable" in before.output
    assert await run_granted(box, fetch) == (0, "a page of the test's own\n")
    after = await run(box, fetch)
    assert after.exit_code == 1
    assert "Network is unreachable" in after.output


async def test_the_workspace_is_carried_over_and_back(box: DockerExecutor) -> None:
    await run(box, "mkdir sub; echo one > sub/a.txt; echo mine > b.txt; echo old > gone.txt", "bash")
    code, output = await run_granted(box, "cat sub/a.txt; echo two >> sub/a.txt; rm gone.txt; echo new > c.txt", "bash")
    assert (code, output) == (0, "one\n")
    result = await run(box, "cat sub/a.txt c.txt; ls", "bash")
    assert result.output.split() == ["one", "two", "new", "_block.sh", "b.txt", "c.txt", "sub"]
    assert sorted(path.name for path in box.work_dir.iterdir()) == ["b.txt", "c.txt", "sub"]


async def test_the_container_with_a_network_is_as_hard_as_the_other_and_gone_after_the_block(
    box: DockerExecutor, fetch: str
) -> None:
    beside = f"{box.container_name}-network"
    up = asyncio.Event()
    token = CancellationToken()
    await box.start()
    running = asyncio.create_task(
        box.run(
            "bash",
            "echo up; sleep 100",
            cancellation_token=token,
            network=True,
            on_output=lambda *_: up.set(),
        )
    )
    await asyncio.wait_for(up.wait(), 20)
    fields = "{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}} {{.Config.User}}"
    same = f"{fields} {{{{.HostConfig.Memory}}}} {{{{.HostConfig.PidsLimit}}}} {{{{.HostConfig.Binds}}}}"
    own, other = await asyncio.gather(
        asyncio.to_thread(inspect, box.container_name, same), asyncio.to_thread(inspect, beside, same)
    )
    assert own == other
    assert inspect(box.container_name, "{{.HostConfig.NetworkMode}}") == ["none"]
    assert inspect(beside, "{{.HostConfig.NetworkMode}}") == ["bridge"]
    token.cancel()
    assert (await running).cancelled
    assert containers(beside) == []
    assert (await run(box, "echo on", "bash")).output == "on\n"


async def test_what_the_granted_block_leaves_running_ends_with_it(box: DockerExecutor, fetch: str) -> None:
    assert (await run_granted(box, "setsid sleep 1000 & disown; echo off", "bash"))[1] == "off\n"
    assert containers(f"{box.container_name}-network") == []


async def test_a_caller_that_gives_up_leaves_no_container(box: DockerExecutor) -> None:
    await box.start()
    up = asyncio.Event()
    token = CancellationToken()
    running = asyncio.create_task(
        box.run("bash", "echo up; sleep 100", cancellation_token=token, network=True, on_output=lambda *_: up.set())
    )
    await asyncio.wait_for(up.wait(), 20)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert containers(f"{box.container_name}-network") == []


async def test_under_none_no_block_gets_one(tmp_path: Path) -> None:
    box = DockerExecutor(policy=policy(network="none"), work_dir=tmp_path)
    with pytest.raises(SandboxError, match="network: ask"):
        await run_granted(box, "print(1)")
    await box.stop()


async def test_under_full_every_block_has_one(tmp_path: Path, fetch: str) -> None:
    box = DockerExecutor(policy=policy(network="full"), work_dir=tmp_path)
    try:
        for _ in range(2):
            assert (await run(box, fetch)).output == "a page of the test's own\n"
    finally:
        await box.stop()
