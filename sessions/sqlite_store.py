"""The store of sessions in one SQLite file."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sessions import contents, lock
from sessions.approvals import SqliteApprovalLog, read_approvals
from sessions.database import Database
from sessions.events import Event, Usage
from sessions.interruption import find_interrupted
from sessions.recording import Recorder, read_event
from sessions.redaction import Redactor
from sessions.store import Approval, ApprovalLog, Interrupted, SessionInfo, StoredFile, now
from sessions.summary import Change, change_of
from utils.errors import StoreError
from utils.settings import Settings

FILE_NAME = "roundtable.db"
"""Name of the database in the data directory."""


class SqliteStore:
    """`sessions.store.Store` in the file `path`; the locks of held sessions lie in `locks/` beside it.

    An event or a state is written through to the operating system before the call returns (it survives `kill -9`); a
    power loss may take the last moments, never an approval's use. One object may be shared by threads.
    `limit_bytes` bounds the file, 0: no bound. `read_only`: for looking only, works on a full or read-only disk.
    """

    def __init__(
        self, path: Path, *, redactor: Redactor | None = None, limit_bytes: int = 0, read_only: bool = False
    ) -> None:
        self._database = Database(path, limit_bytes=limit_bytes, read_only=read_only)
        self._locks = path.parent / "locks"
        self._redactor = redactor or Redactor()
        self._held: dict[str, tuple[Recorder, lock.SessionLock]] = {}

    @classmethod
    def from_settings(cls, settings: Settings, *, read_only: bool = False) -> SqliteStore:
        """The store of the data directory, with the secrets of the settings' environment kept out of it."""
        return cls(
            settings.data_dir / FILE_NAME,
            redactor=Redactor.from_environ(settings.environ),
            limit_bytes=settings.store_mb << 20,
            read_only=read_only,
        )

    def create(self, *, task: str = "", model: str = "") -> str:
        """Begin a session and hold it. Returns its identifier: 12 hexadecimal digits."""
        session = secrets.token_hex(6)
        held = lock.SessionLock.acquire(self._locks, session)
        try:
            self._database.write(
                "INSERT INTO sessions (id, created, updated, task, model, state) VALUES (?, ?, ?, ?, ?, 'new')",
                (session, time := now(), time, self._redactor.clean(task), model),
            )
        except BaseException:
            held.release()
            raise
        self._held[session] = (Recorder(session, 0, self._redactor), held)
        return session

    def find(self, prefix: str | None = None) -> str:
        """The session that begins so; the last one with a task without a prefix. `StoreError`: none, or several."""
        if not prefix:
            rows = self._database.rows("SELECT id FROM sessions WHERE state != 'new' ORDER BY updated DESC LIMIT 1")
            if not rows:
                raise StoreError("There is no session yet.", "Start one: python main.py")
            return str(rows[0][0])
        rows = self._database.rows(
            "SELECT id, created, task FROM sessions WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 11",
            (len(prefix), prefix.lower()),
        )
        if not rows:
            raise StoreError(f"There is no session {prefix!r}.", "`python main.py sessions` lists them.")
        if len(rows) > 1:
            names = ", ".join(f"{row[0]} ({row[1][:16].replace('T', ' ')})" for row in rows[:10])
            more = ", ..." if len(rows) > 10 else ""
            raise StoreError(f"{prefix!r} may be any of {names}{more}.", "Give more of its letters.")
        return str(rows[0][0])

    def open(self, prefix: str | None = None) -> str:
        """Find a session and hold it. Raises `SessionBusyError` when another program does; again is harmless."""
        session = self.find(prefix)
        if session not in self._held:
            held = lock.SessionLock.acquire(self._locks, session)
            self._held[session] = (Recorder(session, self._last_seq(session), self._redactor), held)
        return session

    def append(self, session: str, event: Event) -> Event:
        """Record an event. Returns it as recorded: numbered, dated, secrets replaced."""
        recorder = self._recorder(session)
        recorded, body = recorder.prepare(event)
        insert = "INSERT INTO events (session, seq, type, body) VALUES (?, ?, ?, ?)"
        values = (session, recorded.seq, recorded.type, body)
        if (change := change_of(recorded)) is None:
            self._database.write(insert, values)
        else:
            with self._database.transaction() as connection:
                connection.execute(insert, values)
                connection.execute(_UPDATE_SESSION, _update_values(change, recorded.time, session))
        recorder.kept()
        return recorded

    def events(self, session: str, after: int = 0) -> Iterator[Event]:
        """The events with a `seq` above `after`, in order, read in portions."""
        while rows := self._database.rows(
            "SELECT seq, body FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT 500", (session, after)
        ):
            for after, body in rows:
                data = json.loads(body)
                if self._redactor.may_hold_secret(body):  # one that became known only after it was written
                    data = self._redactor.clean_data(data)
                yield read_event(data, session, after)

    def save_turn(self, session: str, state: Mapping[str, Any]) -> None:
        """Keep the team's state as the one that covers all events so far, in place of the one before."""
        seq = self._recorder(session).seq
        body = json.dumps(self._redactor.clean_data(state), separators=(",", ":"))
        self._database.write(
            "INSERT INTO turns (session, seq, state) VALUES (?, ?, ?)"
            " ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, state = excluded.state",
            (session, seq, body),
        )

    def load_turn(self, session: str) -> tuple[dict[str, Any], int] | None:
        """The last state and the `seq` that it covers; None before the first."""
        rows = self._database.rows("SELECT state, seq FROM turns WHERE session = ?", (session,))
        return (json.loads(rows[0][0]), rows[0][1]) if rows else None

    def approval_log(self, session: str) -> ApprovalLog:
        """The log to give to the session's gate."""
        recorder = self._recorder(session)
        return SqliteApprovalLog(self._database, session, lambda: recorder.seq)

    def approvals(self, session: str) -> tuple[Approval, ...]:
        """Every approval of the session, in the order in which they were given."""
        return read_approvals(self._database, session)

    def interrupted(self, session: str) -> Interrupted:
        """What broke off: runs without an end, and a question without an answer."""
        return find_interrupted(self.events(session), self.approvals(session))

    def set_work_dir(self, session: str, work_dir: str) -> None:
        """Note where the session's files lie."""
        self._database.write("UPDATE sessions SET work_dir = ? WHERE id = ?", (work_dir, session))

    def set_model(self, session: str, model: str) -> None:
        """Note which model answers from now on."""
        self._recorder(session)
        self._database.write("UPDATE sessions SET model = ? WHERE id = ?", (model, session))

    def keep_content(self, session: str, data: bytes) -> bool:
        """Keep a file's bytes, once for all files and sessions. False: they hold a secret and are not kept."""
        self._recorder(session)
        if self._redactor.holds_secret(data):
            return False
        contents.keep(self._database, session, data)
        return True

    def content(self, session: str, sha256: str) -> bytes | None:
        """The bytes with this digest that were kept for the session; None where none were."""
        data = contents.read(self._database, session, sha256)
        return None if data is None or self._redactor.holds_secret(data) else data

    def save_files(self, session: str, files: Sequence[StoredFile]) -> None:
        """Note which files the workspace has now, in place of what was noted before."""
        self._recorder(session)
        contents.save_files(self._database, session, files)

    def files(self, session: str) -> tuple[StoredFile, ...]:
        """The workspace as it was noted last, by path."""
        return contents.read_files(self._database, session)

    def info(self, session: str) -> SessionInfo:
        """One line of the list of sessions."""
        rows = self._database.rows(f"{_SELECT_SESSIONS} WHERE id = ?", (session,))
        if not rows:
            raise StoreError(f"There is no session {session!r}.", "`python main.py sessions` lists them.")
        return self._session_info(rows[0])

    def sessions(self) -> Sequence[SessionInfo]:
        """Every session in which something happened, the latest first."""
        rows = self._database.rows(f"{_SELECT_SESSIONS} WHERE state != 'new' ORDER BY updated DESC")
        return [self._session_info(row) for row in rows]

    def remove(self, session: str) -> None:
        """Delete a session and all that is kept of it. Raises `SessionBusyError` when another program holds it."""
        self.open(self.info(session).id)  # not by a prefix: nothing is removed that was not named whole
        try:
            with self._database.transaction() as connection:
                connection.execute("INSERT INTO removals (session) VALUES (?)", (session,))
                for statement in _REMOVE:
                    connection.execute(statement, (session,))
                connection.execute("DELETE FROM removals")
                contents.forget_unused(connection)
        finally:
            self.release(session)

    def release(self, session: str) -> None:
        """Stop holding a session; harmless for one that is not held."""
        if held := self._held.pop(session, None):
            held[1].release()

    def close(self) -> None:
        """Release everything; harmless when repeated."""
        for session in list(self._held):
            self.release(session)
        self._database.close()

    def _recorder(self, session: str) -> Recorder:
        try:
            return self._held[session][0]
        except KeyError:
            raise StoreError(f"Session {session} is not open for writing.", "Open it first.") from None

    def _last_seq(self, session: str) -> int:
        rows = self._database.rows("SELECT coalesce(max(seq), 0) FROM events WHERE session = ?", (session,))
        return int(rows[0][0])

    def _session_info(self, row: Sequence[Any]) -> SessionInfo:
        session, created, updated, task, model, state, work_dir, blocks, prompt, completion, calls, events = row
        holder = lock.holder(self._locks, session) or ""
        return SessionInfo(
            id=session,
            created=created,
            updated=updated,
            task=self._redactor.clean(task),
            model=model,
            state="unfinished" if state == "running" and not holder else state,
            events=events,
            blocks=blocks,
            usage=Usage(prompt_tokens=prompt, completion_tokens=completion, calls=calls),
            work_dir=work_dir,
            holder=holder,
        )


