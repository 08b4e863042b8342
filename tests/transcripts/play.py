"""Plays a transcript: the real chat, team, client, store and Docker sandbox; the model and the typing are scripted."""

from __future__ import annotations

import asyncio
import io
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from pydantic import BaseModel, ConfigDict
from rich.console import Console

from interfaces.terminal import chat as chat_module
from interfaces.terminal.chat import Chat
from interfaces.terminal.outlet import THEME
from sessions.events import Event, ExecutionEvent, QuestionEvent, StopEvent
from sessions.sqlite_store import SqliteStore
from teams.assembly import assemble
from tests.scripted_server import Reply, ScriptedServer
from utils.errors import EndOfInputError
from utils.settings import Settings

DIRECTORY = Path(__file__).parent
PROMPTS = {"run": "run?", "override": "override?", "you": "you", "task": "›", "grant": "grant?"}
"""What a prompt of each kind begins with."""

MODELS = """\
default: scripted
profiles:
  scripted: {{base_url: "{base_url}", model: scripted, retry_base_s: 0, retries: 1}}
  other: {{base_url: "{base_url}", model: other-model, retry_base_s: 0, retries: 1}}
"""


class Expected(BaseModel):
    """What must have happened."""

    model_config = ConfigDict(extra="forbid")

    stops: list[str]
    """Reasons, one a task."""
    asked: list[str] = []
    """Kinds of the questions, in order."""
    exits: list[int] = []
    """Exit codes of the blocks that ran, in order."""
    shown: list[str] = []
    """Texts that were on the screen, in this order."""
    not_shown: list[str] = []
    told: list[str] = []
    """Texts that the generator's last request of the conversation holds."""
    not_told: list[str] = []
    files: list[str] = []
    """Files in the work directory at the end."""
    reviews: int | None = None
    """Requests to the reviewer's model."""


class Transcript(BaseModel):
    """One conversation: what the model says, what the human types, what must come of it."""

    model_config = ConfigDict(extra="forbid")

    title: str
    task: str
    model: list[dict[str, Any]]
    """In order: `generator: TEXT`, `reviewer: VERDICT`, or the fields of a scripted reply."""
    human: list[dict[str, str]] = []
    """In order: the prompt and what is typed there. `task` types a further task or a command."""
    nobody: bool = False
    """No human is there."""
    editor: str = ""
    """What the human's editor leaves."""
    files: dict[str, str] = {}
    """The user's files."""
    refuse: list[str] = []
    """Parameters that the endpoint refuses with 400."""
    interrupt_at: str = ""
    """Ctrl-C once the program printed this."""
    settings: dict[str, Any] = {}
    expect: Expected

    @classmethod
    def load(cls, path: Path) -> Transcript:
        return cls.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))

    def replies(self) -> list[Reply]:
        return [_reply(entry) for entry in self.model]


def _reply(entry: dict[str, Any]) -> Reply:
    fields = dict(entry)
    if "generator" in fields:
        fields["text"] = fields.pop("generator")
    elif fields.get("reviewer") in ("allow", "ask", "deny"):
        fields["verdict"] = fields.pop("reviewer")
    elif "reviewer" in fields:
        fields.update(text=fields.pop("reviewer"), to="reviewer")
    return Reply.load(fields)


class Played:
    """What came of it."""

    def __init__(self, screen: str, events: Iterable[Event], server: ScriptedServer, work_dir: Path) -> None:
        self.screen = screen
        self.events = list(events)
        self.server = server
        self.files = sorted(path.name for path in work_dir.glob("*")) if work_dir.is_dir() else []

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def check(self, expect: Expected) -> None:
        assert [stop.reason for stop in self.of(StopEvent)] == expect.stops, self.screen
        assert [question.kind for question in self.of(QuestionEvent)] == expect.asked, self.screen
        assert [run.exit_code for run in self.of(ExecutionEvent)] == expect.exits, self.screen
        at = 0
        for text in expect.shown:
            found = self.screen.find(text, at)
            assert found >= 0, f"{text!r} was not shown, or not in this order:\n{self.screen}"
            at = found
        for text in expect.not_shown:
            assert text not in self.screen, self.screen
        last = self.server.to_generator[-1].text
        for text in expect.told:
            assert text in last, last
        for text in expect.not_told:
            assert text not in last, last
        assert set(expect.files) <= set(self.files), self.files
        if expect.reviews is not None:
            assert len(self.server.to_reviewer) == expect.reviews
        assert not self.server.script.unused, f"the model was not asked for {self.server.script.unused}"


