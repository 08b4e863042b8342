"""Bounds that hold against whoever is on the other side: names, sizes and counts of what comes back, full pipes."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from sandbox.executor import DockerExecutor
from sandbox.incoming import Incoming
from sandbox.inside import files, process
from sandbox.inside.output import Cap
from sandbox.inside.watch import Watch
from tests.sandbox import box as boxes
from tests.sandbox.box import run
from utils.errors import SandboxError

pytestmark = [pytest.mark.docker]
in_module = pytest.mark.asyncio(loop_scope="module")

MANY_LINKS = """
import os
os.chdir(b'/workspace')
for _ in range(6):
    part = b'd' * 255
    os.mkdir(part)
    os.chdir(part)
for number in range(1300):
    os.symlink('/', b'%04d' % number + b'\\xff' * 200)
"""


@in_module
async def test_names_that_no_frame_holds_are_counted(box: DockerExecutor) -> None:
    result = await run(box, MANY_LINKS)
    assert (result.exit_code, result.files) == (0, ())
    assert result.left_behind[-1] == "and 1250 more"
    assert len(result.left_behind) == 51
    assert any("known" in warning for warning in box.warnings("python", "print(1)"))
    assert (await run(box, "echo next", "bash")).left_behind == ()


def test_names_of_deleted_files_that_do_not_fit_come_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = files.Workspace(str(tmp_path))
    for number in range(10):
        (tmp_path / f"file{number}").touch()
    workspace.changes([])
    for path in tmp_path.iterdir():
        path.unlink()
    monkeypatch.setattr(files, "GONE_BYTES", 50)
    told = [workspace.changes([])[1] for _ in range(4)]
    assert [len(names) for names in told] == [5, 5, 0, 0]
    assert len({*told[0], *told[1]}) == 10


def test_a_file_that_grows_is_read_up_to_its_size(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * 100)
    workspace = files.Workspace(str(tmp_path))
    pieces = []
    for piece in workspace.read("log", 100, 30):
        pieces.append(piece)
        with (tmp_path / "log").open("ab") as file:
            file.write(b"y" * 1000)
    assert b"".join(pieces) == b"x" * 100


class Ear:
    """A host that hears nothing."""

    cancelled: set[int]

    def __init__(self) -> None:
        self.sent = 0

    def send(self, kind: int, fields: dict[str, Any], data: bytes = b"") -> None:
        self.sent += len(data)


def test_a_pipe_that_is_kept_full_is_not_read_for_ever() -> None:
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    os.set_blocking(out_read, False)
    os.set_blocking(err_read, False)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            os.write(out_write, b"x" * 4096)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    child = process.Child(0, out_read, err_read)
    ear = Ear()
    watch = Watch(ear, None, Cap(1 << 30, 0))  # type: ignore[arg-type]  # neither link nor wake is asked for more
    reader = threading.Thread(target=watch.drain, args=(child,), daemon=True)
    reader.start()
    reader.join(10)
    ended = not reader.is_alive()
    stop.set()
    while writer.is_alive() or reader.is_alive():
        try:
            os.read(out_read, 65536)
        except BlockingIOError:
            writer.join(0.01)
    for descriptor in (out_read, out_write, err_read, err_write):
        os.close(descriptor)
    assert ended
    assert ear.sent <= 2 << 20


FLOODS = {
    "more than 50 files": [(f"a{number}", 1, True) for number in range(51)],
    "over the limits": [("a", 5 << 20, True), ("a", 5 << 20, False)],
    "over the limits ": [("a", 8 << 20, True), ("b", 8 << 20, True), ("c", 1, True)],
    "a file twice": [("a", 1, True), ("a", 1, True)],
}


@pytest.mark.parametrize("why", FLOODS)
def test_the_host_counts_what_comes_back(why: str) -> None:
    incoming = Incoming(boxes.SMALL)
    pieces = FLOODS[why]
    for piece in pieces[:-1]:
        incoming.count(*piece, last=False)
    with pytest.raises(SandboxError, match=why.strip()):
        incoming.count(*pieces[-1], last=False)


@in_module
async def test_a_supervisor_that_does_not_count_loses_its_container(
    own_box: DockerExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_box, "policy", boxes.policy(files_out=2))
    with pytest.raises(SandboxError, match="more than 2 files"):
        await run(own_box, "touch a b c", "bash")
    assert (await run(own_box, "ls", "bash")).notes != ()
