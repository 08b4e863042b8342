"""A store that lasts as long as the process: for tests, and the second implementation of the store's contract."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions.events import Event
from sessions.interruption import find_interrupted
from sessions.recording import Recorder, read_event
from sessions.redaction import Redactor
from sessions.store import Approval, ApprovalLog, By, Interrupted, SessionInfo, StoredFile, now
from sessions.summary import change_of
from utils.errors import NotApprovedError, SessionBusyError, StoreError


@dataclass
class _Session:
    """All that is kept of one session."""

    info: SessionInfo
    order: int
    bodies: list[str] = field(default_factory=list)
    turn: tuple[str, int] | None = None
    approvals: list[Approval] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    files: tuple[StoredFile, ...] = ()
    holder: MemoryStore | None = None


@dataclass
class Memory:
    """What several stores share, as several programs share a file."""

    sessions: dict[str, _Session] = field(default_factory=dict)
    changes: int = 0


class MemoryStore:
    """`sessions.store.Store` in memory. Stores made with the same `memory` see each other as two programs do."""

    def __init__(self, memory: Memory | None = None, *, redactor: Redactor | None = None) -> None:
        self._memory = memory or Memory()
        self._redactor = redactor or Redactor()
        self._recorders: dict[str, Recorder] = {}
        self._closed = False

    def create(self, *, task: str = "", model: str = "") -> str:
        """Begin a session and hold it."""
        session, time = secrets.token_hex(6), now()
        info = SessionInfo(
            id=session,
            created=time,
            updated=time,
            task=self._redactor.clean(task),
            model=model,
            state="new",
            events=0,
            blocks=0,
        )
        self._all()[session] = _Session(info, self._next(), holder=self)
        self._recorders[session] = Recorder(session, 0, self._redactor)
        return session

    def find(self, prefix: str | None = None) -> str:
        """The session that begins so; the last one with a task without a prefix."""
        if not prefix:
            begun = [kept for kept in self._all().values() if kept.info.state != "new"]
            if not begun:
                raise StoreError("There is no session yet.", "Start one: python main.py")
            return max(begun, key=lambda kept: kept.order).info.id
        names = sorted(name for name in self._all() if name.startswith(prefix.lower()))
        if not names:
            raise StoreError(f"There is no session {prefix!r}.", "`python main.py sessions` lists them.")
        if len(names) > 1:
            raise StoreError(f"{prefix!r} may be any of {', '.join(names[:10])}.", "Give more of its letters.")
        return names[0]

    def open(self, prefix: str | None = None) -> str:
        """Find a session and hold it; again is harmless."""
        session = self.find(prefix)
        kept = self._all()[session]
        if kept.holder not in (None, self):
            raise SessionBusyError(f"Session {session} is in use by another program.", "Go on there.")
        if kept.holder is None:
            kept.holder = self
            self._recorders[session] = Recorder(session, len(kept.bodies), self._redactor)
        return session

    def append(self, session: str, event: Event) -> Event:
        """Record an event. Returns it as recorded."""
        recorder = self._recorder(session)
        recorded, body = recorder.prepare(event)
        kept = self._all()[session]
        kept.bodies.append(body)
        recorder.kept()
        update: dict[str, Any] = {"events": recorder.seq}
        if change := change_of(recorded):
            kept.order = self._next()
            update |= {
                "updated": recorded.time,
                "task": kept.info.task or change.task,
                "model": change.model or kept.info.model,
                "state": change.state or kept.info.state,
                "work_dir": change.work_dir or kept.info.work_dir,
                "blocks": kept.info.blocks + change.blocks,
                "usage": kept.info.usage + change.usage,
            }
        kept.info = kept.info.model_copy(update=update)
        return recorded

    def events(self, session: str, after: int = 0) -> Iterator[Event]:
        """The events with a `seq` above `after`, in order."""
        kept = self._all().get(session)
        bodies = kept.bodies if kept else []
        while after < len(bodies):
            after += 1
            yield read_event(json.loads(bodies[after - 1]), session, after)

    def save_turn(self, session: str, state: Mapping[str, Any]) -> None:
        """Keep the team's state as the one that covers all events so far."""
        seq = self._recorder(session).seq
        self._all()[session].turn = (json.dumps(self._redactor.clean_data(state)), seq)

    def load_turn(self, session: str) -> tuple[dict[str, Any], int] | None:
        """The last state and the `seq` that it covers; None before the first."""
        kept = self._all().get(session)
        return (json.loads(kept.turn[0]), kept.turn[1]) if kept and kept.turn else None

    def approval_log(self, session: str) -> ApprovalLog:
        """The log to give to the session's gate."""
        return _MemoryApprovalLog(self._all()[session].approvals, self._recorder(session))

    def approvals(self, session: str) -> tuple[Approval, ...]:
        """Every approval of the session, in order."""
        return tuple(self._all()[session].approvals)

    def interrupted(self, session: str) -> Interrupted:
        """What broke off: runs without an end, and a question without an answer."""
        return find_interrupted(self.events(session), self.approvals(session))

    def set_work_dir(self, session: str, work_dir: str) -> None:
        """Note where the session's files lie."""
        kept = self._all()[session]
        kept.info = kept.info.model_copy(update={"work_dir": work_dir})

    def set_model(self, session: str, model: str) -> None:
        """Note which model answers from now on."""
        self._recorder(session)
        kept = self._all()[session]
        kept.info = kept.info.model_copy(update={"model": model})

    def keep_content(self, session: str, data: bytes) -> bool:
        """Keep a file's bytes. False: they hold a secret and are not kept."""
        self._recorder(session)
        if self._redactor.holds_secret(data):
            return False
        self._all()[session].contents[hashlib.sha256(data).hexdigest()] = data
        return True

    def content(self, session: str, sha256: str) -> bytes | None:
        """The bytes with this digest that were kept for the session."""
        return self._all()[session].contents.get(sha256)

    def save_files(self, session: str, files: Sequence[StoredFile]) -> None:
        """Note which files the workspace has now."""
        self._recorder(session)
        self._all()[session].files = tuple(sorted(files, key=lambda file: file.path))

    def files(self, session: str) -> tuple[StoredFile, ...]:
        """The workspace as it was noted last, by path."""
        return self._all()[session].files

    def info(self, session: str) -> SessionInfo:
        """One line of the list of sessions."""
        kept = self._all().get(session)
        if kept is None:
            raise StoreError(f"There is no session {session!r}.", "`python main.py sessions` lists them.")
        info = kept.info
        if kept.holder is not None:
            return info.model_copy(update={"holder": "this program"})
        return info.model_copy(update={"state": "unfinished"}) if info.state == "running" else info

    def sessions(self) -> Sequence[SessionInfo]:
        """Every session in which something happened, the latest first."""
        begun = [kept for kept in self._all().values() if kept.info.state != "new"]
        return [self.info(kept.info.id) for kept in sorted(begun, key=lambda kept: -kept.order)]

    def remove(self, session: str) -> None:
        """Delete a session and all that is kept of it."""
        self.open(self.info(session).id)
        self.release(session)
        del self._all()[session]

    def release(self, session: str) -> None:
        """Stop holding a session; harmless for one that is not held."""
        if self._recorders.pop(session, None):
            self._memory.sessions[session].holder = None

    def close(self) -> None:
        """Release everything; harmless when repeated."""
        for session in list(self._recorders):
            self.release(session)
        self._closed = True

    def _all(self) -> dict[str, _Session]:
        if self._closed:
            raise StoreError("The session store is closed.", "Open it again.")
        return self._memory.sessions

    def _next(self) -> int:
        self._memory.changes += 1
        return self._memory.changes

    def _recorder(self, session: str) -> Recorder:
        self._all()
        try:
            return self._recorders[session]
        except KeyError:
            raise StoreError(f"Session {session} is not open for writing.", "Open it first.") from None


class _MemoryApprovalLog:
    """The approvals of one session."""

    def __init__(self, approvals: list[Approval], recorder: Recorder) -> None:
        self._approvals = approvals
        self._recorder = recorder

    def approved(self, message: str, index: int, digest: str, by: By, policy: str) -> None:
        """Record that exactly these bytes at this place may run once."""
        self._approvals.append(
            Approval(message=message, index=index, digest=digest, by=by, policy=policy, seq=self._recorder.seq)
        )

    def taken(self, message: str, index: int, digest: str) -> None:
        """Use the approval up. Raises `NotApprovedError` where none is left."""
        for place in range(len(self._approvals) - 1, -1, -1):
            last = self._approvals[place]
            if (last.message, last.index) == (message, index):
                if last.digest == digest and last.taken_seq is None:
                    self._approvals[place] = last.model_copy(update={"taken_seq": self._recorder.seq})
                    return
                break
        raise NotApprovedError(
            f"Block {index + 1} of message {message} has no approval left: nothing ran.", "It needs a new approval."
        )
