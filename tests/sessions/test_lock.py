"""One holder at a time, whoever comes and goes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sessions import lock
from sessions.lock import SessionLock
from utils.errors import SessionBusyError, StoreError
from utils.settings import ROOT

CROWD = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sessions.lock import SessionLock
from utils.errors import SessionBusyError
directory, held, tries = Path(sys.argv[2]), 0, 0
while held < 40 and tries < 200_000:
    tries += 1
    try:
        lock = SessionLock.acquire(directory, "s")
    except SessionBusyError:
        continue
    mark = os.open(directory / "mark", os.O_CREAT | os.O_EXCL)  # fails where two hold it
    os.close(mark)
    os.unlink(directory / "mark")
    lock.release()
    held += 1
print(held)
"""

HOLD = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sessions.lock import SessionLock
lock = SessionLock.acquire(Path(sys.argv[2]), "s")
print("held", flush=True)
sys.stdin.read()
"""


def start(program: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(ROOT), str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_never_two_at_once_though_the_file_comes_and_goes(tmp_path: Path) -> None:
    crowd = [start(CROWD, tmp_path) for _ in range(3)]
    ends = [child.communicate(timeout=60) for child in crowd]
    assert [out for out, _ in ends] == ["40\n"] * 3, [err for _, err in ends]


def test_the_holder_is_named_and_its_death_frees_the_session(tmp_path: Path) -> None:
    child = start(HOLD, tmp_path)
    assert child.stdout
    assert child.stdout.readline() == "held\n"
    with pytest.raises(SessionBusyError, match=rf"pid {child.pid}, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC"):
        SessionLock.acquire(tmp_path, "s")
    assert (lock.holder(tmp_path, "s") or "").startswith(f"pid {child.pid},")
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=30)
    assert (tmp_path / "s.lock").exists(), "left behind"
    assert lock.holder(tmp_path, "s") is None
    SessionLock.acquire(tmp_path, "s").release()
    assert not (tmp_path / "s.lock").exists()


def test_a_child_process_does_not_inherit_the_hold(tmp_path: Path) -> None:
    held = SessionLock.acquire(tmp_path, "s")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    held.release()
    SessionLock.acquire(tmp_path, "s").release()
    child.communicate(b"\n", timeout=30)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff\xfe", json.dumps({"pid": 1}).encode()])
def test_a_holder_without_a_readable_name_holds_all_the_same(tmp_path: Path, content: bytes) -> None:
    held = SessionLock.acquire(tmp_path, "s")
    (tmp_path / "s.lock").write_bytes(content)
    with pytest.raises(SessionBusyError, match="pid not known"):
        SessionLock.acquire(tmp_path, "s")
    held.release()
    held.release()


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be locked"):
        SessionLock.acquire(tmp_path / "file" / "locks", "s")
    assert lock.holder(tmp_path / "file" / "locks", "s") is None
    assert os.listdir(tmp_path) == ["file"]
