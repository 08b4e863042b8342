"""From an event to what is kept of it: numbered, dated, secrets replaced."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from sessions.events import Event, OutputEvent, load_event
from sessions.redaction import Redactor
from sessions.store import now
from utils.errors import StoreError

_SURROGATES = re.compile("[\ud800-\udfff]")


class Recorder:
    """Prepares the events of one session. Follows each stream of output: a secret may come in two pieces."""

    def __init__(self, session: str, seq: int, redactor: Redactor) -> None:
        self.session = session
        self.seq = seq
        """Number of the last event that was recorded."""
        self._redactor = redactor
        self._streams: dict[tuple[str, int, str], Callable[[str], str]] = {}

    def prepare(self, event: Event) -> tuple[Event, str]:
        """The event as it is to be kept, and its JSON. `seq` grows only when `kept` is called."""
        event = event.model_copy(
            update={"seq": self.seq + 1, "time": event.time or now(), "session": self.session, "redacted": False}
        )
        if isinstance(event, OutputEvent):
            event = self._clean_output(event)
        else:
            self._streams.clear()
        try:
            body = event.model_dump_json()
        except PydanticSerializationError:  # lone surrogates, which no encoding can carry
            event = load_event(_without_surrogates(event.model_dump()))
            body = event.model_dump_json()
        if self._redactor.may_hold_secret(body):
            data = event.model_dump(mode="json")
            cleaned = self._redactor.clean_data(data)
            if cleaned != data:
                event = load_event({**cleaned, "redacted": True})
                body = event.model_dump_json()
        return event, body

    def kept(self) -> None:
        """The event that was prepared last is in the store."""
        self.seq += 1

    def _clean_output(self, event: OutputEvent) -> OutputEvent:
        key = (event.message, event.index, event.stream)
        if key not in self._streams:
            self._streams[key] = self._redactor.stream()
        text = self._streams[key](event.text)
        return event if text == event.text else event.model_copy(update={"text": text, "redacted": True})


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


def _without_surrogates(data: Any) -> Any:
    """The data with each lone surrogate replaced by U+FFFD."""
    if isinstance(data, str):
        return _SURROGATES.sub("\ufffd", data)
    if isinstance(data, dict):
        return {key: _without_surrogates(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_without_surrogates(value) for value in data]
    return data
