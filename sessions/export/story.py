"""A session as it is told: its events in order, with each run gathered from approval, output and end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from sessions.events import (
    AnswerEvent,
    ApprovalEvent,
    ErrorEvent,
    Event,
    ExecutionEvent,
    FileInfo,
    MessageEvent,
    NoticeEvent,
    OutputEvent,
    QuestionEvent,
    ReviewEvent,
    StopEvent,
    TaskEvent,
)
from sessions.store import SessionInfo, Store, StoredFile

PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
}
"""Files that are shown as pictures, by suffix, with their media types."""

_INPUT_BYTES = 256 << 10
"""A file that the session began with is taken into a notebook or a script up to this size."""

_PICTURE_BYTES = 32 << 20
"""A picture that the store does not have is read from the work folder up to this size."""


@dataclass(frozen=True)
class Picture:
    """A picture that a run made."""

    path: str
    media_type: str
    data: bytes


@dataclass(frozen=True)
class Run:
    """One block that ran, or began to."""

    message: str
    index: int
    language: str
    code: str
    digest: str
    by: str
    """Who let it run; empty where no approval of these bytes came before."""
    pieces: tuple[tuple[str, str], ...]
    """Its output as it came: stream and text; neighbours of one stream are joined."""
    exit_code: int | None
    """None where the program was broken off in the middle, and nobody knows."""
    time: str = ""
    """When it ended, as the time of an event; empty where that is not known."""
    duration_s: float = 0.0
    ending: str = ""
    """How it ended where that is more than an exit code: time limit, out of memory, cancelled."""
    files: tuple[FileInfo, ...] = ()
    pictures: tuple[Picture, ...] = ()
    edited: bool = False
    """The code is not what the message proposed: the human changed it."""
    redacted: bool = False
    """A secret in the code was replaced by a mark: it does not run as it stands here."""

    @property
    def kept_as(self) -> str:
        """The file that holds the block itself, which others may import or start; empty where it kept none."""
        own = hashlib.sha256(self.code.encode("utf-8", "replace")).hexdigest()
        return next((file.path for file in self.files if file.sha256 == own and file.change != "deleted"), "")


Step = TaskEvent | MessageEvent | ReviewEvent | QuestionEvent | AnswerEvent | NoticeEvent | ErrorEvent | StopEvent | Run


@dataclass(frozen=True)
class Story:
    """A session, told."""

    info: SessionInfo
    steps: tuple[Step, ...]
    inputs: tuple[tuple[StoredFile, bytes], ...] = ()
    """Files that the session began with and that the store kept."""
    inputs_missing: tuple[str, ...] = ()
    """Names of files that the session began with and that are not here."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """The blocks that ran, in order."""
        return tuple(step for step in self.steps if isinstance(step, Run))


def read_story(store: Store, session: str) -> Story:
    """Read a session from the store. Raises `StoreError`."""
    teller = _Teller(store, session)
    for event in store.events(session):
        teller.take(event)
    made = {file.path for run in teller.runs() for file in run.files}
    inputs: list[tuple[StoredFile, bytes]] = []
    missing: list[str] = []
    for file in store.files(session):
        if file.path in made:
            continue
        data = store.content(session, file.sha256) if file.size <= _INPUT_BYTES and not file.omitted else None
        if data is None:
            missing.append(file.path)
        else:
            inputs.append((file, data))
    return Story(store.info(session), tuple(teller.end()), tuple(inputs), tuple(missing))


@dataclass
class _Open:
    """A run whose end has not been read yet."""

    message: str
    index: int
    pieces: list[tuple[str, str]] = field(default_factory=list)


class _Teller:
    """Gathers steps from events."""

    def __init__(self, store: Store, session: str) -> None:
        self._store = store
        self._session = session
        self._steps: list[Step] = []
        self._open: _Open | None = None
        self._approved: dict[tuple[str, int], ApprovalEvent] = {}
        self._proposed: dict[tuple[str, int], tuple[str, str]] = {}

    def take(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, OutputEvent):
            self._output(event)
        elif isinstance(event, ApprovalEvent):
            self._approved[event.message, event.index] = event
        elif isinstance(event, ExecutionEvent):
            self._steps.append(self._run(event))
            self._open = None
        else:
            self._broken_off()
            if isinstance(event, MessageEvent):
                for block in event.blocks:
                    self._proposed[event.id, block.index] = (block.language, block.digest)
            said_again = isinstance(event, AnswerEvent) and event.kind in ("feedback", "stuck")  # a message says it too
            if not said_again:
                self._steps.append(event)

    def runs(self) -> Iterable[Run]:
        """The runs so far."""
        return (step for step in self._steps if isinstance(step, Run))

    def end(self) -> list[Step]:
        """All steps; a run that is open is one that broke off."""
        self._broken_off()
        return self._steps

    def _output(self, event: OutputEvent) -> None:
        place = (event.message, event.index)
        if self._open is None or (self._open.message, self._open.index) != place:
            self._broken_off()
            self._open = _Open(*place)
        pieces = self._open.pieces
        if pieces and pieces[-1][0] == event.stream:
            pieces[-1] = (event.stream, pieces[-1][1] + event.text)
        else:
            pieces.append((event.stream, event.text))

    def _run(self, event: ExecutionEvent) -> Run:
        place = (event.message, event.index)
        known = self._open if self._open and (self._open.message, self._open.index) == place else None
        pieces = tuple(known.pieces) if known and not event.truncated else ()
        if not pieces and event.output:
            pieces = (("stdout", event.output),)
        approval = self._approved.pop(place, None)
        ending = "time limit" if event.timed_out else "out of memory" if event.oom else ""
        return Run(
            message=event.message,
            index=event.index,
            language=event.language,
            code=event.code,
            digest=event.digest,
            by=approval.by if approval and approval.digest == event.digest else "",
            pieces=pieces,
            exit_code=event.exit_code,
            time=event.time,
            duration_s=event.duration_s,
            ending="cancelled" if event.cancelled else ending,
            files=event.files,
            pictures=tuple(self._pictures(event)),
            edited=place in self._proposed and self._proposed[place][1] != event.digest,
            redacted=event.redacted and "[redacted:" in event.code,
        )

    def _broken_off(self) -> None:
        if self._open is None:
            return
        place = (self._open.message, self._open.index)
        approval = self._approved.pop(place, None)
        language, digest = self._proposed.get(place, ("", ""))
        self._steps.append(
            Run(
                message=place[0],
                index=place[1],
                language=language,
                code="",
                digest=approval.digest if approval else digest,
                by=approval.by if approval else "",
                pieces=tuple(self._open.pieces),
                exit_code=None,
                ending="broken off",
            )
        )
        self._open = None

    def _pictures(self, event: ExecutionEvent) -> Iterable[Picture]:
        for file in event.files:
            media_type = PICTURES.get(PurePosixPath(file.path).suffix.lower())
            if media_type is None or file.change == "deleted":
                continue
            data = self._store.content(self._session, file.sha256) or self._from_work_dir(file)
            if data:
                yield Picture(file.path, media_type, data)

    def _from_work_dir(self, file: FileInfo) -> bytes | None:
        """A file that the store does not have, from where it was left, if it still is what it was."""
        work_dir = self._store.info(self._session).work_dir
        if not work_dir or not file.sha256 or file.size > _PICTURE_BYTES:
            return None
        path = Path(work_dir, file.path)
        try:
            if not path.resolve().is_relative_to(Path(work_dir).resolve()) or path.stat().st_size != file.size:
                return None
            data = path.read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == file.sha256 else None
