"""The workspace of a session comes back when it is gone on with."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandbox.fake import Scripted
from sessions.events import ExecutionEvent
from tests.teams.table import python, table

DONE = "Done.\n\nSTOP"


async def test_files_come_back_on_resume_and_what_was_changed_stays(tmp_path: Path) -> None:
    work_dir = tmp_path / "work"
    made = Scripted("made", files={"kept/data.csv": b"1,2\n", "notes.txt": b"old"})
    async with table(tmp_path, [python("make()"), DONE], results=[made]) as t:
        await t.conversation.run("make files")
        session = t.conversation.session
        (run,) = t.recorder.of(ExecutionEvent)
        assert t.store.content(session, run.files[0].sha256) == b"1,2\n"
        assert [file.path for file in t.store.files(session)] == ["kept/data.csv", "notes.txt"]
    shutil.rmtree(work_dir / "kept")
    (work_dir / "notes.txt").write_text("the user's own words by now")
    async with table(tmp_path, [DONE], session=session) as t:
        stop = await t.conversation.run("go on")
        assert stop.reason == "stopped"
    assert (work_dir / "kept" / "data.csv").read_bytes() == b"1,2\n"
    assert (work_dir / "notes.txt").read_text() == "the user's own words by now"


async def test_another_session_gets_nothing_of_it(tmp_path: Path) -> None:
    made = Scripted("made", files={"data.csv": b"1,2\n"})
    async with table(tmp_path, [python("make()"), DONE], results=[made]) as t:
        await t.conversation.run("make files")
    (tmp_path / "work" / "data.csv").unlink()
    async with table(tmp_path, [DONE]) as t:
        await t.conversation.run("something else")
    assert not (tmp_path / "work" / "data.csv").exists()