_SELECT_SESSIONS = """
    SELECT id, created, updated, task, model, state, work_dir, blocks, prompt_tokens, completion_tokens, calls,
        (SELECT coalesce(max(seq), 0) FROM events WHERE session = id)
    FROM sessions
"""

_UPDATE_SESSION = """
    UPDATE sessions SET updated = ?, task = CASE WHEN task = '' THEN ? ELSE task END,
        model = coalesce(nullif(?, ''), model), state = coalesce(nullif(?, ''), state),
        work_dir = coalesce(nullif(?, ''), work_dir), blocks = blocks + ?, prompt_tokens = prompt_tokens + ?,
        completion_tokens = completion_tokens + ?, calls = calls + ?
    WHERE id = ?
"""

_REMOVE = (
    "DELETE FROM taken WHERE approval IN (SELECT number FROM approvals WHERE session = ?)",
    "DELETE FROM approvals WHERE session = ?",
    "DELETE FROM turns WHERE session = ?",
    "DELETE FROM files WHERE session = ?",
    "DELETE FROM kept_contents WHERE session = ?",
    "DELETE FROM events WHERE session = ?",
    "DELETE FROM sessions WHERE id = ?",
)


def _update_values(change: Change, time: str, session: str) -> tuple[Any, ...]:
    usage = change.usage
    return (
        *(time, change.task, change.model, change.state, change.work_dir, change.blocks),
        *(usage.prompt_tokens, usage.completion_tokens, usage.calls, session),
    )
