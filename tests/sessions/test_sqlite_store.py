"""The SQLite store beyond the contract: its file, its versions, its failures."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sessions import schema
from sessions.events import ExecutionEvent, MessageEvent, OutputEvent, StopEvent, TaskEvent
from sessions.redaction import Redactor
from sessions.sqlite_store import FILE_NAME, SqliteStore
from utils.errors import NotApprovedError, SessionBusyError, StoreError
from utils.settings import ROOT, Settings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / FILE_NAME


def filled(path: Path, events: int = 3) -> str:
    store = SqliteStore(path)
    session = store.create()
    store.append(session, TaskEvent(source="user", text="do it"))
    for number in range(events - 1):
        store.append(session, OutputEvent(source="x", stream="stdout", text=f"line {number}\n"))
    store.save_turn(session, {"turn": 1})
    store.close()
    return session


def make_version_1(path: Path) -> str:
    """A database as the first release wrote it."""
    path.parent.mkdir()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    for statement in schema.MIGRATIONS[0]:
        connection.execute(statement)
    connection.execute("PRAGMA user_version = 1")
    connection.execute(
        "INSERT INTO sessions (id, created, updated, task, model, state)"
        " VALUES ('0123456789ab', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'old', 'gpt', 'stopped')"
    )
    body = '{"seq":1,"time":"2026-01-01T00:00:00.000Z","session":"","source":"user","type":"task","text":"old"}'
    connection.execute("INSERT INTO events VALUES ('0123456789ab', 1, 'task', ?)", (body,))
    connection.execute("INSERT INTO turns VALUES ('0123456789ab', 1, '{\"a\":1}')")
    connection.close()
    return "0123456789ab"


def test_a_database_of_an_older_version_is_brought_up_to_date(path: Path) -> None:
    session = make_version_1(path)
    store = SqliteStore(path)
    assert store.open(session[:3]) == session
    assert [event.type for event in store.events(session)] == ["task"]
    assert store.load_turn(session) == ({"a": 1}, 1)
    assert store.keep_content(session, b"new tables")
    assert store.append(session, TaskEvent(source="user", text="on")).seq == 2
    store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
    connection.close()


def test_an_older_database_is_brought_up_to_date_by_looking_at_it(path: Path) -> None:
    session = make_version_1(path)
    store = SqliteStore(path, read_only=True)
    assert store.find() == session
    store.close()


def test_an_older_database_that_cannot_be_written_says_why_not(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_version_1(path)

    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(schema, "migrate", refuse)
    with pytest.raises(StoreError, match=r"version 1 and would have to be brought to \d+"):
        SqliteStore(path, read_only=True)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_database_of_a_newer_version_says_exactly_why_not(path: Path, read_only: bool) -> None:
    filled(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match=f"version 99; this program reads versions up to {schema.VERSION}") as caught:
        SqliteStore(path, read_only=read_only)
    assert "update the program" in caught.value.hint


def test_an_event_of_another_release_is_named(path: Path) -> None:
    session = filled(path)
    connection = sqlite3.connect(path)
    connection.execute('INSERT INTO events VALUES (?, 4, \'dream\', \'{"type": "dream", "source": "x"}\')', (session,))
    connection.commit()
    connection.close()
    store = SqliteStore(path)
    with pytest.raises(StoreError, match=r"Event 4 .* \(type 'dream'\) cannot be read"):
        list(store.events(session))
    store.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = '{}'",
        "UPDATE events SET seq = seq + 10",
        "DELETE FROM events",
        "DELETE FROM events WHERE seq = 3",
        "INSERT OR REPLACE INTO events SELECT session, 2, type, '{}' FROM events WHERE seq = 2",
        "INSERT INTO events SELECT session, 9, type, body FROM events WHERE seq = 2",
        "INSERT INTO events SELECT session, 0, type, body FROM events WHERE seq = 2",
        "UPDATE taken SET seq = 0",
        "DELETE FROM taken",
        "INSERT INTO taken SELECT * FROM taken",
    ],
)
def test_the_database_itself_refuses_to_forget(path: Path, statement: str) -> None:
    session = filled(path)
    store = SqliteStore(path)
    store.open(session)
    store.approval_log(session).approved("m", 0, "d", "human", "p")
    store.approval_log(session).taken("m", 0, "d")
    store.close()
    connection = sqlite3.connect(path)
    before = connection.execute("SELECT * FROM events").fetchall(), connection.execute("SELECT * FROM taken").fetchall()
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    connection.rollback()
    assert before == (
        connection.execute("SELECT * FROM events").fetchall(),
        connection.execute("SELECT * FROM taken").fetchall(),
    )
    connection.close()


def test_only_the_user_can_read_it(path: Path) -> None:
    old = os.umask(0)
    try:
        store = SqliteStore(path)
        session = store.create()
        store.append(session, TaskEvent(source="user", text="t"))
        modes = {found.name: stat.S_IMODE(found.stat().st_mode) for found in (path.parent, *path.parent.rglob("*"))}
        store.close()
    finally:
        os.umask(old)
    assert len(modes) >= 5
    assert all(mode & 0o077 == 0 for mode in modes.values()), modes


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sessions.events import OutputEvent, TaskEvent
from sessions.sqlite_store import SqliteStore
store = SqliteStore(Path(sys.argv[2]))
session = store.create()
store.append(session, TaskEvent(source="user", text="t"))
print(session, flush=True)
number = 0
while True:
    number += 1
    event = store.append(session, OutputEvent(source="x", stream="stdout", text=str(number)))
    store.approval_log(session).approved("m", number, "d", "human", "p")
    store.approval_log(session).taken("m", number, "d")
    store.save_turn(session, {"number": number})
    print(event.seq, flush=True)
"""


