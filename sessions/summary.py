"""What the list of sessions counts, event by event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sessions.events import Event, ExecutionEvent, MessageEvent, ReviewEvent, StopEvent, TaskEvent, Usage
from sessions.store import SessionInfo


@dataclass(frozen=True)
class Change:
    """What one event changes in the line of its session."""

    task: str = ""
    """Set where the line has none yet."""
    model: str = ""
    state: str = ""
    work_dir: str = ""
    blocks: int = 0
    usage: Usage = field(default_factory=Usage)


def models_of(info: SessionInfo, events: Iterable[object]) -> str:
    """The models that wrote the session, in order; the one that would have, where none has written anything."""
    wrote = [event.model for event in events if isinstance(event, MessageEvent) and event.model]
    return ", ".join(dict.fromkeys(wrote)) or info.model


def change_of(event: Event) -> Change | None:
    """The change that an event makes; None for the many that make none."""
    if isinstance(event, TaskEvent):
        return Change(task=event.text, model=event.model, state="running")
    if isinstance(event, MessageEvent | ReviewEvent):
        return Change(usage=event.usage) if event.usage.calls else None
    if isinstance(event, ExecutionEvent):
        return Change(blocks=1)
    if isinstance(event, StopEvent):
        return Change(state=event.reason, work_dir=event.work_dir)
    return None
