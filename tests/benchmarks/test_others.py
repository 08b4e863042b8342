"""Executors in environments of their own: how they are installed, asked, and cleaned up after."""

from __future__ import annotations

import asyncio
import os
import subprocess
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from benchmarks import jupyter_peer, others, peer_environment, peer_process, peers
from benchmarks.jupyter_peer import NoPeerError
from benchmarks.peer_environment import LLM_SANDBOX, SMOLAGENTS, Peer, python_of
from benchmarks.peer_process import PeerProcess, running
from utils.docker_utils import image_name

SANDBOX = '''
import contextlib, io, os, subprocess
from types import SimpleNamespace
class SandboxSession:
    """Runs code right here, with a container beside it."""
    def __init__(self, image, lang, skip_environment_setup, runtime_configs):
        label, = runtime_configs["labels"]
        self.command = ["docker", "run", "--detach", "--network=none", "--label", label, image, "sleep", "600"]
    def open(self):
        print("noise that is no answer")
        subprocess.run(self.command, check=True)
    def run(self, code):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, {"os": os})
        return SimpleNamespace(stdout=printed.getvalue(), stderr="", exit_code=0)
    def close(self):
        pass
'''
"""What stands in for llm-sandbox."""


def wheel(directory: Path) -> Path:
    """A distribution with the stand-in."""
    path = directory / "llm_sandbox-0.0-py3-none-any.whl"
    info = "llm_sandbox-0.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("llm_sandbox.py", SANDBOX)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-sandbox\nVersion: 0.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Peer:
    return Peer("a stand-in", "llm-sandbox", (str(wheel(tmp_path_factory.mktemp("wheel"))),))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def python(peer: Peer, cache: Path) -> str:
    """One that has the stand-in."""
    return python_of(peer, cache)


def containers(theirs: PeerProcess) -> list[str]:
    command = ["docker", "ps", "--all", "--quiet", "--filter", f"label={theirs._label}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_a_peer_is_installed_once_and_apart(
    peer: Peer, cache: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = subprocess.run(
        [python, "-Ic", "import llm_sandbox as x; print(x.__file__)"], capture_output=True, text=True
    )
    assert Path(where.stdout).is_relative_to(cache)

    def again(*_: object) -> None:
        raise AssertionError("installed again")

    monkeypatch.setattr(peer_environment, "_install", again)
    assert python_of(peer, cache) == python


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
    assert os.environ["OPENAI_API_KEY"] == "sk-secret"


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
