"""The chat: tasks are typed, agents work, and the human has the last word."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from interfaces.terminal.banner import NEXT_STEPS, banner
from interfaces.terminal.commands import completions, ends_task, parse_command, run_command
from interfaces.terminal.hanging import Hanging, mark
from interfaces.terminal.keyboard import INTERRUPTED, signals
from interfaces.terminal.outlet import GAP, can_redraw, make_console, write_through
from interfaces.terminal.plain import one_line, shown
from interfaces.terminal.profiles import profile_list
from interfaces.terminal.prompt import Input, InterruptedInput, make_input
from interfaces.terminal.questions import Asker
from interfaces.terminal.retries import code_change
from interfaces.terminal.screen import Screen
from interfaces.terminal.summary import error_line
from interfaces.terminal.talker import Assemble, Talker
from interfaces.terminal.work import STOP_S, Do, Work
from sessions.events import EXIT_STATUS, ReviewEvent, StopEvent, TaskEvent
from sessions.store import Store
from utils.errors import EndOfInputError, RoundtableError
from utils.settings import AskPolicy, Settings

_TWICE_S = 2.0
"""Two Ctrl-C within this time leave the chat, seconds."""


async def chat(settings: Settings, *, store: Store, session: str | None = None, task: str | None = None) -> int:
    """Run the chat, or one task where `task` is given, and return the exit status.

    With `session` that session goes on, a task of it that broke off first. A human is asked only where standard input
    and output are both a terminal. Raises `ConfigurationError` where the settings cannot be used.
    """
    from teams.assembly import assemble

    human = sys.stdin.isatty() and sys.stdout.isatty()
    return await Chat(settings, store, assemble, make_console(), human=human).run(session, task)


class Chat:
    """One chat: a conversation at a time, the screen, and what is typed."""

    def __init__(self, settings: Settings, store: Store, assemble: Assemble, console: Console, *, human: bool) -> None:
        self._settings = settings
        self._store = store
        self._assemble = assemble
        self._human = human
        self._work: Work | None = None
        self.screen = Screen(console, work_dir=lambda: self._work.talk.work_dir if self._work else None)
        self._input: Input = make_input(
            settings.data_dir,
            interactive=human and can_redraw(console),
            write=lambda text: write_through(console, text),
            complete=lambda text: completions(self, text),
            toolbar=self.screen.status.toolbar,
        )
        self._profile = settings.model
        self._typing: asyncio.Task[str] | None = None
        self._next: tuple[str, str] | None = None
        self._interrupted_at = -_TWICE_S
        self._leaving = False
        self._killed = False

    # -- the whole -----------------------------------------------------------------------------------------------

    async def run(self, session: str | None, task: str | None) -> int:
        """Run until the human leaves, or until the one task has ended."""
        ticker = asyncio.ensure_future(self.screen.animate())
        stop: StopEvent | None = None
        try:
            with signals(self.interrupt, self._hang_up):
                try:
                    await self._open(session)
                    if session is not None:
                        self._show_last_task(session)
                        stop = await self._do(lambda talk: talk.resume())
                    if task is None:
                        await self._prompts()
                    elif not self._leaving:
                        self.show(Hanging(Text("› ", style="label"), Text(shown(task))))
                        stop = await self._do(lambda talk: talk.run(task))
                        self._after_demo()
                finally:
                    await self._close()
        finally:
            ticker.cancel()
            self.screen.close()
        if self._killed:
            return INTERRUPTED
        if task is None:
            return 0
        return EXIT_STATUS[stop.reason] if stop else INTERRUPTED

    async def _open(self, session: str | None) -> None:
        """Let a conversation take the place of the one before, which stays where the new one cannot be built."""
        ask = Asker(self.screen, self._input, self.interrupt, self._command_between) if self._human else None
        talk = self._assemble(self._settings, listener=self.screen, ask=ask, store=self._store, session=session)
        await self._close()
        demo = self._settings.model == "demo"
        self.show(*banner(talk.info, demo=demo, human=self._human))
        self._work = Work(talk, self.screen)

    def _show_last_task(self, session: str) -> None:
        tasks = [event.text for event in self._store.events(session) if isinstance(event, TaskEvent)]
        if tasks:
            self.show(mark(f"last task: {one_line(tasks[-1], 200)}", "notice"))

    async def _close(self) -> None:
        work, self._work = self._work, None
        if work:
            await work.close()

    async def _prompts(self) -> None:
        """Read tasks and commands until the human leaves."""
        hint = "a task, or /help"
        while not self._leaving:
            try:
                text = (await self._read(hint)).strip()
            except InterruptedInput as interrupt:
                hint = ""
                self._interrupted_prompt(interrupt.text)
                continue
            except EndOfInputError:
                return
            hint = ""
            if command := parse_command(text):
                await self._command(*command)
            elif text:
                await self._task(text)
            while self._next and not self._leaving:
                command, self._next = self._next, None
                await self._command(*command)

    async def _command(self, name: str, argument: str) -> None:
        await run_command(self, name, argument)
        self.show(GAP)

    async def _command_between(self, name: str, argument: str) -> None:
        """Run a command that was typed where the team waits for words; one that ends the task ends it first."""
        if not ends_task(name):
            await self._command(name, argument)
            return
        if name == "retry" and argument and not self._can_answer(argument):
            return
        self._next = (name, argument)
        self._talker.cancel()
        await asyncio.sleep(STOP_S)  # the question is cancelled meanwhile

    def _can_answer(self, model: str) -> bool:
        """Whether there is such a model; what is wrong with it is shown."""
        try:
            self._talker.lend_model(model)()
        except RoundtableError as error:
            self.show(error_line(error.message, error.hint))
            return False
        return True

    async def _read(self, hint: str) -> str:
        """Read what is typed at the prompt. Being told to leave is the end of the input."""
        self.screen.hold()
        self._typing = asyncio.ensure_future(self._input.task("› ", hint=hint))
        try:
            await asyncio.wait([self._typing])
            if self._typing.cancelled():
                raise EndOfInputError("The program is ending.")
            return self._typing.result()
        finally:
            self._typing.cancel()
            self._typing = None
            self.screen.release()

    # -- one task ------------------------------------------------------------------------------------------------

    async def _task(self, text: str) -> None:
        await self._do(lambda talk: talk.run(text))

    async def _do(self, do: Do) -> StopEvent | None:
        return None if self._leaving or self._work is None else await self._work.run(do)

    def _after_demo(self) -> None:
        if self._settings.model == "demo" and not self._leaving:
            self.show(*NEXT_STEPS)

    # -- ends ----------------------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Ctrl-C: stop what goes on; twice, leave."""
        if self._again():
            self._leave()
        elif self._work:
            self._work.stop()

    def _interrupted_prompt(self, typed: str) -> None:
        if typed.strip():
            return
        if self._again():
            self._leave()
        else:
            self.show(Text("Ctrl-C again leaves, as Ctrl-D and /quit do.", style="faint"))

    def _again(self) -> bool:
        before, self._interrupted_at = self._interrupted_at, time.monotonic()
        return self._interrupted_at - before < _TWICE_S

    def _hang_up(self) -> None:
        """The program was told to end, or its terminal is gone."""
        self._leave()

    def _leave(self) -> None:
        self._leaving = self._killed = True
        if self._typing:
            self._typing.cancel()
        if self._work:
            self._work.stop()

    # -- what the commands need ----------------------------------------------------------------------------------

    @property
    def model(self) -> str:
        """Label of the model that answers."""
        return self._talker.info.model

    @property
    def ask(self) -> AskPolicy:
        """When the human is asked."""
        return self._talker.info.ask

    @property
    def work_dir(self) -> Path:
        """Where files come back."""
        return self._talker.work_dir

    @property
    def last_review(self) -> ReviewEvent | None:
        """The last verdict."""
        return self._talker.last_review

    @property
    def _talker(self) -> Talker:
        assert self._work
        return self._work.talk

    def profiles(self) -> Sequence[tuple[str, str]]:
        """Names of the profiles, each with its model or what it lacks; empty where models.yaml cannot be read."""
        return profile_list(self._settings)

    def show(self, *parts: RenderableType) -> None:
        """Show these."""
        self.screen.print(*parts)

    def set_model(self, name: str) -> str:
        """Let another model answer from now on. Raises `ConfigurationError`."""
        label = self._talker.set_model(name)
        self._profile = name
        return label

    def set_ask(self, policy: AskPolicy) -> None:
        """Change when the human is asked."""
        self._talker.set_ask(policy)

    async def new(self) -> None:
        """Begin a new session with the model and the policy that are in force."""
        self._settings = self._settings.model_copy(update={"model": self._profile, "ask": self.ask})
        await self._open(None)
        self.screen.latest = None

    async def retry(self, model: str) -> None:
        """Put the last request again, for this once by another model where one is named; show what changed."""
        talk = self._talker
        if not talk.last_task:
            raise RoundtableError("There is no request to try again yet.", "Type a task first.")
        give_back = talk.lend_model(model) if model else None
        before, self.screen.latest = self.screen.latest, None
        once = f" {one_line(talk.info.model)} answers, for this once." if model else ""
        self.show(mark(f"Again: {one_line(talk.last_task, 200)}", "notice"))
        if once:
            self.show(mark(once.strip(), "notice"))
        try:
            await self._task(talk.last_task)
        finally:
            if give_back:
                give_back()
        if self.screen.latest is not None and before is not None:
            self.show(*code_change(before, self.screen.latest))
        self.screen.latest = self.screen.latest or before

    def leave(self) -> None:
        """End the chat after this."""
        self._leaving = True