def start_child(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", CHILD, str(ROOT), str(path)], stdout=subprocess.PIPE, text=True)


def test_what_was_recorded_survives_kill_9(path: Path) -> None:
    for kill_after in (1, 7, 40):
        child = start_child(path)
        assert child.stdout
        session = child.stdout.readline().strip()
        for _ in range(kill_after):
            child.stdout.readline()
        store = SqliteStore(path)
        with pytest.raises(SessionBusyError, match=f"pid {child.pid}, since 20"):
            store.open(session)
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split("\n")
        child.wait()
        child.stdout.close()
        shown = max([int(seq) for seq in rest[:-1]], default=kill_after + 1)
        assert store.open(session[:8]) == session
        seqs = [event.seq for event in store.events(session)]
        assert seqs == list(range(1, len(seqs) + 1))
        assert len(seqs) >= shown >= kill_after
        turn = store.load_turn(session)
        assert turn is not None
        assert turn[1] in (len(seqs), len(seqs) - 1)
        for number in range(1, shown):
            with pytest.raises(NotApprovedError):
                store.approval_log(session).taken("m", number, "d")
        assert store.append(session, StopEvent(source="program", reason="stopped")).seq == len(seqs) + 1
        store.close()


def test_many_programs_begin_at_once_on_an_empty_directory(path: Path) -> None:
    children = [start_child(path) for _ in range(4)]
    sessions = set()
    for child in children:
        assert child.stdout
        sessions.add(child.stdout.readline().strip())
        assert child.stdout.readline().strip() == "2"
    for child in children:
        child.kill()
        child.wait()
        assert child.stdout
        child.stdout.close()
    store = SqliteStore(path)
    assert {info.id for info in store.sessions()} == sessions
    assert len(sessions) == 4
    assert {info.state for info in store.sessions()} == {"unfinished"}
    store.close()


def test_threads_share_a_store(path: Path) -> None:
    store = SqliteStore(path)
    sessions = [store.create() for _ in range(4)]

    def write(session: str) -> None:
        for number in range(50):
            store.append(session, OutputEvent(source="x", stream="stdout", text=str(number)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, sessions))
    assert [len(list(store.events(session))) for session in sessions] == [50] * 4
    store.close()


def test_a_full_store_says_so_and_what_was_saved_stays_readable(path: Path) -> None:
    store = SqliteStore(path, limit_bytes=300_000)
    session = store.create()
    store.append(session, TaskEvent(source="user", text="t"))
    recorded = 1
    with pytest.raises(StoreError, match="full") as caught:  # noqa: PT012 -- the loop is what fills it
        while recorded < 1000:
            store.append(session, OutputEvent(source="x", stream="stdout", text="x" * 5000))
            recorded += 1
    assert "rm ID" in caught.value.hint
    assert 10 < recorded < 100
    with pytest.raises(StoreError, match="full"):
        store.keep_content(session, os.urandom(200_000))
    assert [event.seq for event in store.events(session)] == list(range(1, recorded + 1))
    store.close()
    roomy = SqliteStore(path)
    roomy.open(session)
    assert roomy.append(session, StopEvent(source="program", reason="error")).seq == recorded + 1
    roomy.remove(session)
    roomy.close()


def test_a_full_disk(tmp_path: Path) -> None:
    """A file-size limit of the process is met as a full disk is: the write fails in the middle."""
    program = """
import resource, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sessions.events import OutputEvent, TaskEvent
from sessions.sqlite_store import SqliteStore
from utils.errors import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SqliteStore(Path(sys.argv[2]))
session = store.create()
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
store.append(session, TaskEvent(source="user", text="t"))
count = 1
try:
    while count < 1000:
        store.append(session, OutputEvent(source="x", stream="stdout", text="x" * 5000))
        count += 1
except StoreError as error:
    print(session, count, len(list(store.events(session))), error)
"""
    path = tmp_path / FILE_NAME
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT), str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    session, count, readable, message = done.stdout.split(" ", 3)
    assert done.stderr == ""
    assert 10 < int(count) == int(readable) < 200
    assert str(path) in message
    store = SqliteStore(path)
    assert len(list(store.events(session))) == int(count)
    store.close()


