"""The approvals of a session in the database: given, then used up once."""

from __future__ import annotations

from collections.abc import Callable

from sessions.database import Database
from sessions.store import Approval, By, now
from utils.errors import NotApprovedError


class SqliteApprovalLog:
    """The durable side of one session's gate. `seq` tells the number of the session's last event."""

    def __init__(self, database: Database, session: str, seq: Callable[[], int]) -> None:
        self._database = database
        self._session = session
        self._seq = seq

    def approved(self, message: str, index: int, digest: str, by: By, policy: str) -> None:
        """Record that exactly these bytes at this place may run once."""
        self._database.write(
            "INSERT INTO approvals (session, message, place, digest, given_by, policy, seq, time)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (self._session, message, index, digest, by, policy, self._seq(), now()),
        )

    def taken(self, message: str, index: int, digest: str) -> None:
        """Use the approval up. Raises `NotApprovedError` where none is left.

        On the disk before it returns, so that not even a power loss lets the block run twice. A place has one open
        approval at most, the last that was given for it.
        """
        seq, time = self._seq(), now()
        with self._database.transaction(flush=True) as connection:
            used = connection.execute(
                "INSERT INTO taken (approval, seq, time) SELECT number, ?, ? FROM approvals"
                " WHERE number = (SELECT max(number) FROM approvals WHERE session = ? AND message = ? AND place = ?)"
                " AND digest = ? AND number NOT IN (SELECT approval FROM taken)",
                (seq, time, self._session, message, index, digest),
            ).rowcount
        if not used:
            raise NotApprovedError(
                f"Block {index + 1} of message {message} has no approval left: nothing ran.",
                "It needs a new approval.",
            )


def read_approvals(database: Database, session: str) -> tuple[Approval, ...]:
    """Every approval of a session, in order."""
    rows = database.rows(
        "SELECT message, place, digest, given_by, policy, approvals.seq, taken.seq FROM approvals"
        " LEFT JOIN taken ON taken.approval = number WHERE session = ? ORDER BY number",
        (session,),
    )
    return tuple(
        Approval(message=message, index=place, digest=digest, by=by, policy=policy, seq=seq, taken_seq=taken)
        for message, place, digest, by, policy, seq, taken in rows
    )
