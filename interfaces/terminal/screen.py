"""What is shown of a conversation: every event and every piece of progress, as it comes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from interfaces.terminal.hanging import mark
from interfaces.terminal.live import LiveRegion
from interfaces.terminal.outlet import GAP, batch
from interfaces.terminal.pictures import Pictures
from interfaces.terminal.plain import counted, one_line, seconds, size
from interfaces.terminal.program_output import ProgramOutput
from interfaces.terminal.rounds import Round
from interfaces.terminal.status import Status
from interfaces.terminal.stream import MarkdownStream
from interfaces.terminal.summary import error_line, summary
from interfaces.terminal.thoughts import Thoughts
from interfaces.terminal.verdicts import review_parts
from sandbox.languages import find
from sessions.events import (
    AnswerEvent,
    ErrorEvent,
    Event,
    ExecutionEvent,
    MessageEvent,
    NoticeEvent,
    OutputEvent,
    QuestionEvent,
    ReviewEvent,
    StopEvent,
    TaskEvent,
)
from sessions.progress import Delta, Progress, Step, Waiting

_FRAME_S = 0.08
"""Time between two drawings of what is live, seconds."""
_NAMES = 30
"""Files of one block that are named on the screen; the event has all."""
_STARTS_AGAIN = ("retry", "shortened", "fallback")
"""Kinds of notice after which the message begins anew."""


class Screen:
    """Listens to a conversation and shows it.

    What is finished is printed once and stays; what is not yet lives in the last lines, where the terminal can.
    """

    def __init__(self, console: Console, *, work_dir: Callable[[], Path | None] = lambda: None) -> None:
        self.console = console
        self.status = Status(console.encoding)
        self.latest: MessageEvent | None = None
        """The generator's last message that had code to run."""
        self._work_dir = work_dir
        self._pictures = Pictures(console)
        self._live = LiveRegion(console)
        self._round = Round()
        self._words: MarkdownStream | None = None
        self._thoughts: Thoughts | None = None
        self._output: ProgramOutput | None = None
        self._review: ReviewEvent | None = None
        self._held: list[RenderableType] | None = None
        self._after_gap = True
        self._told = ""

    # -- showing -------------------------------------------------------------------------------------------------

    def print(self, *parts: RenderableType) -> None:
        """Show these for good, above what is live. While the prompt is open they wait for its end."""
        if self._held is not None:
            self._held += parts
            return
        with batch(self.console):
            self._live.clear()
            for part in parts:
                if part is not GAP or not self._after_gap:
                    self.console.print(part, crop=False)
                self._after_gap = part is GAP
            self.draw()

    def draw(self) -> None:
        """Draw what is live anew."""
        if not self._live.enabled or self._held is not None:
            return
        tails = (self._thoughts, self._words, self._output)
        parts = [part for each in tails if each and (part := each.tail())]
        if line := self.status.line():
            parts += [GAP, line] if parts else [line]
        if parts:
            self._live.draw(Group(*parts))
        else:
            self._live.clear()

    def hold(self) -> None:
        """The prompt opens: nothing may be drawn until `release`."""
        self._live.clear()
        self._held = []

    def release(self) -> None:
        """The prompt is gone: show what has waited."""
        held, self._held = self._held or [], None
        self._after_gap = False
        if held:
            self.print(*held)

    async def animate(self) -> None:
        """Keep what is live moving, until cancelled."""
        while True:
            await asyncio.sleep(_FRAME_S)
            if self._live.enabled:
                self.draw()
            elif patience := self.status.patience():
                self.print(patience)

    def close(self) -> None:
        """Leave the terminal as it was: finished lines only, and the cursor there."""
        self._end_words()
        self._end_output()
        self.status.clear()
        self._live.clear()

    # -- progress ------------------------------------------------------------------------------------------------

    def on_progress(self, progress: Progress) -> None:
        """Show what happens between two events."""
        if isinstance(progress, Delta):
            self._on_delta(progress)
        elif isinstance(progress, Waiting):
            self._on_waiting(progress)
        else:
            self._on_step(progress)

    def _on_delta(self, delta: Delta) -> None:
        if delta.thought:
            self._thoughts = self._thoughts or Thoughts()
            self.print_if(self._thoughts.feed(delta.text))
            return
        self._end_thoughts()
        if self._words is None:
            self._words = MarkdownStream()
        self.status.words_came()
        self.print_if(self._words.feed(delta.text))

    def _on_waiting(self, waiting: Waiting) -> None:
        self._end_words()
        again = f"again in {seconds(waiting.delay_s)}" if waiting.delay_s >= 0.1 else "again"
        of = f"try {waiting.attempt} of {waiting.attempts}" if waiting.attempts else f"try {waiting.attempt}"
        self.print(mark(f"{one_line(waiting.reason, 300)}: {again} ({of})", "notice"))
        self.status.restart()

    def _on_step(self, step: Step) -> None:
        if step.state == "started":
            if step.step == "generating":
                self._end_words()
                self._end_round()
            self.status.start(step)
        else:
            self.status.end(step)
        self.draw()

    # -- events --------------------------------------------------------------------------------------------------

    def on_event(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, QuestionEvent):
            self.before_question(event.kind, len(event.blocks))
            return
        if isinstance(event, OutputEvent):
            self._on_output(event)
            return
        if not isinstance(event, AnswerEvent) and not _is_pass(event):
            self._show_review()
        if isinstance(event, MessageEvent):
            self._on_message(event)
        elif isinstance(event, ReviewEvent):
            self._round.reviewed(event)
            self._review = event
        elif isinstance(event, AnswerEvent):
            self._round.answered(event)
        elif isinstance(event, ExecutionEvent):
            self._on_execution(event)
        elif isinstance(event, NoticeEvent):
            if event.kind in _STARTS_AGAIN:
                self._end_words()
            self.print(mark(one_line(event.text), "notice"))
        elif isinstance(event, ErrorEvent):
            self._end_words()
            self._told = f"{event.text} {event.hint}".strip()
            self.print(error_line(event.text, event.hint))
        elif isinstance(event, StopEvent):
            self._on_stop(event)
        elif isinstance(event, TaskEvent):
            self._round = Round()

    def before_question(self, kind: str, blocks: int) -> None:
        """A question comes next. One that shows all blocks that were judged shows their verdicts, beside the code."""
        all_shown = self._review is not None and len(self._review.blocks) <= blocks
        if kind in ("run", "override") or (kind in ("package", "network") and all_shown):
            self._review = None
        self.settle()
        if kind in ("feedback", "stuck"):
            self._end_round()

    def settle(self) -> None:
        """Bring everything that is open to its end, so that what comes next stands alone."""
        self._show_review()
        self._end_words()
        self._end_output()
        self.status.clear()

    def _on_message(self, event: MessageEvent) -> None:
        if event.kind != "words":
            if event.kind in ("pass", "feedback") and event.source == "user_proxy":
                self._end_round()
            return
        self._end_thoughts()
        streamed, self._words = self._words, None
        if streamed is None and event.thought:
            thoughts = Thoughts()
            self.print_if([*thoughts.feed(event.thought), *thoughts.close()])
        if streamed is None or streamed.text.strip() != event.text.strip():
            if streamed is not None:
                self.print_if(streamed.close())
                self.print(mark("The message as it was recorded:", "notice"))
            streamed = MarkdownStream()
            self.print_if(streamed.feed(event.text))
        self.print_if([*streamed.close(), GAP])
        if event.blocks:
            self.latest = event
        self._notes_on(event)
        self._round.generated(event)

    def _notes_on(self, event: MessageEvent) -> None:
        for name in event.unsupported:
            self.print(mark(f"{one_line(name, 40)} cannot be run here{_who_has(name)}", "notice"))
        if event.unterminated:
            self.print(mark("A fence was not closed: nothing of this message runs", "notice"))
        if event.cut:
            self.print(mark(f"The message is incomplete ({one_line(event.cut)}): nothing of it runs", "notice"))

    def _on_output(self, event: OutputEvent) -> None:
        self._show_review()
        self._output = self._output or ProgramOutput()
        self.print_if(self._output.feed(event.stream, event.text))

    def _on_execution(self, event: ExecutionEvent) -> None:
        if self._output is None and event.output:
            self._output = ProgramOutput()
            self.print_if(self._output.feed("stdout", event.output))
        self._end_output()
        self._round.ran(event)
        if event.truncated:
            self.print(mark("The output was cut in the middle: output_kib of sandbox.yaml is what is kept", "notice"))
        for file in event.files[:_NAMES]:
            self.print(Text(f"→ {one_line(file.path)}  {file.change}, {size(file.size)}"))
            work_dir = self._work_dir()
            if work_dir and file.change != "deleted" and self._held is None:
                self._live.clear()
                self._pictures.show(work_dir, file.path)
        if (more := len(event.files) - _NAMES) > 0:
            self.print(Text(f"→ and {counted(more, 'file')} more"))
        for name in _first(event.left_behind):
            self.print(mark(f"left behind: {one_line(name)}", "notice"))

    def _on_stop(self, event: StopEvent) -> None:
        self._end_words()
        self._end_output()
        self.status.clear()
        self._end_round()
        self.print(*summary(event, self._told))

    # -- ends ----------------------------------------------------------------------------------------------------

    def print_if(self, parts: list[RenderableType]) -> None:
        """Show these for good, where there are any."""
        if parts:
            self.print(*parts)

    def _end_thoughts(self) -> None:
        if self._thoughts:
            parts = self._thoughts.close()
            self._thoughts = None
            self.print_if(parts)

    def _end_words(self) -> None:
        self._end_thoughts()
        if self._words:
            parts = self._words.close()
            self._words = None
            self.print_if(parts)

    def _end_output(self) -> None:
        if self._output:
            parts = self._output.close()
            self._output = None
            self.print_if(parts)

    def _end_round(self) -> None:
        self._show_review()
        if line := self._round.take_line():
            self.print(line, GAP)

    def _show_review(self) -> None:
        if self._review:
            parts = review_parts(self._review)
            self._review = None
            self.print(*parts)


def _first(left_behind: Sequence[str]) -> Sequence[str]:
    """The first of what was left behind, and how many more; the sandbox's own last entry may count others already."""
    *rest, last = left_behind[_NAMES:] or [""]
    if not last:
        return left_behind
    counted_already = re.fullmatch(r"and (\d+) more", last)
    more = len(rest) + (int(counted_already[1]) if counted_already else 1)
    return (*left_behind[:_NAMES], f"and {more:,} more")


def _who_has(name: str) -> str:
    """What to do about a language that cannot be run, where there is something."""
    language = find(name)
    has = language is not None and language.image == "full"
    return ": the full image has it (`make image-full`, then `variant: full` in sandbox.yaml)" if has else ""


def _is_pass(event: Event) -> bool:
    """Whether it is an agent's message that shows nothing: a verdict waits on, for a question that may show it."""
    return isinstance(event, MessageEvent) and event.kind in ("pass", "review")