class Typist:
    """The human at the keyboard."""

    def __init__(self, lines: list[dict[str, str]], console: io.StringIO) -> None:
        self._lines = list(lines)
        self._console = console

    async def task(self, prompt: str, hint: str = "") -> str:
        return self._at(prompt)

    async def answer(self, prompt: str) -> str:
        return self._at(prompt)

    def _at(self, prompt: str) -> str:
        return self._next(next(kind for kind, begin in PROMPTS.items() if prompt.startswith(begin)))

    def _next(self, kind: str) -> str:
        if not self._lines:
            raise EndOfInputError("The input ended.")
        (expected, text), *_ = self._lines.pop(0).items()
        assert expected == kind, f"at the prompt {kind!r} the transcript types at {expected!r}"
        digests = re.findall(r"The digest is ([0-9a-f]{64})", self._console.getvalue())
        return text.replace("{digest}", digests[-1][:6] if digests else "")

    def check_finished(self) -> None:
        assert not self._lines, f"nobody asked for {self._lines}"


async def play(transcript: Transcript, tmp_path: Path) -> Played:
    """Play it to its end and return what came of it."""
    with ScriptedServer(transcript.replies(), refuse=transcript.refuse) as server:
        (tmp_path / "models.yaml").write_text(MODELS.format(base_url=server.base_url), encoding="utf-8")
        files = tmp_path / "files"
        for name, content in transcript.files.items():
            (files / name).parent.mkdir(parents=True, exist_ok=True)
            (files / name).write_text(content, encoding="utf-8")
        settings = Settings(
            data_dir=tmp_path / "data",
            models_file=tmp_path / "models.yaml",
            work_dir=tmp_path / "work",
            files=tuple(sorted(files.iterdir())) if transcript.files else (),
            **transcript.settings,
        )
        store = SqliteStore.from_settings(settings)
        out = io.StringIO()
        console = Console(file=out, width=80, theme=THEME, color_system=None, force_terminal=False)
        typist = Typist([*transcript.human], out)
        # A keyboard without keys: those are tested on a real terminal.
        with patch.object(chat_module, "make_input", lambda *_, **__: typist):
            chat = Chat(settings, store, assemble, console, human=not transcript.nobody)
        _interrupt(chat, transcript.interrupt_at)
        with _editor(transcript.editor, tmp_path):
            await asyncio.wait_for(_talk(chat, transcript, typist), 60)
        session = store.find(None)
        return Played(out.getvalue(), store.events(session), server, tmp_path / "work")


async def _talk(chat: Chat, transcript: Transcript, typist: Typist) -> None:
    if transcript.nobody:
        await chat.run(None, transcript.task)
    else:
        typist._lines.insert(0, {"task": transcript.task})
        await chat.run(None, None)
    typist.check_finished()


def _interrupt(chat: Chat, text: str) -> None:
    show = chat.screen.on_event

    def on_event(event: Event) -> None:
        show(event)
        if text and event.type == "output" and text in event.text:
            asyncio.get_running_loop().call_soon(chat.interrupt)

    chat.screen.on_event = on_event  # type: ignore[method-assign]  # Ctrl-C comes when the program has printed


class _editor:
    """An editor that leaves a given text, for the time of a `with`."""

    def __init__(self, text: str, tmp_path: Path) -> None:
        self._text, self._script = text, tmp_path / "editor.sh"
        self._before = os.environ.get("VISUAL")

    def __enter__(self) -> None:
        if self._text:
            (self._script.with_suffix(".txt")).write_text(self._text, encoding="utf-8")
            self._script.write_text(f'#!/bin/sh\ncat {self._script.with_suffix(".txt")} > "$1"\n', encoding="utf-8")
            self._script.chmod(0o755)
            os.environ["VISUAL"] = str(self._script)

    def __exit__(self, *_: object) -> None:
        os.environ.pop("VISUAL", None)
        if self._before is not None:
            os.environ["VISUAL"] = self._before
