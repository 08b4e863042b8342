"""One live program at a time holds a session: a lock on a file, which the kernel gives up when the program dies."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from datetime import datetime, timezone
from pathlib import Path

from utils.errors import SessionBusyError, StoreError


class SessionLock:
    """The hold of one session. Made by `acquire`, ended by `release` or by the death of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, directory: Path, session: str) -> SessionLock:
        """Take the session. Raises `SessionBusyError`, naming the holder, and `StoreError` where no file can be."""
        path = _path(directory, session)
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            while True:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                if not _try_lock(descriptor):
                    os.close(descriptor)
                    raise busy(directory, session)
                if _is_current(path, descriptor):
                    break
                os.close(descriptor)
            _write_holder(descriptor)
        except OSError as error:
            raise StoreError(
                f"Session {session} cannot be locked: {error.strerror or error}.",
                "Check that the data directory can be written and has room, or choose another with --data-dir.",
            ) from error
        return cls(path, descriptor)

    def release(self) -> None:
        """Give the session up; harmless when repeated."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            pass  # a left-over lock file that nobody holds says nothing
        finally:
            os.close(descriptor)


def holder(directory: Path, session: str) -> str | None:
    """Who holds the session, in words (`pid 4242, since 2026-01-31 12:00:05 UTC`); None where nobody does."""
    try:
        descriptor = os.open(_path(directory, session), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if _try_lock(descriptor, shared=True):
            return None
        return _read_holder(descriptor)
    finally:
        os.close(descriptor)


def busy(directory: Path, session: str) -> SessionBusyError:
    """The error for a session that somebody else holds."""
    who = holder(directory, session) or "another program"
    return SessionBusyError(
        f"Session {session} is in use by another program ({who}).",
        "Go on there, or end that program first.",
    )


def _path(directory: Path, session: str) -> Path:
    return directory / f"{session}.lock"


def _try_lock(descriptor: int, shared: bool = False) -> bool:
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_current(path: Path, descriptor: int) -> bool:
    """Whether the locked file is still the one that the path names: a releasing holder removes it."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    ours = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _write_holder(descriptor: int) -> None:
    since = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    with contextlib.suppress(OSError):  # on a full disk the lock holds all the same, only without a name
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "since": since}).encode(), 0)


def _read_holder(descriptor: int) -> str:
    try:
        data = json.loads(os.pread(descriptor, 4096, 0))
        return f"pid {int(data['pid'])}, since {data['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "pid not known yet"
