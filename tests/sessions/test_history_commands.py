"""The commands that look back, through the program's own door."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from interfaces.terminal.arguments import parse
from interfaces.terminal.history import (
    audit_command,
    export_command,
    rm_command,
    sessions_command,
    show_command,
)
from sessions.events import ExecutionEvent, StopEvent, TaskEvent, load_event
from sessions.sqlite_store import FILE_NAME, SqliteStore
from tests.sessions.example import write_example
from utils.errors import ConfigurationError, RoundtableError, SessionBusyError, StoreError
from utils.settings import ROOT, Settings

COMMANDS = {
    "sessions": sessions_command,
    "show": show_command,
    "rm": rm_command,
    "export": export_command,
    "audit": audit_command,
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", environ={"PAGER": "cat"})


@pytest.fixture
def store(settings: Settings) -> Iterator[SqliteStore]:
    store = SqliteStore.from_settings(settings)
    yield store
    store.close()


@pytest.fixture
def session(store: SqliteStore, settings: Settings) -> str:
    work_dir = settings.data_dir / "scratch"
    work_dir.mkdir()
    session = write_example(store, work_dir)
    store.release(session)
    return session


def run(settings: Settings, *words: str) -> int:
    return COMMANDS[words[0]](parse(words), settings)


def test_nothing_there_yet(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(settings, "sessions") == 0
    assert "no sessions yet" in capsys.readouterr().out
    assert run(settings, "sessions", "--json") == 0
    assert capsys.readouterr().out == ""
    for words in (("show",), ("audit",), ("export", "--to", "html"), ("rm", "a", "--yes")):
        with pytest.raises(StoreError, match="no sessions yet"):
            run(settings, *words)
    assert not settings.data_dir.exists()


def test_the_list(
    settings: Settings,
    store: SqliteStore,
    session: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    other = store.create()
    store.append(other, TaskEvent(source="user", text="something\nelse \x1b[31m" + "long " * 50))
    assert run(settings, "sessions") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "WHEN", "STATE", "BLOCKS", "TOKENS", "TASK"]
    assert [line.split()[0] for line in lines] == [other, session]
    assert "running" in lines[0]
    assert "\x1b" not in lines[0]
    assert lines[0].rstrip().endswith("…")
    assert len(lines[0].rstrip()) <= 120
    assert " error " in lines[1]
    assert " 5,250 " in lines[1]


def test_the_list_as_json_and_its_filters(
    settings: Settings, store: SqliteStore, session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    old = store.create()
    store.append(old, TaskEvent(source="user", text="An OLD thing", time="2020-01-01T00:00:00.000Z"))
    store.append(old, StopEvent(source="program", reason="approved", time="2020-01-01T00:00:01.000Z"))

    def found(*options: str) -> list[str]:
        assert run(settings, "sessions", "--json", *options) == 0
        return [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()]

    assert found() == [session, old]
    assert found("--state", "approved") == [old]
    assert found("--since", "30") == [session]
    assert found("--search", "old THING") == [old]
    assert found("--limit", "1") == [session]
    assert found("--state", "stuck") == []


def test_show_tells_the_whole_story(settings: Settings, session: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(settings, "show", session[:6]) == 0
    shown = capsys.readouterr().out
    parts = (
        "Sum up sales.csv",
        "with open(",
        "total: 7",
        "May these blocks run?",
        "› yes",
        "│ saved plot.png",
        "✘ denied",
    )
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    assert "\x1b" not in shown
    assert "opens It writes a picture." in shown, "the findings that the human was asked about"


def test_show_raw_is_the_events(
    settings: Settings, store: SqliteStore, session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(settings, "show", "--raw") == 0
    events = [load_event(json.loads(line)) for line in capsys.readouterr().out.splitlines()]
    assert events == list(store.events(session))


def test_looking_at_a_session_that_is_going_on(
    settings: Settings, store: SqliteStore, session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store.open(session)
    assert run(settings, "show", session) == 0
    assert run(settings, "audit", session) == 0
    assert run(settings, "export", session, "--to", "jsonl", "--output", "-") == 0
    assert "total: 7" in capsys.readouterr().out


def test_the_audit(settings: Settings, store: SqliteStore, session: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(settings, "audit") == 0
    told = capsys.readouterr().out
    assert "5 runs, each with an approval of exactly its bytes before it" in told
    assert "the human approved it: event" in told
    assert "review   deny, by the rules: a connection to the world" in told
    assert run(settings, "audit", "--json") == 0
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(entry["approved_before"] for entry in entries) == 5
    store.open(session)
    store.append(
        session,
        ExecutionEvent(source="x", message="m1", index=0, digest="d", language="python", exit_code=0, duration_s=0),
    )
    assert run(settings, "audit") == 1
    assert "1 run of 6 not in order" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("form", "suffix", "holds"),
    [
        ("notebook", ".ipynb", '"nbformat": 4'),
        ("script", ".py", "import csv"),
        ("html", ".html", "<!DOCTYPE html>"),
        ("markdown", ".md", "## Task"),
        ("jsonl", ".jsonl", '"type":"task"'),
    ],
)
def test_export(
    settings: Settings,
    session: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    form: str,
    suffix: str,
    holds: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(settings, "export", "--to", form) == 0
    path = tmp_path / f"roundtable-{session}{suffix}"
    assert holds in path.read_text("utf-8")
    assert path.name in capsys.readouterr().out
    folder = tmp_path / "folder"
    folder.mkdir()
    assert run(settings, "export", session, "--to", form, "--output", str(folder)) == 0
    assert (folder / path.name).read_bytes() == path.read_bytes()
    capsys.readouterr()
    assert run(settings, "export", session, "--to", form, "--output", "-") == 0
    assert capsys.readouterr().out == path.read_text("utf-8")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        run(settings, "export", "--to", form, "--output", str(tmp_path / "no" / "where"))


def test_rm_removes_the_session_and_its_folder(settings: Settings, store: SqliteStore, session: str) -> None:
    own, users = settings.data_dir / "work" / session, settings.data_dir.parent / "users"
    for folder in (own, users):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    other = store.create()
    store.append(other, TaskEvent(source="user", text="t"))
    store.release(other)
    store.set_work_dir(session, str(own))
    store.set_work_dir(other, str(users))
    assert run(settings, "rm", session, session[:8], other, "--yes") == 0
    assert store.sessions() == []
    assert not own.exists()
    assert (users / "file").exists(), "a folder of the user's own stays"


def test_rm_removes_no_folder_but_the_sessions_own(settings: Settings, store: SqliteStore, session: str) -> None:
    for work_dir in (settings.data_dir, settings.data_dir / "work", settings.data_dir.parent / session):
        work_dir.mkdir(exist_ok=True)
        (work_dir / "precious").write_text("x")
        doomed = store.create()
        store.set_work_dir(doomed, str(work_dir))
        store.release(doomed)
        assert run(settings, "rm", doomed, "--yes") == 0
        assert (work_dir / "precious").exists()


def test_rm_refuses_a_session_that_is_in_use(settings: Settings, store: SqliteStore, session: str) -> None:
    store.open(session)
    with pytest.raises(SessionBusyError, match=f"pid {os.getpid()}"):
        run(settings, "rm", session, "--yes")
    assert store.find(session) == session


def test_rm_without_anybody_to_ask(
    settings: Settings, store: SqliteStore, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(os.devnull) as nobody:
        monkeypatch.setattr(sys, "stdin", nobody)
        with pytest.raises(ConfigurationError, match="Nobody is there"):
            run(settings, "rm", session)
    assert store.find(session) == session
    with pytest.raises(ConfigurationError, match="empty"):
        run(settings, "rm", "", "--yes")
    for prefix in ("zz", "%"):
        with pytest.raises(RoundtableError, match="no session"):
            run(settings, "rm", prefix, "--yes")


PROGRAM = [str(ROOT / "main.py")]


def at_a_terminal(settings: Settings, *words: str, pager: str = "") -> pexpect.spawn[str]:
    environ = {**os.environ, "TERM": "xterm-256color", "PAGER": pager or "cat", "COLUMNS": "100", "LESS": "-R"}
    arguments = [*PROGRAM, "--data-dir", str(settings.data_dir), *words]
    return pexpect.spawn(sys.executable, arguments, env=environ, encoding="utf-8", timeout=30, dimensions=(24, 100))


def test_rm_asks_at_a_terminal(settings: Settings, store: SqliteStore, session: str) -> None:
    for answer, left in (("", 1), ("n", 1), ("x", 1), ("y", 0)):
        child = at_a_terminal(settings, "rm", session)
        child.expect("Remove 1 session with all that belongs to")
        child.sendline(answer)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
        assert len(store.sessions()) == left


def test_show_is_paged_at_a_terminal(settings: Settings, session: str) -> None:
    child = at_a_terminal(settings, "show", session, pager="head -n 3")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert child.before is not None
    assert session in child.before
    assert "total: 7" not in child.before
    assert "\x1b[" in child.before, "in colours"


def test_a_newer_database_is_told_in_one_line(settings: Settings, session: str) -> None:
    import sqlite3

    connection = sqlite3.connect(settings.data_dir / FILE_NAME)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="version 99"):
        run(settings, "sessions")
