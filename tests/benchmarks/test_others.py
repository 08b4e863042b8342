"""Executors in environments of their own: how they are installed, asked, and cleaned up after."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from benchmarks import jupyter_peer, others, peer_environment, peer_process, peers
from benchmarks.jupyter_peer import NoPeerError
from benchmarks.peer_environment import LLM_SANDBOX, SMOLAGENTS, Peer, python_of
from benchmarks.peer_process import PeerProcess, running
from tests.benchmarks import stand_ins
from utils.docker_utils import image_name

PEERS = [Peer("a stand-in", "llm-sandbox", ()), Peer("a stand-in", "smolagents", ())]


@pytest.fixture(params=PEERS, ids=lambda one: str(one.driver))
def peer(request: pytest.FixtureRequest) -> Peer:
    return request.param  # type: ignore[no-any-return]  # a fixture's parameters have no type


@pytest.fixture
def python(tmp_path: Path) -> str:
    return stand_ins.environment(tmp_path / "environment")


def containers(theirs: PeerProcess) -> list[str]:
    command = ["docker", "ps", "--all", "--quiet", "--filter", f"label={theirs._label}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.slow
def test_a_peer_is_installed_once_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peer, cache = Peer("a stand-in", "llm-sandbox", (str(stand_ins.wheel(tmp_path)),)), tmp_path / "cache"
    python = python_of(peer, cache)
    command = [python, "-Ic", "import llm_sandbox as x; print(x.__file__)"]
    where = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert Path(where).is_relative_to(cache)

    def again(*_: object) -> None:
        raise AssertionError("installed again")

    monkeypatch.setattr(peer_environment, "_install", again)
    assert python_of(peer, cache) == python


@pytest.mark.slow
def test_one_that_cannot_be_installed_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    missing = Peer("nobody's executor", "llm-sandbox", (str(tmp_path / "nowhere-1.0-py3-none-any.whl"),))
    with pytest.raises(NoPeerError, match=r"nobody's executor could not be installed: .*nowhere"):
        python_of(missing, tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["bench.lock"]


@pytest.mark.parametrize("one", [LLM_SANDBOX, SMOLAGENTS], ids=lambda one: one.driver)
def test_the_peers_are_pinned_and_none_of_the_projects(one: Peer) -> None:
    assert all("==" in requirement for requirement in one.requirements)
    assert one.name.startswith(f"{one.driver} {one.requirements[0].partition('==')[2]}")
    root = Path(peer_environment.__file__).parents[1]
    assert not any(one.driver in (root / name).read_text() for name in ("requirements.in", "requirements.txt"))


@pytest.mark.docker
async def test_a_block_is_timed_and_its_container_goes(peer: Peer, python: str) -> None:
    async with running(peer, image_name(), python) as theirs:
        assert await theirs.start() > 0
        assert 0 < await theirs.block(peers.PRINT) < await theirs.block("import time; time.sleep(0.2); print(4)")
        assert len(containers(theirs)) == 1
        await theirs.remove()
        assert containers(theirs) == []
        await theirs.start()
        assert await theirs.stop() > 0
        assert containers(theirs) == []


@pytest.mark.docker
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print(5)", r"a stand-in answered '5\\n'"),
        ("1 / 0", "a stand-in, block: ZeroDivisionError"),
        ("os._exit(3)", "a stand-in, block: its process ended"),
    ],
)
async def test_a_failure_is_told_and_its_container_goes(peer: Peer, python: str, code: str, said: str) -> None:
    async def fail() -> None:
        async with running(peer, image_name(), python) as theirs:
            driven.append(theirs)
            await theirs.start()
            await theirs.block(code)

    driven: list[PeerProcess] = []
    with pytest.raises(NoPeerError, match=said):
        await fail()
    assert containers(driven[0]) == []


@pytest.mark.docker
async def test_output_that_is_lost_is_asked_for_again_and_counted(peer: Peer, python: str) -> None:
    third = "n = int(os.environ.get('N', 0)); os.environ['N'] = str(n + 1); print(4) if n == 2 else None"
    async with running(peer, image_name(), python) as theirs:
        await theirs.start()
        await theirs.block(third)
        assert theirs.lost == 2
        with pytest.raises(NoPeerError, match="answered ''"):
            await theirs.block("pass")


@pytest.mark.docker
async def test_one_that_hangs_is_ended(peer: Peer, python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(peer, image_name(), python) as theirs:
        await theirs.start()
        monkeypatch.setattr(peer_process, "ANSWER_S", 0.2)
        with pytest.raises(NoPeerError, match="did not answer to block"):
            await asyncio.wait_for(theirs.block("while True: pass"), 20)
    assert containers(theirs) == []
    assert theirs._process.returncode is not None


@pytest.mark.docker
async def test_it_is_given_no_keys(peer: Peer, python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    async with running(peer, image_name(), python) as theirs:
        await theirs.start()
        await theirs.block("assert os.environ['PATH'] and 'OPENAI_API_KEY' not in os.environ; print(4)")


async def test_a_peer_that_is_not_there_leaves_rows_that_are_not_met(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def none(peer: Peer, image: str) -> AsyncIterator[PeerProcess]:
        raise NoPeerError(f"{peer.name} is not there")
        yield

    monkeypatch.setattr(others, "running", none)
    monkeypatch.setattr(jupyter_peer, "image", lambda: "image")
    rows = await others._measure()
    assert {(row.name, row.bar) for row in rows} == {*others.FRESH.items(), *others.KERNEL.items()}
    assert not any(row.met for row in rows)
    assert {row.note for row in rows} == {
        f"not measured: {peer.name} is not there" for peer in (LLM_SANDBOX, SMOLAGENTS)
    }
