"""The workspace comes back as it was, and nothing else is touched."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from sessions.memory_store import MemoryStore
from sessions.redaction import Redactor
from sessions.store import StoredFile
from sessions.workspace import Workspace
from utils.errors import StoreError
from utils.settings import Settings


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(redactor=Redactor({"A_KEY": "planted-secret"}))


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    work_dir = tmp_path / "work"
    (work_dir / "deep" / "er").mkdir(parents=True)
    (work_dir / "a.csv").write_bytes(b"1,2\r\n")
    (work_dir / "deep" / "er" / "ü.bin").write_bytes(bytes(range(256)))
    (work_dir / "tool.sh").write_text("echo\n")
    (work_dir / "tool.sh").chmod(0o755)
    (work_dir / "empty").write_text("")
    return work_dir


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_files_come_back_whole_into_an_empty_folder(store: MemoryStore, work_dir: Path, tmp_path: Path) -> None:
    session = store.create()
    Workspace(store, session, work_dir).save()
    fresh = tmp_path / "fresh"
    restored = Workspace(store, session, fresh).restore(overwrite=True)
    assert contents(fresh) == contents(work_dir)
    assert (fresh / "tool.sh").stat().st_mode & 0o777 == 0o755
    assert sorted(restored.written) == ["a.csv", "deep/er/ü.bin", "empty", "tool.sh"]
    assert (restored.kept, restored.missing) == ((), ())


def test_what_was_changed_or_deleted_meanwhile(store: MemoryStore, work_dir: Path) -> None:
    session = store.create()
    before = contents(work_dir)
    workspace = Workspace(store, session, work_dir)
    workspace.save()
    (work_dir / "a.csv").write_text("half writt")
    (work_dir / "empty").unlink()
    (work_dir / "new.txt").write_text("new")
    gentle = workspace.restore(overwrite=False)
    assert (gentle.written, gentle.kept) == (("empty",), ("a.csv",))
    assert (work_dir / "a.csv").read_text() == "half writt"
    assert workspace.restore(overwrite=True).written == ("a.csv",)
    assert contents(work_dir) == {**before, "new.txt": b"new"}
    assert workspace.restore(overwrite=True).written == ()


def test_each_turn_replaces_the_list(store: MemoryStore, work_dir: Path) -> None:
    session = store.create()
    workspace = Workspace(store, session, work_dir)
    assert [file.path for file in workspace.save()] == ["a.csv", "empty", "tool.sh", "deep/er/ü.bin"]
    (work_dir / "a.csv").write_text("changed")
    (work_dir / "empty").unlink()
    workspace.save()
    (changed,) = [file for file in store.files(session) if file.path == "a.csv"]
    assert store.content(session, changed.sha256) == b"changed"
    assert "empty" not in {file.path for file in store.files(session)}
    for path in list(work_dir.rglob("*")):
        if path.is_file():
            path.unlink()
    workspace.save()
    assert store.files(session) == ()


def test_what_is_not_kept(store: MemoryStore, work_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret of the host")
    (work_dir / "link").symlink_to(tmp_path / "outside")
    (work_dir / "linked").symlink_to(tmp_path)
    (work_dir / ".env").write_text("A=1")
    (work_dir / ".git").mkdir()
    (work_dir / ".git" / "config").write_text("x")
    os.mkfifo(work_dir / "pipe")
    (work_dir / "config.ini").write_text("key = planted-secret\n")
    (work_dir / "big.bin").write_bytes(b"x" * 2000)
    session = store.create()
    kept = Workspace(store, session, work_dir, file_bytes=1000).save()
    reasons = {file.path: file.omitted for file in kept}
    assert reasons["config.ini"] == "it holds a secret"
    assert "larger than the 1,000 bytes" in reasons["big.bin"]
    assert set(reasons) == {"a.csv", "empty", "tool.sh", "deep/er/ü.bin", "config.ini", "big.bin"}
    fresh = tmp_path / "fresh"
    restored = Workspace(store, session, fresh).restore(overwrite=True)
    assert [line.split(":")[0] for line in restored.missing] == ["big.bin", "config.ini"]
    assert set(contents(fresh)) == {"a.csv", "empty", "tool.sh", "deep/er/ü.bin"}


def test_the_sum_and_the_number_are_limited(store: MemoryStore, work_dir: Path) -> None:
    session = store.create()
    limited = Workspace(store, session, work_dir, total_bytes=100).save()
    assert [file.path for file in limited if file.omitted] == ["deep/er/ü.bin"]
    assert len(Workspace(store, session, work_dir, files_most=2).save()) == 2


def test_the_settings_limit_what_is_kept(store: MemoryStore, work_dir: Path, tmp_path: Path) -> None:
    (work_dir / "big.bin").write_bytes(b"x" * (1 << 20) + b"x")
    session = store.create()
    settings = Settings(data_dir=tmp_path, kept_file_mb=1)
    kept = Workspace.of(store, session, work_dir, settings).save()
    assert [file.path for file in kept if file.omitted] == ["big.bin"]


@pytest.mark.parametrize("path", ["../evil", "/etc/evil", "a/../../evil", "linked/evil", ""])
def test_nothing_is_written_outside(store: MemoryStore, tmp_path: Path, path: str) -> None:
    session = store.create()
    store.keep_content(session, b"evil")
    digest = hashlib.sha256(b"evil").hexdigest()
    work_dir = tmp_path / "work"
    work_dir.mkdir()
    (work_dir / "linked").symlink_to(tmp_path)
    store.save_files(session, [StoredFile(path=path, size=4, sha256=digest)])
    with pytest.raises(StoreError, match="outside its work directory"):
        Workspace(store, session, work_dir).restore(overwrite=True)
    assert not (tmp_path / "evil").exists()


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(
    store: MemoryStore, work_dir: Path, tmp_path: Path
) -> None:
    session = store.create()
    Workspace(store, session, work_dir).save()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (work_dir / "a.csv").unlink()
    (work_dir / "a.csv").symlink_to(victim)
    Workspace(store, session, work_dir).restore(overwrite=True)
    assert victim.read_text() == "precious"
    assert (work_dir / "a.csv").read_bytes() == b"1,2\r\n"
    assert not (work_dir / "a.csv").is_symlink()
