"""Typing in a terminal: editing, history, completion, several lines."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from interfaces.terminal.prompt import EndOfInput, InterruptedInput

HISTORY_BYTES = 2_000_000
"""Size of the history file beyond which its older half is dropped."""

Complete = Callable[[str], Sequence[tuple[str, str]]]
"""For what is typed so far: what could follow, each with what it means."""


class Editor:
    """prompt_toolkit: history in a file of the user's own, Alt-Enter or a trailing backslash for another line."""

    def __init__(self, history: Path, complete: Complete, toolbar: Callable[[], str]) -> None:
        self._toolbar = toolbar
        style = Style.from_dict(
            {"prompt": "bold ansicyan", "hint": "ansibrightblack", "bottom-toolbar": "noreverse ansibrightblack"}
        )
        self._tasks: PromptSession[str] = PromptSession(
            history=_history(history),
            completer=_Commands(complete),
            complete_while_typing=Condition(lambda: self._tasks.default_buffer.text.startswith("/")),
            multiline=True,
            prompt_continuation=lambda width, _number, _soft: " " * (width - 2) + "· ",
            key_bindings=_keys(),
            style=style,
            reserve_space_for_menu=9,
            eof_exception=EndOfInput,
        )
        self._answers: PromptSession[str] = PromptSession(
            key_bindings=_keys(multiline=False), style=style, eof_exception=EndOfInput
        )

    async def task(self, prompt: str, *, hint: str = "") -> str:
        """Read a task or a command."""
        watch = asyncio.ensure_future(self._watch_toolbar())
        try:
            self._tasks.placeholder = [("class:hint", hint)]
            return await self._tasks.prompt_async([("class:prompt", prompt)], handle_sigint=False)
        finally:
            watch.cancel()

    async def answer(self, prompt: str) -> str:
        """Read an answer; it is not kept in the history."""
        return await self._answers.prompt_async([("class:prompt", prompt)], handle_sigint=False)

    async def _watch_toolbar(self) -> None:
        """Show below the prompt what goes on beside it, and nothing when nothing does."""
        while True:
            text = self._toolbar()
            shown = self._tasks.bottom_toolbar is not None
            self._tasks.bottom_toolbar = text or None
            if text or shown:
                self._tasks.app.invalidate()
            await asyncio.sleep(0.3)


def _keys(*, multiline: bool = True) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-c")
    def _interrupt(event: KeyPressEvent) -> None:
        event.app.exit(exception=InterruptedInput(event.current_buffer.text))

    if multiline:

        @keys.add("enter")
        def _enter(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.document.text_before_cursor.endswith("\\"):
                buffer.delete_before_cursor()
                buffer.newline(copy_margin=False)
            else:
                buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _another_line(event: KeyPressEvent) -> None:
            event.current_buffer.newline(copy_margin=False)

    return keys


def _history(path: Path) -> History:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        if path.stat().st_size > HISTORY_BYTES:
            data = path.read_bytes()[-HISTORY_BYTES // 2 :]
            path.write_bytes(data[data.find(b"\n\n# ") + 1 :])
    except OSError:
        return InMemoryHistory()
    return _Kept(str(path))


class _Kept(FileHistory):
    """A history that a full disk does not stop."""

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(string)


class _Commands(Completer):
    """Completes what begins with a slash."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        word = text if " " not in text else text.rpartition(" ")[2]
        for candidate, meaning in self._complete(text):
            yield Completion(candidate, start_position=-len(word), display_meta=meaning)
