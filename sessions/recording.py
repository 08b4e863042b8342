"""From an event to what is kept of it: numbered, dated, secrets replaced."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from sessions.events import Event, OutputEvent, load_event
from sessions.redaction import Redactor
from sessions.store import now
from utils.errors import StoreError


class Recorder:
    """Prepares the events of one session. Remembers the end of each output stream: a secret may come in two pieces."""

    def __init__(self, session: str, seq: int, redactor: Redactor) -> None:
        self.session = session
        self.seq = seq
        """Number of the last event that was recorded."""
        self._redactor = redactor
        self._tails: dict[str, str] = {}

    def prepare(self, event: Event) -> tuple[Event, str]:
        """The event as it is to be kept, and its JSON. `seq` grows only when `kept` is called."""
        event = event.model_copy(
            update={"seq": self.seq + 1, "time": event.time or now(), "session": self.session, "redacted": False}
        )
        if isinstance(event, OutputEvent):
            before = self._tails.get(event.stream, "")
            text = self._redactor.clean_piece(before, event.text)
            self._tails[event.stream] = (before + event.text)[-self._redactor.reach :]
            if text is not event.text:
                event = event.model_copy(update={"text": text, "redacted": True})
        else:
            self._tails.clear()
        body = event.model_dump_json()
        # The escapes of JSON can hide a secret from the quick look, but they always leave a backslash.
        if "\\" not in body and self._redactor.clean(body) is body:
            return event, body
        data = event.model_dump(mode="json")
        cleaned = self._redactor.clean_data(data)
        if cleaned != data:
            event = load_event({**cleaned, "redacted": True})
            body = event.model_dump_json()
        return event, body

    def kept(self) -> None:
        """The event that was prepared last is in the store."""
        self.seq += 1


def read_event(body: dict[str, Any], session: str, seq: int) -> Event:
    """An event that was kept. Raises `StoreError` for one that this release does not know."""
    try:
        return load_event(body)
    except ValidationError as error:
        kind = body.get("type")
        raise StoreError(
            f"Event {seq} of session {session} (type {kind!r}) cannot be read: {error.error_count()} fields differ.",
            "It was written by another release of the program: open the session with that one.",
        ) from error
