"""One task for a program: events go out as JSON lines on standard output, answers come in on standard input."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from interfaces.terminal.answers import BadAnswerError, read_answer
from interfaces.terminal.input_lines import MAX_LINE_BYTES, InputLines, LineTooLongError, can_answer
from interfaces.terminal.signals import Interruption
from sessions.events import EXIT_STATUS, Event, QuestionEvent, StopEvent
from sessions.progress import Progress
from sessions.questions import Answer, Question
from utils.errors import ConfigurationError, EndOfInputError

if TYPE_CHECKING:
    from sessions.store import Store
    from teams.conversation import Conversation
    from utils.settings import Settings


async def json_lines(settings: Settings, *, store: Store, session: str | None, task: str | None) -> int:
    """Do one task, or go on with the one that broke off where `task` is None. Returns the exit status.

    Raises `ConfigurationError` and `StoreError` before the first event.
    """
    from teams.assembly import assemble

    with _only_events_on_stdout() as output:
        interface = JsonLines(output)
        ask = interface.ask if can_answer() else None
        conversation = assemble(settings, listener=interface, ask=ask, store=store, session=session)
        interface.on_reader_gone = conversation.cancel
        with Interruption(conversation.cancel) as interruption:
            try:
                stop = await _run(conversation, task, resumed=session is not None)
            except asyncio.CancelledError:
                if not interruption.exit_status:
                    raise
                return interruption.exit_status
            finally:
                await conversation.close()
        return interruption.exit_status or EXIT_STATUS[stop.reason]


async def _run(conversation: Conversation, task: str | None, *, resumed: bool) -> StopEvent:
    """Go on with what broke off, then do the task."""
    stop = await conversation.resume() if resumed else None
    if task is not None and (stop is None or stop.reason != "interrupted"):
        stop = await conversation.run(task)
    if stop is None:
        raise ConfigurationError("The last task of this session has ended.", 'Give another one with -t "TASK".')
    return stop


class JsonLines:
    """Writes each event as one line and reads the answers."""

    def __init__(self, output: int, lines: InputLines | None = None) -> None:
        self._output = output
        self._lines = lines or InputLines()
        self._gone = False
        self._asked = ""
        self.on_reader_gone: Callable[[], None] = lambda: None
        """Called once, when nobody reads the events any more."""

    def on_event(self, event: Event) -> None:
        """Write the event, the same object that the store keeps."""
        if isinstance(event, QuestionEvent):
            self._lines.mark()
            self._asked = event.id
        # ASCII: a terminal that shows the lines obeys nothing in them, and a lone surrogate has no bytes of its own.
        self._write(json.dumps(event.model_dump(mode="json")).encode() + b"\n")

    def on_progress(self, progress: Progress) -> None:
        """Leave out what is only for a screen that lives."""

    async def ask(self, question: Question) -> Answer:
        """Wait for a line that answers the question; say on standard error what is wrong with one that does not."""
        if question.id != self._asked:
            self._lines.mark()
        while True:
            try:
                line = await self._lines.next()
                if line is None:
                    raise EndOfInputError("The input ended at a question.", "Answer it after --resume.")
                if line.strip():
                    return read_answer(line, question, early=self._lines.early)
            except LineTooLongError:
                _complain(f"it is longer than {MAX_LINE_BYTES // 1_000_000} MB", question)
            except BadAnswerError as error:
                _complain(str(error), question)

    def _write(self, data: bytes) -> None:
        try:
            while data and not self._gone:
                data = data[os.write(self._output, data) :]
        except BrokenPipeError:
            self._gone = True
            self.on_reader_gone()


def _complain(reason: str, question: Question) -> None:
    from interfaces.terminal.command_line import tell

    tell(f"That line does not answer the question {question.id} ({question.kind}): {reason}. Another line, please.")


@contextlib.contextmanager
def _only_events_on_stdout() -> Iterator[int]:
    """Give a descriptor of standard output, and send whatever else is printed meanwhile to standard error."""
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield output
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)
