"""What a store of sessions offers: the same for SQLite, for memory, and for whatever comes later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from sessions.events import Event, QuestionEvent, Usage

By = Literal["policy", "human", "override", "standing"]
"""Who let a block through the gate."""


class SessionInfo(BaseModel):
    """One session, as the list of sessions shows it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    created: str
    """UTC, ISO 8601 with milliseconds, as the time of an event."""
    updated: str
    task: str
    """The first task."""
    model: str
    state: str
    """`new` (no task yet), `running`, `unfinished` (neither stopped nor held: it broke off), or a stop's reason."""
    events: int
    blocks: int
    """Blocks that ran."""
    usage: Usage = Usage()
    work_dir: str = ""
    holder: str = ""
    """The live program that holds it, in words; empty where none does."""


class Approval(BaseModel):
    """One passage through the gate, as it was recorded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    message: str
    index: int
    digest: str
    by: By
    policy: str
    seq: int
    """Last event of the session when it was given."""
    taken_seq: int | None = None
    """Last event of the session when it was used; None while it was not."""


class Interrupted(BaseModel):
    """What a session that broke off left open."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    runs: tuple[Approval, ...] = ()
    """Approvals of the latest message that were used, with no end of the run recorded. Each needs a new approval."""
    question: QuestionEvent | None = None
    """The question that nobody has answered, to be asked again."""


class StoredFile(BaseModel):
    """A file of the workspace after the last turn that was saved."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    """Path below the work directory, with forward slashes."""
    size: int
    """Bytes."""
    sha256: str
    mode: int = 0o644
    """Permission bits."""
    omitted: str = ""
    """Why the content is not in the store (too large, holds a secret); empty where it is."""


class ApprovalLog(Protocol):
    """The durable side of the gate: the shape that `safety.gate.ApprovalLog` asks for."""

    def approved(self, message: str, index: int, digest: str, by: By, policy: str) -> None:
        """Record that exactly these bytes at this place may run once."""
        ...

    def taken(self, message: str, index: int, digest: str) -> None:
        """Use the approval up. Raises `NotApprovedError` where none is left. Durable, power loss included."""
        ...


class Store(Protocol):
    """Sessions, their events and what is needed to go on with them.

    Every method raises `StoreError` when the store cannot be read or written. The methods that write to a session need
    it to be held by this store (`create`, `open`).
    """

    def create(self, *, task: str = "", model: str = "") -> str:
        """Begin a session and hold it. Returns its identifier."""
        ...

    def find(self, prefix: str | None = None) -> str:
        """The identifier that begins so; the last session with a task without one. `StoreError`: none, or several."""
        ...

    def open(self, prefix: str | None = None) -> str:
        """Find a session and hold it. Raises `SessionBusyError` when another program does; again is harmless."""
        ...

    def append(self, session: str, event: Event) -> Event:
        """Record an event. Returns it as recorded: numbered, dated, secrets replaced. Survives the process's death."""
        ...

    def events(self, session: str, after: int = 0) -> Iterator[Event]:
        """The events with a `seq` above `after`, in order."""
        ...

    def save_turn(self, session: str, state: Mapping[str, Any]) -> None:
        """Keep the team's state (JSON data) as the one that covers all events so far, in place of the one before."""
        ...

    def load_turn(self, session: str) -> tuple[dict[str, Any], int] | None:
        """The last state and the `seq` that it covers; None before the first."""
        ...

    def approval_log(self, session: str) -> ApprovalLog:
        """The log to give to the session's gate."""
        ...

    def approvals(self, session: str) -> tuple[Approval, ...]:
        """Every approval of the session, in the order in which they were given."""
        ...

    def interrupted(self, session: str) -> Interrupted:
        """What broke off: runs without an end, and a question without an answer."""
        ...

    def set_work_dir(self, session: str, work_dir: str) -> None:
        """Note where the session's files lie."""
        ...

    def set_model(self, session: str, model: str) -> None:
        """Note which model answers from now on."""
        ...

    def keep_content(self, session: str, data: bytes) -> bool:
        """Keep a file's bytes for the session, once for all files and sessions. False: they hold a secret, not kept."""
        ...

    def content(self, session: str, sha256: str) -> bytes | None:
        """The bytes with this digest (SHA-256 in hexadecimal) that were kept for the session; None where none were."""
        ...

    def save_files(self, session: str, files: Sequence[StoredFile]) -> None:
        """Note which files the workspace has now, in place of what was noted before."""
        ...

    def files(self, session: str) -> tuple[StoredFile, ...]:
        """The workspace as it was noted last, by path."""
        ...

    def info(self, session: str) -> SessionInfo:
        """One line of the list of sessions."""
        ...

    def sessions(self) -> Sequence[SessionInfo]:
        """Every session in which something happened, the latest first."""
        ...

    def remove(self, session: str) -> None:
        """Delete a session (its whole identifier) and all that is kept of it. `SessionBusyError`: another holds it."""
        ...

    def release(self, session: str) -> None:
        """Stop holding a session; harmless for one that is not held."""
        ...

    def close(self) -> None:
        """Release everything; harmless when repeated."""
        ...


def now() -> str:
    """The time of an event: UTC, ISO 8601 with milliseconds."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
