"""Files in the database: contents by their digest, shared by all sessions, and the list of each workspace."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from sessions.database import Database
from sessions.store import StoredFile

_PART_BYTES = 1 << 20
"""A large content is written in parts of this size, so that no other write waits for more than one of them."""


def keep(database: Database, session: str, data: bytes) -> None:
    """Keep a content for a session; nothing is written twice."""
    sha256 = hashlib.sha256(data).hexdigest()
    starts = range(0, max(len(data), 1), _PART_BYTES)
    if not database.rows("SELECT 1 FROM contents WHERE sha256 = ?", (sha256,)):
        for part, start in enumerate(starts):
            database.write(
                "INSERT OR IGNORE INTO content_parts (sha256, part, data) VALUES (?, ?, ?)",
                (sha256, part, data[start : start + _PART_BYTES]),
            )
    with database.transaction() as connection:
        there = connection.execute("SELECT count(*) FROM content_parts WHERE sha256 = ?", (sha256,)).fetchone()[0]
        if there < len(starts):  # another program that removed a session took the parts for left-overs
            connection.executemany(
                "INSERT OR IGNORE INTO content_parts (sha256, part, data) VALUES (?, ?, ?)",
                [(sha256, part, data[start : start + _PART_BYTES]) for part, start in enumerate(starts)],
            )
        connection.execute("INSERT OR IGNORE INTO contents (sha256, parts) VALUES (?, ?)", (sha256, len(starts)))
        connection.execute("INSERT OR IGNORE INTO kept_contents (session, sha256) VALUES (?, ?)", (session, sha256))


def read(database: Database, session: str, sha256: str) -> bytes | None:
    """A content that was kept for the session; None where it was not, or is not whole."""
    rows = database.rows(
        "SELECT data FROM content_parts WHERE sha256 = ?"
        " AND EXISTS (SELECT 1 FROM kept_contents WHERE session = ? AND sha256 = content_parts.sha256) ORDER BY part",
        (sha256, session),
    )
    data = b"".join(row[0] for row in rows)
    return data if rows and hashlib.sha256(data).hexdigest() == sha256 else None


def save_files(database: Database, session: str, files: Sequence[StoredFile]) -> None:
    """Put the list of the workspace's files in the place of the former one, in one transaction."""
    with database.transaction() as connection:
        connection.execute("DELETE FROM files WHERE session = ?", (session,))
        connection.executemany(
            "INSERT INTO files (session, path, size, sha256, mode, omitted) VALUES (?, ?, ?, ?, ?, ?)",
            [(session, file.path, file.size, file.sha256, file.mode, file.omitted) for file in files],
        )


def read_files(database: Database, session: str) -> tuple[StoredFile, ...]:
    """The workspace of a session, by path."""
    rows = database.rows(
        "SELECT path, size, sha256, mode, omitted FROM files WHERE session = ? ORDER BY path", (session,)
    )
    return tuple(
        StoredFile(path=path, size=size, sha256=sha256, mode=mode, omitted=omitted)
        for path, size, sha256, mode, omitted in rows
    )


def forget_unused(connection: sqlite3.Connection) -> None:
    """Delete the contents that no session keeps."""
    connection.execute("DELETE FROM contents WHERE sha256 NOT IN (SELECT sha256 FROM kept_contents)")
    connection.execute("DELETE FROM content_parts WHERE sha256 NOT IN (SELECT sha256 FROM contents)")