def test_a_damaged_file_says_so(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database " * 500)
    for read_only in (False, True):
        with pytest.raises(StoreError, match="damaged") as caught:
            SqliteStore(path, read_only=read_only)
        assert "recover" in caught.value.hint


def test_a_file_damaged_in_the_middle_says_so(path: Path) -> None:
    session = filled(path, events=2000)
    data = bytearray(path.read_bytes())
    data[8192:-8192] = os.urandom(len(data) - 16384)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        list(SqliteStore(path).events(session))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(StoreError, match=r"roundtable\.db"):
        SqliteStore(blocked / FILE_NAME)
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(StoreError):
        SqliteStore(tmp_path / FILE_NAME)


def test_looking_at_what_is_not_there_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no sessions yet"):
        SqliteStore(tmp_path / "nowhere" / FILE_NAME, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_looking_while_another_program_writes(path: Path) -> None:
    store = SqliteStore(path)
    session = store.create()
    store.append(session, TaskEvent(source="user", text="one"))
    looking = SqliteStore(path, read_only=True)
    store.append(session, TaskEvent(source="user", text="two"))
    assert len(list(looking.events(session))) == 2
    assert looking.info(session).holder.startswith(f"pid {os.getpid()}")
    with pytest.raises(StoreError):
        looking.create()
    looking.close()
    store.append(session, TaskEvent(source="user", text="three"))
    store.close()


def test_nothing_secret_is_in_the_files(path: Path) -> None:
    secret = 'plant"ed\\sécret-{value}'
    settings = Settings(data_dir=path.parent, environ={"MY_API_KEY": secret, "HOME": "/home/someone"})
    store = SqliteStore.from_settings(settings)
    session = store.create(task=secret)
    store.append(session, TaskEvent(source="user", text=f"see /home/someone and {secret}"))
    store.append(session, MessageEvent(source="g", id="m", text=f"AKIAABCDEFGHIJKLMNOP\nsk-{'a1' * 12}\n{secret}"))
    store.append(
        session,
        ExecutionEvent(
            source="x", message="m", index=0, digest="d", language="python", exit_code=0, duration_s=1, output=secret
        ),
    )
    store.save_turn(session, {"thread": [secret]})
    raw = b"".join(found.read_bytes() for found in path.parent.rglob("*") if found.is_file())
    store.close()
    raw += path.read_bytes()
    for planted in ("sécret", "\\u00e9cret", "AKIAABCDEFGHIJKLMNOP", "sk-a1a1"):
        assert planted.encode() not in raw
    assert b"/home/someone" in raw
    assert raw.count(b"[redacted:MY_API_KEY]") >= 5


def test_the_settings_limit_the_file(tmp_path: Path) -> None:
    store = SqliteStore.from_settings(Settings(data_dir=tmp_path, store_mb=1), read_only=False)
    session = store.create()
    with pytest.raises(StoreError, match="full"):
        store.keep_content(session, os.urandom(2 << 20))
    store.close()


def test_a_redactor_of_shapes_is_the_default(path: Path) -> None:
    store = SqliteStore(path)
    session = store.create()
    recorded = store.append(session, TaskEvent(source="user", text=f"ghp_{'A1' * 18}"))
    store.close()
    assert isinstance(recorded, TaskEvent)
    assert recorded.text == "[redacted:github token]"
    assert Redactor().clean("ordinary") == "ordinary"
