"""What a session that broke off left open, read from its events and approvals."""

from __future__ import annotations

from collections.abc import Iterable

from sessions.events import AnswerEvent, Event, ExecutionEvent, MessageEvent, QuestionEvent, TaskEvent
from sessions.store import Approval, Interrupted


def find_interrupted(events: Iterable[Event], approvals: Iterable[Approval]) -> Interrupted:
    """Runs of the latest message without an end, and the last question when nothing answered or outran it."""
    ended: dict[tuple[str, int, str], int] = {}
    latest = ""
    question: QuestionEvent | None = None
    for event in events:
        if isinstance(event, ExecutionEvent):
            ended[event.message, event.index, event.digest] = event.seq
        elif isinstance(event, QuestionEvent):
            question = event
        elif isinstance(event, AnswerEvent):
            question = None if question and question.id == event.question else question
        elif isinstance(event, TaskEvent):
            question, latest = None, ""
        elif isinstance(event, MessageEvent):
            question = None
            latest = event.id if event.blocks else latest
    runs = {
        (run.index, run.digest): run
        for run in approvals
        if run.message == latest
        and run.taken_seq is not None
        and ended.get((run.message, run.index, run.digest), 0) <= run.taken_seq
    }
    return Interrupted(runs=tuple(runs.values()), question=question)
