"""A table to play conversations at: the real team, store, gate and OpenAI client; a scripted server for the model."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from sandbox.fake import FakeSandbox, Scripted
from sessions.events import Event, EventBase
from sessions.progress import Progress
from sessions.questions import Answer, Question
from sessions.sqlite_store import SqliteStore
from teams.assembly import assemble
from teams.conversation import Conversation
from tests.scripted_server import Reply, ScriptedServer
from utils.errors import EndOfInputError
from utils.settings import Settings

MODELS = """\
default: scripted
profiles:
  scripted:
    base_url: {base_url}
    model: scripted
    retry_base_s: 0
    retries: 2
  other:
    base_url: {base_url}
    model: other
    retry_base_s: 0
    retries: 0
"""

YES, NO = Answer("yes"), Answer("no")
APPROVE = Answer("text", text="APPROVE")


def python(code: str, words: str = "") -> str:
    """A generator's message with one Python block."""
    return f"{words}\n\n```python\n{code}\n```\n"


def ok(output: str = "") -> Scripted:
    return Scripted(output)


def failed(output: str, exit_code: int = 1) -> Scripted:
    return Scripted(output, exit_code)


def words(text: str) -> Answer:
    return Answer("text", text=text)


class Recorder:
    """The interface: keeps what it is shown, and answers in order. It ends the input when the answers run out."""

    def __init__(self, answers: Sequence[Answer | Callable[[Question], Answer]]) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []
        self.events: list[Event] = []
        self.progress: list[Progress] = []

    def on_event(self, event: Event) -> None:
        self.events.append(event)

    def on_progress(self, progress: Progress) -> None:
        self.progress.append(progress)

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        if not self.answers:
            raise EndOfInputError("The input ended.")
        answer = self.answers.pop(0)
        return answer(question) if callable(answer) else answer

    def of(self, kind: type[EventBase]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def asked(self) -> list[str]:
        return [question.kind for question in self.questions]


class Table:
    """One conversation with all that a test wants to look at."""

    def __init__(
        self,
        conversation: Conversation,
        recorder: Recorder,
        server: ScriptedServer,
        sandbox: FakeSandbox,
        store: SqliteStore,
    ) -> None:
        self.conversation = conversation
        self.recorder = recorder
        self.server = server
        self.sandbox = sandbox
        self.store = store

    @property
    def ran(self) -> list[str]:
        """Code that ran, in order."""
        return [code for _, code in self.sandbox.ran]

    @property
    def generator_read(self) -> str:
        """What the generator read last."""
        return self.server.to_generator[-1].last


@contextlib.asynccontextmanager
async def table(
    tmp_path: Path,
    replies: Sequence[object],
    *,
    results: Sequence[Scripted] = (),
    answers: Sequence[Answer | Callable[[Question], Answer]] = (),
    human: bool = True,
    session: str | None = None,
    refuse: Sequence[str] = (),
    **settings: Any,
) -> AsyncIterator[Table]:
    """Seat a team: `replies` of the model, `results` of the sandbox, `answers` of the human, all in order."""
    recorder = Recorder(answers)
    with ScriptedServer([Reply.load(reply) for reply in replies], refuse=refuse) as server:  # type: ignore[arg-type]  # load refuses what is no reply
        models_file = tmp_path / "models.yaml"
        models_file.write_text(MODELS.format(base_url=server.base_url), encoding="utf-8")
        made = Settings(data_dir=tmp_path / "data", models_file=models_file, **settings)
        store = SqliteStore.from_settings(made)
        sandbox = FakeSandbox(results, work_dir=tmp_path / "work")
        conversation = assemble(
            made,
            listener=recorder,
            ask=recorder.ask if human else None,
            store=store,
            session=session,
            sandbox=sandbox,
        )
        try:
            yield Table(conversation, recorder, server, sandbox, store)
        finally:
            await conversation.close()
            store.close()
