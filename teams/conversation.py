"""A conversation: tasks, one after the other, each driven one agent's turn at a time to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path

from agents.speaker import SpeakerAgent
from agents.user_proxy_agent import NAME as USER_PROXY
from sessions.events import (
    ErrorEvent,
    EventBase,
    ExecutionEvent,
    NoticeEvent,
    ReviewEvent,
    StopEvent,
    StopReason,
    TaskEvent,
    Usage,
)
from sessions.questions import Ask
from sessions.workspace import Workspace
from teams.begun_runs import ask_again, task_state
from teams.sandbox_start import SandboxStart
from teams.turn import TurnCancelledError, TurnRunner
from teams.wiring import ConversationInfo, Wiring
from utils.errors import ContextLengthError, EndOfInputError, ModelError, RoundtableError, StoreError, StreamBrokenError
from utils.settings import AskPolicy

_log = logging.getLogger("roundtable.events")
_LEFT_TO_THE_STORE = {"text", "code", "output", "thought", "blocks", "findings", "details", "files"}
"""Fields of events that are long or hold what people wrote: the log tells what happened, the store what was said."""

TURN_TRIES = 3
"""Times that a turn is tried whose stream broke off."""

CLOSE_WAIT_S = 5.0
"""How long closing waits for a task that it has cancelled, seconds."""
_NAMES = 30
"""Files that were not copied in that are named; the others are counted."""


class Conversation:
    """One session's conversation. Not safe for concurrent `run` calls."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self.session = wiring.session
        self.ask: Ask | None = wiring.ask
        self.ask_policy: AskPolicy = wiring.settings.ask
        self.last_task = ""
        self.last_review: ReviewEvent | None = None
        self._turns = TurnRunner(lambda: wiring.make_parts(self))
        self._blocks_run = 0
        self._start = SandboxStart(wiring.sandbox, wiring.files, wiring.listener, self._restore_workspace)
        self._workspace: Workspace | None = None
        self._cancelled = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    @property
    def work_dir(self) -> Path:
        """Directory of the host where files come back."""
        return self._wiring.sandbox.work_dir

    @property
    def info(self) -> ConversationInfo:
        """What a banner says, as of now."""
        return ConversationInfo(
            model=self._wiring.models.label,
            sandbox=self._wiring.sandbox.info,
            edited_prompts=self._wiring.edited_prompts(),
            work_dir=self.work_dir,
            session=self.session,
            ask=self.ask_policy,
        )

    @property
    def usage(self) -> Usage:
        """Model calls and tokens of this program's part of the session."""
        return self._wiring.models.usage

    async def start(self) -> None:
        """Begin to start the sandbox, in the background. What goes wrong surfaces at the next `run`."""
        self._start.begin()

    async def run(self, task: str) -> StopEvent:
        """Run one task to its end. A later call goes on in the same conversation.

        What goes wrong is an `ErrorEvent` and a `StopEvent` with the reason `error`; only a program that is being ended
        (`asyncio.CancelledError`) goes through.
        """
        self.last_task = task
        return await self._drive(task)

    async def resume(self) -> StopEvent | None:
        """Go on with a task that broke off, from the last turn that was saved. None where the last task has ended."""
        saved = self._wiring.store.load_turn(self.session)
        events = list(self._wiring.store.events(self.session))
        tasks = [event for event in events if isinstance(event, TaskEvent)]
        reviews = [event for event in events if isinstance(event, ReviewEvent)]
        self.last_task = tasks[-1].text if tasks else ""
        self.last_review = reviews[-1] if reviews else None
        if saved is not None:
            self._turns.state, _ = saved
        ended = bool(events) and isinstance(events[-1], StopEvent) and not _goes_on(events[-1])
        if self._wiring.sandbox.info.state and any(isinstance(event, ExecutionEvent) for event in events):
            self._notice("kernel", "The kernel is a fresh one: the variables of earlier blocks are gone.")
        if not tasks or ended:
            return None
        self._report_interrupted()
        begun = saved is not None and any(event.seq > tasks[-1].seq and event.seq <= saved[1] for event in events)
        return await self._drive(None if begun else self.last_task, again=True)

    def cancel(self) -> None:
        """Stop the block, model call or question of this turn; `run` then returns a stop with `interrupted`."""
        self._cancelled.set()
        self._turns.cancel()

    def set_model(self, name: str) -> str:
        """Let another model answer from the next turn on. Returns its label. Raises `ConfigurationError`."""
        label = self._wiring.models.choose(name)
        self._model_changed()
        return label

    def lend_model(self, name: str) -> Callable[[], None]:
        """Let another model answer until what is returned is called. Raises `ConfigurationError`."""
        models = self._wiring.models
        before = models.choice
        models.choose(name)
        lent = models.choice
        self._turns.discard()

        def give_back() -> None:
            if models.choice[0] == lent[0]:  # else the human has chosen anew meanwhile
                models.choice = before
            self._model_changed()

        return give_back

    def _model_changed(self) -> None:
        self._turns.discard()
        self._wiring.store.set_model(self.session, self._wiring.models.label)

    def set_ask(self, policy: AskPolicy) -> None:
        """Change when the human is asked, at once."""
        self.ask_policy = policy
        self._turns.parts.desk.ask_policy = policy

    async def close(self) -> None:
        """Remove the sandbox, close the connections, let go of the session. Harmless when repeated."""
        if self._closed:
            return
        self._closed = True
        self.cancel()
        try:
            # A task that is being stopped still has its end to tell, and may be starting the sandbox.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._idle.wait(), CLOSE_WAIT_S)
            await self._start.settle()
            await self._wiring.sandbox.stop()
        finally:
            await self._wiring.models.close()
            self._wiring.store.release(self.session)

    def emit(self, event: EventBase) -> EventBase:
        """Record an event, then show it: what was shown is never lost. Returns it as recorded. Raises `StoreError`."""
        recorded = self._wiring.store.append(self.session, event)  # type: ignore[arg-type]  # EventBase: the union's base
        if isinstance(recorded, ReviewEvent):
            self.last_review = recorded
        elif isinstance(recorded, ExecutionEvent):
            self._blocks_run += 1
        if _log.isEnabledFor(logging.INFO):
            told = isinstance(recorded, ErrorEvent | NoticeEvent | StopEvent)  # the program's own words
            short = recorded.model_dump(mode="json", exclude=_LEFT_TO_THE_STORE - ({"text"} if told else set()))
            _log.info("%s of %s", recorded.type, recorded.source, extra={"event": short})
        self._wiring.listener.on_event(recorded)
        return recorded

    async def _drive(self, task: str | None, *, again: bool = False) -> StopEvent:
        started, before, self._blocks_run = time.monotonic(), self.usage, 0
        self._cancelled.clear()
        self._idle.clear()
        try:
            return await self._to_its_end(task, again, started, before)
        finally:
            self._idle.set()

    async def _to_its_end(self, task: str | None, again: bool, started: float, before: Usage) -> StopEvent:
        try:
            if task is not None and not again:
                self.emit(
                    TaskEvent(
                        source="user", text=task, model=self._wiring.models.label, kernel=self._wiring.settings.kernel
                    )
                )
            reason, text = await self._turns_of(task)
        except TurnCancelledError:
            reason, text = "interrupted", "Interrupted; nothing more of this turn runs."
        except EndOfInputError as error:
            reason, text = "interrupted", str(error)
        except RoundtableError as error:
            self._tell(ErrorEvent(source="program", kind=type(error).__name__, text=error.message, hint=error.hint))
            reason, text = "error", str(error)
        except Exception as error:
            text = f"Something went wrong that should not have ({type(error).__name__})."
            self._stop("error", text, before, time.monotonic() - started)
            raise
        return self._stop(reason, text, before, time.monotonic() - started)

    async def _turns_of(self, task: str | None) -> tuple[StopReason, str]:
        """Take turns until the task ends."""
        had_files = self._start.files_in
        if not await self._start.wait(self._cancelled):
            raise TurnCancelledError
        if self._start.left_out and not had_files:
            left = self._start.left_out
            more = f"; and {len(left) - _NAMES} more" if len(left) > _NAMES else ""
            self._notice("files", f"Not copied in: {'; '.join(left[:_NAMES])}{more}")
        if task is not None:
            await self._turns.ready()
            self._turns.first_speaker_next()
        for _ in range(self._wiring.settings.max_turns):
            if self._cancelled.is_set():
                raise TurnCancelledError
            await self._turn(task)
            task = None
            state = self._turns.parts.state
            if state.stop is not None:
                return state.stop, state.stop_text
            limit = self._limit()
            if limit:
                return "limit", limit
        turns = self._wiring.settings.max_turns
        return "limit", f"The task took {turns} turns, the limit of --max-turns."

    async def _turn(self, task: str | None) -> None:
        """Run one turn, again where that helps: a stream that broke off, a request too long, a model that is down."""
        tries = 0
        while True:
            if self._cancelled.is_set():
                raise TurnCancelledError
            try:
                ran = self._blocks_run
                await self._turns.run(task)
                if self._blocks_run != ran:
                    await asyncio.to_thread(self._kept_workspace().save)
                self._save()
                return
            except StreamBrokenError as error:
                tries += 1
                if tries >= TURN_TRIES and not self._fall_back(error):
                    raise
                self._notice("retry", f"{error.message} Nothing of it was run; the turn is tried again.")
            except ContextLengthError as error:
                if not await self._shorten():
                    raise
                self._notice("shortened", f"{error.message} Older turns were left out; the turn is tried again.")
            except RoundtableError as error:
                if isinstance(error, StoreError) or not self._fall_back(error):
                    raise
            ask_again(self._wiring.store, self.session, self._turns.state)

    def _save(self) -> None:
        if self._turns.state is not None:
            self._wiring.store.save_turn(self.session, self._turns.state)

    def _kept_workspace(self) -> Workspace:
        if self._workspace is None:
            wiring = self._wiring
            self._workspace = Workspace.of(wiring.store, self.session, self.work_dir, wiring.settings)
        return self._workspace

    def _restore_workspace(self) -> None:
        """Bring back what is missing, before the sandbox copies the folder in; what was changed meanwhile stays."""
        self._kept_workspace().restore(overwrite=False)

    async def _shorten(self) -> bool:
        """Halve what the speakers remember, in the saved state. False when nothing is left to drop."""
        team = await self._turns.ready()
        shortened = [member.shorten_context() for member in team.members if isinstance(member, SpeakerAgent)]
        if not any(shortened):
            return False
        self._turns.state = dict(await team.save_state())
        return True

    def _fall_back(self, error: RoundtableError) -> bool:
        if not isinstance(error, ModelError):
            return False
        label = self._wiring.models.fall_back()
        if not label:
            return False
        self._turns.discard()
        self._notice("fallback", f"{error.message} {label} takes over.")
        return True

    def _limit(self) -> str:
        settings, usage = self._wiring.settings, self.usage
        tokens = usage.prompt_tokens + usage.completion_tokens
        if settings.max_tokens and tokens >= settings.max_tokens:
            return f"{tokens} tokens are used, the limit of --max-tokens is {settings.max_tokens}."
        cost = self._wiring.models.cost
        if settings.max_cost and cost >= settings.max_cost:
            return f"The calls cost {cost:.4f}, the limit of --max-cost is {settings.max_cost:g}."
        return ""

    def _report_interrupted(self) -> None:
        """Say which runs broke off. What stopped the task stops it no more."""
        broken = {(run.index, run.digest) for run in self._wiring.store.interrupted(self.session).runs}
        for run in ask_again(self._wiring.store, self.session, self._turns.state):
            what = "was interrupted" if (run.index, run.digest) in broken else "had ended, but its turn had not"
            self._notice(
                "interrupted",
                f"The run of block {run.index + 1} ({run.digest[:6]}) {what}. It is not run again by itself.",
            )
        if self._turns.state is not None:
            task_state(self._turns.state)["stop"] = None

    def _notice(self, kind: str, text: str) -> None:
        self.emit(NoticeEvent(source="program", kind=kind, text=text))

    def _stop(self, reason: StopReason, text: str, before: Usage, duration_s: float) -> StopEvent:
        now = self.usage
        event = StopEvent(
            source=USER_PROXY if reason == "approved" else "program",
            reason=reason,
            text=text,
            usage=Usage(
                prompt_tokens=now.prompt_tokens - before.prompt_tokens,
                completion_tokens=now.completion_tokens - before.completion_tokens,
                calls=now.calls - before.calls,
            ),
            duration_s=round(duration_s, 3),
            blocks_run=self._blocks_run,
            work_dir=str(self.work_dir) if self._start.files_in else "",
        )
        recorded = self._tell(event)
        return recorded if isinstance(recorded, StopEvent) else event

    def _tell(self, event: EventBase) -> EventBase:
        """Show the last words even when the store can take no more. Returns the event, recorded where that went."""
        try:
            return self.emit(event)
        except StoreError as error:
            if not (isinstance(event, ErrorEvent) and event.kind == "StoreError"):
                told = ErrorEvent(source="program", kind="StoreError", text=error.message, hint=error.hint)
                self._wiring.listener.on_event(told)
            self._wiring.listener.on_event(event)  # type: ignore[arg-type]  # EventBase: the union's base
            return event


def _goes_on(stop: StopEvent) -> bool:
    """Tell whether a task that ended so can be gone on with."""
    return stop.reason in ("interrupted", "limit", "error")
