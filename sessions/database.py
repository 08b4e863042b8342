"""The connection to the session database: how it is opened, and what its failures mean to the user."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sessions import schema
from utils.errors import StoreError

BUSY_TIMEOUT_S = 5.0
"""Seconds to wait for another program's write, which takes a millisecond."""


class Database:
    """One connection in WAL mode, usable from several threads, whose failures are `StoreError`.

    `limit_bytes` bounds the size of the file; 0: only the disk does. With `read_only` nothing is written but
    the tables of an older version brought up to date, and a database on a full or read-only disk can still be read.
    """

    def __init__(self, path: Path, *, limit_bytes: int = 0, read_only: bool = False) -> None:
        self.path = path
        self._lock = threading.RLock()
        with self.failures():
            self._connection = _open_to_read(path) if read_only else _open_to_write(path)
            if limit_bytes:
                page_bytes = self._connection.execute("PRAGMA page_size").fetchone()[0]
                self._connection.execute(f"PRAGMA max_page_count = {max(1, limit_bytes // page_bytes)}")

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """All rows of a query."""
        with self._lock, self.failures():
            return self._connection.execute(statement, values).fetchall()

    def write(self, statement: str, values: tuple[Any, ...]) -> None:
        """One statement as a transaction of its own: on return it survives the death of the process."""
        with self._lock, self.failures():
            self._connection.execute(statement, values)

    @contextlib.contextmanager
    def transaction(self, *, flush: bool = False) -> Iterator[sqlite3.Connection]:
        """Several statements, all or none. With `flush` they are on the disk on return: they survive a power loss."""
        with self._lock, self.failures():
            connection = self._connection
            if flush:
                connection.execute("PRAGMA synchronous = FULL")
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                if flush:
                    connection.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Close the connection; harmless when repeated."""
        with self._lock, self.failures():
            self._connection.close()

    @contextlib.contextmanager
    def failures(self) -> Iterator[None]:
        """Tell every failure of the database or its disk as `StoreError`."""
        try:
            yield
        except sqlite3.ProgrammingError as error:
            if "closed" not in str(error):
                raise
            raise StoreError("The session store is closed.", "Open it again.") from error
        except (sqlite3.Error, OSError) as error:
            raise _explained(error, self.path) from error


def _open_to_write(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Made here first, so that nobody else can ever read it; SQLite gives its -wal and -shm the same mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = _connect(f"{path.absolute().as_uri()}?mode=rw")
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        schema.migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Open without writing a byte to the data.

    A WAL database needs a shared index beside it, which a full or read-only disk has no room for: the second way keeps
    that index in memory, the third reads the main file alone.
    """
    if not path.exists():
        raise StoreError(f"There are no sessions yet: {path} is not there.", "Is --data-dir the right directory?")
    with contextlib.suppress(sqlite3.Error, OSError):
        _open_to_write(path).close()
    address = path.absolute().as_uri()
    ways = (("mode=rw", False), ("mode=rw", True), ("mode=ro", False), ("mode=ro&immutable=1", False))
    failure: sqlite3.Error | None = None
    for parameters, alone in ways:
        connection = _connect(f"{address}?{parameters}")
        try:
            if alone:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA query_only = ON")
            schema.check_version(connection, path)
            connection.execute("SELECT count(*) FROM sessions").fetchone()
        except sqlite3.Error as error:
            failure = failure or error
            connection.close()
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    assert failure is not None
    raise failure


def _connect(address: str) -> sqlite3.Connection:
    return sqlite3.connect(
        address, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=64
    )


def _explained(error: Exception, path: Path) -> StoreError:
    """What a failure of SQLite or of the file system means, and what to do."""
    text = str(error)
    if isinstance(error, OSError):
        text = error.strerror or text
    low = text.lower()
    if "full" in low or "no space" in low or "quota" in low:
        return StoreError(
            f"The disk, or the limit set for the session store, is full: {path} cannot grow.",
            "What was saved stays readable. Remove sessions (rm ID), free space, or use another --data-dir.",
        )
    if "locked" in low or "busy" in low:
        return StoreError(
            f"The session store {path} is locked by another program ({text}).", "Wait for that program, or end it."
        )
    if "readonly" in low or "read-only" in low or "unable to open" in low or "permission" in low:
        return StoreError(
            f"The session store {path} cannot be opened or written: {text}.",
            "Make its directory writable, or choose another with --data-dir.",
        )
    if "malformed" in low or "not a database" in low or "corrupt" in low:
        return StoreError(
            f"The session store {path} is damaged: {text}.",
            f"Move it away and start afresh; `sqlite3 {path.name} .recover` may save what is readable.",
        )
    return StoreError(
        f"The session store {path} failed: {text}.", "Check the disk that it lies on, or use another --data-dir."
    )
