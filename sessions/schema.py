"""The tables of the session database, by version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from utils.errors import StoreError

_VERSION_1 = (
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        task TEXT NOT NULL,
        model TEXT NOT NULL,
        state TEXT NOT NULL,
        work_dir TEXT NOT NULL DEFAULT '',
        blocks INTEGER NOT NULL DEFAULT 0,
        prompt_tokens INTEGER NOT NULL DEFAULT 0,
        completion_tokens INTEGER NOT NULL DEFAULT 0,
        calls INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE removals (session TEXT PRIMARY KEY) WITHOUT ROWID
    """,
    """
    CREATE TABLE events (
        session TEXT NOT NULL REFERENCES sessions (id),
        seq INTEGER NOT NULL,
        type TEXT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    )
    """,
    """
    CREATE TRIGGER events_in_order BEFORE INSERT ON events
    WHEN NEW.seq != 1 + coalesce((SELECT max(seq) FROM events WHERE session = NEW.session), 0)
    BEGIN SELECT raise(ABORT, 'events are numbered without gaps'); END
    """,
    """
    CREATE TRIGGER events_stay_as_they_are BEFORE UPDATE ON events
    BEGIN SELECT raise(ABORT, 'events are append-only'); END
    """,
    """
    CREATE TRIGGER events_go_with_their_session BEFORE DELETE ON events
    WHEN NOT EXISTS (SELECT 1 FROM removals WHERE session = OLD.session)
    BEGIN SELECT raise(ABORT, 'events are append-only'); END
    """,
    """
    CREATE TABLE turns (
        session TEXT PRIMARY KEY REFERENCES sessions (id),
        seq INTEGER NOT NULL,
        state TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE approvals (
        number INTEGER PRIMARY KEY,
        session TEXT NOT NULL REFERENCES sessions (id),
        message TEXT NOT NULL,
        place INTEGER NOT NULL,
        digest TEXT NOT NULL,
        given_by TEXT NOT NULL,
        policy TEXT NOT NULL,
        seq INTEGER NOT NULL,
        time TEXT NOT NULL
    )
    """,
    "CREATE INDEX approvals_by_place ON approvals (session, message, place)",
    """
    CREATE TABLE taken (
        approval INTEGER PRIMARY KEY REFERENCES approvals (number),
        seq INTEGER NOT NULL,
        time TEXT NOT NULL
    )
    """,
    """
    CREATE TRIGGER taken_stays BEFORE UPDATE ON taken
    BEGIN SELECT raise(ABORT, 'an approval is used once'); END
    """,
    """
    CREATE TRIGGER taken_goes_with_its_session BEFORE DELETE ON taken
    WHEN NOT EXISTS (
        SELECT 1 FROM approvals JOIN removals USING (session) WHERE approvals.number = OLD.approval
    )
    BEGIN SELECT raise(ABORT, 'an approval is used once'); END
    """,
    """
    CREATE TABLE standing (
        session TEXT NOT NULL REFERENCES sessions (id),
        digest TEXT NOT NULL,
        time TEXT NOT NULL,
        PRIMARY KEY (session, digest)
    ) WITHOUT ROWID
    """,
)

_VERSION_2 = (
    """
    CREATE TABLE contents (
        sha256 TEXT PRIMARY KEY,
        parts INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE content_parts (
        sha256 TEXT NOT NULL,
        part INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (sha256, part)
    )
    """,
    """
    CREATE TABLE kept_contents (
        session TEXT NOT NULL REFERENCES sessions (id),
        sha256 TEXT NOT NULL REFERENCES contents (sha256),
        PRIMARY KEY (session, sha256)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX kept_contents_by_content ON kept_contents (sha256)",
    """
    CREATE TABLE files (
        session TEXT NOT NULL REFERENCES sessions (id),
        path TEXT NOT NULL,
        size INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        mode INTEGER NOT NULL,
        omitted TEXT NOT NULL,
        PRIMARY KEY (session, path)
    ) WITHOUT ROWID
    """,
)

# Nothing was ever in it: "always these bytes" is part of the team's state, which is saved with the turn.
_VERSION_3 = ("DROP TABLE standing",)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_VERSION_1, _VERSION_2, _VERSION_3)
"""Statements that lead from each version to the next; a new database starts from version 0."""

VERSION = len(MIGRATIONS)
"""Version of the tables that this program reads and writes."""


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the database to `VERSION`, in one transaction. Raises `StoreError` for one of a newer version."""
    if _version(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statements in MIGRATIONS[_version(connection, path) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `StoreError` for a database that cannot be read as it is: a newer version, or an older one."""
    version = _version(connection, path)
    if version < VERSION:
        raise StoreError(
            f"The session database {path} is of version {version} and would have to be brought to {VERSION}, "
            "but it cannot be written.",
            "Make its directory writable, or copy it elsewhere and name that directory with --data-dir.",
        )


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise StoreError(
            f"The session database {path} is of version {version}; this program reads versions up to {VERSION}.",
            "It was written by a newer release: update the program, or choose another directory with --data-dir.",
        )
    return version
