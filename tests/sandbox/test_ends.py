"""What must not outlive its end: a process beside its block, a container, the claim of a block to a file."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from autogen_core import CancellationToken

from sandbox.executor import DockerExecutor
from sandbox.inside import process
from sandbox.work_dir import Limits, WorkDir
from tests.sandbox import box as boxes


def test_a_process_is_killed_before_others_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def listed(path: str) -> list[str]:
        done.append("listed")
        return ["1", "7", "8", "self"]

    def kill(pid: int, number: int) -> None:
        assert (pid, number) == (-1, signal.SIGKILL)
        done.append("killed")

    monkeypatch.setattr(os, "listdir", listed)
    monkeypatch.setattr(os, "kill", kill)
    assert not process.kill_alone(7)
    assert done == ["killed", "listed"]


@pytest.fixture
def work_dir(tmp_path: Path) -> WorkDir:
    return WorkDir(tmp_path, Limits(1 << 20, 100))


@pytest.mark.parametrize("name", [".git/hooks/post-commit", "a/.git/hooks/post-commit", "a/.env", "a//b", "a/../b"])
def test_nothing_hidden_is_received_at_any_depth(name: str, work_dir: WorkDir) -> None:
    with pytest.raises(OSError, match="not a name below"):
        work_dir.receive(name, b"x", first=True, last=True)
    assert list(work_dir.path.iterdir()) == []


def received(work_dir: WorkDir, name: str, data: bytes) -> Callable[[], object]:
    work_dir.receive(name, data, first=True, last=True)
    return lambda: work_dir.delete(name)


def test_a_blocks_file_that_the_user_has_changed_is_not_deleted(work_dir: WorkDir) -> None:
    delete = received(work_dir, "notes.txt", b"by a block")
    work_dir.changes()
    (work_dir.path / "notes.txt").write_bytes(b"by the user, and longer")
    work_dir.changes()
    assert delete() is None
    assert (work_dir.path / "notes.txt").read_bytes() == b"by the user, and longer"


def test_a_blocks_own_file_is_deleted(work_dir: WorkDir) -> None:
    delete = received(work_dir, "notes.txt", b"by a block")
    work_dir.changes()
    assert delete() is not None
    assert list(work_dir.path.iterdir()) == []


@pytest.mark.docker
async def test_a_cancelled_run_starts_no_container_again(tmp_path: Path) -> None:
    box = DockerExecutor(policy=boxes.SMALL, work_dir=tmp_path)
    await box.start()
    await box.stop()
    token = CancellationToken()
    token.cancel()
    assert (await boxes.run(box, "print(1)", token=token)).cancelled
    assert boxes.containers(box.container_name) == []
