"""The terminal chat over a conversation that is played from a script: a program for pseudo-terminal tests."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from interfaces.terminal.chat import Chat
from interfaces.terminal.outlet import make_console
from interfaces.terminal.screen import Screen
from sandbox.base import SandboxInfo
from sessions.events import (
    AnswerEvent,
    BlockInfo,
    ErrorEvent,
    EventBase,
    ExecutionEvent,
    FileInfo,
    MessageEvent,
    NoticeEvent,
    OutputEvent,
    ReviewEvent,
    StopEvent,
    StopReason,
    Usage,
)
from sessions.progress import Delta, Step, Waiting
from sessions.questions import Answer, Ask, AskedBlock, Question, QuestionKind
from utils.errors import ConfigurationError, EndOfInputError
from utils.settings import AskPolicy, Settings

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP8z4APMOGVHbHSAEEsARNxzdQhAAAAAElFTkSuQmCC"
)
FACTORIAL = '''import math


def factorial(n: int) -> int:
    """Return n!."""
    return math.prod(range(1, n + 1))


print(f"factorial(5) = {factorial(5)}")
'''
DELETE = """import os
import requests

data = requests.get("http://example.com/data.csv").text
os.remove("/etc/hosts")
print(len(data))
"""


class Info:
    """What the banner says."""

    def __init__(self, model: str, ask: AskPolicy) -> None:
        self.model = model
        self.ask: AskPolicy = ask
        self.session = "20261121-074212-3fa9"
        self.edited_prompts = ("safety_reviewer",)
        self.sandbox = SandboxInfo(
            runtime="docker (runc)",
            languages=("python", "bash"),
            packages=("numpy",),
            network="none",
            limits={"memory": "1 GiB", "processes": "128", "CPUs": "1", "workspace": "256 MB"},
            timeout_s=60,
        )


class FakeConversation:
    """Plays one script for each task, chosen by the task's first word."""

    def __init__(self, settings: Settings, screen: Screen, ask: Ask | None) -> None:
        self.screen = screen
        self.ask = ask
        self.settings = settings
        self.last_task = ""
        self.last_review: ReviewEvent | None = None
        self._info = Info(settings.model or "openai (gpt-4o-mini)", settings.ask)
        self.work_dir = settings.data_dir / "work"
        self.work_dir.mkdir(parents=True, exist_ok=True)
        self._token: asyncio.Task[object] | None = None
        self._cancelled = False
        self.number = 0

    @property
    def info(self) -> Info:
        return self._info

    async def start(self) -> None:
        self.screen.on_progress(Step("program", "starting sandbox", "started"))
        await asyncio.sleep(60 if self.settings.model == "cold" else 0.3)
        self.screen.on_progress(Step("program", "starting sandbox", "ended"))

    def cancel(self) -> None:
        self._cancelled = True
        if self._token:
            self._token.cancel()

    def set_model(self, name: str) -> str:
        if name == "nowhere":
            raise ConfigurationError("There is no profile nowhere.", "models.yaml names openai and ollama.")
        self._info.model = name or "openai (gpt-4o-mini)"
        return self._info.model

    def lend_model(self, name: str) -> Callable[[], None]:
        before = self._info.model
        self.set_model(name)
        return lambda: setattr(self._info, "model", before)

    def set_ask(self, policy: AskPolicy) -> None:
        self._info.ask = policy

    async def close(self) -> None:
        (self.settings.data_dir / "closed").write_text("closed")

    async def resume(self) -> StopEvent | None:
        return None

    async def run(self, task: str) -> StopEvent:
        self.last_task = task
        self._cancelled = False
        script = getattr(self, "play_" + task.split()[0].lower(), self.play_hello)
        self._token = asyncio.ensure_future(self._consume(script()))
        try:
            await self._token
            reason: StopReason = "approved"
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            reason = "interrupted"
        except EndOfInputError:
            reason = "interrupted"
        stop = StopEvent(
            source="program",
            reason=reason,
            usage=Usage(prompt_tokens=1830, completion_tokens=412, calls=3),
            duration_s=4.2,
            blocks_run=1,
            work_dir=str(self.work_dir),
        )
        self.emit(stop)
        return stop

    async def _consume(self, script: AsyncIterator[None]) -> None:
        async for _ in script:
            pass

    def emit(self, event: EventBase) -> None:
        if isinstance(event, ReviewEvent):
            self.last_review = event
        self.screen.on_event(event)  # type: ignore[arg-type]  # EventBase: the union's base

    async def write(self, text: str, *blocks: tuple[str, str], thought: str = "", pause: float = 0.004) -> None:
        self.number += 1
        self.screen.on_progress(Step("code_generator", "generating", "started"))
        for at in range(0, len(thought), 6):
            self.screen.on_progress(Delta("code_generator", thought[at : at + 6], thought=True))
            await asyncio.sleep(pause)
        for at in range(0, len(text), 5):
            self.screen.on_progress(Delta("code_generator", text[at : at + 5]))
            await asyncio.sleep(pause)
        self.screen.on_progress(Step("code_generator", "generating", "ended"))
        infos = tuple(
            BlockInfo(index=i, language=language, digest=digest(i), code=code)
            for i, (language, code) in enumerate(blocks)
        )
        self.emit(
            MessageEvent(
                source="code_generator", id=f"m{self.number}", text=text, thought=thought, blocks=infos, duration_s=3.1
            )
        )

    def review(self, *blocks: dict[str, object]) -> None:
        verdicts = [str(block["verdict"]) for block in blocks]
        worst = max(verdicts, key=["allow", "ask", "deny"].index)
        self.emit(
            ReviewEvent(
                source="safety_reviewer",
                message=f"m{self.number}",
                verdict=worst,  # type: ignore[arg-type]  # one of the three
                digests=tuple(str(block["digest"]) for block in blocks),
                blocks=blocks,
                duration_s=0.8,
            )
        )

    async def execute(
        self, lines: list[str], *, exit_code: int = 0, files: tuple[FileInfo, ...] = (), pause: float = 0.05
    ) -> None:
        self.screen.on_progress(Step("code_executor", "running", "started"))
        for line in lines:
            stream = "stderr" if line.startswith("!") else "stdout"
            self.emit(OutputEvent(source="code_executor", stream=stream, text=line.removeprefix("!")))  # type: ignore[arg-type]  # one of two
            await asyncio.sleep(pause)
        self.screen.on_progress(Step("code_executor", "running", "ended"))
        self.emit(
            ExecutionEvent(
                source="code_executor",
                message=f"m{self.number}",
                index=0,
                digest=digest(0),
                language="python",
                exit_code=exit_code,
                duration_s=0.02,
                output="".join(lines),
                files=files,
            )
        )

    async def put(self, kind: QuestionKind, text: str, *blocks: AskedBlock, **details: object) -> Answer:
        assert self.ask is not None
        question = Question("q1", kind, text, "code_executor", blocks=blocks, details=dict(details))
        answer = await self.ask(question)
        self.emit(AnswerEvent(source="user", question="q1", kind=kind, decision=answer.decision, text=answer.text))
        return answer

    # -- scripts -------------------------------------------------------------------------------------------------

    async def play_hello(self) -> AsyncIterator[None]:
        yield
        other = self._info.model == "ollama"
        code = FACTORIAL.replace("math.prod(range(1, n + 1))", "math.factorial(n)") if other else FACTORIAL
        text = (
            "I write the *factorial* with `math.prod`:\n\n1. take the numbers\n2. multiply them\n\n"
            f"```python\n{code}```\n\n"
            "Then I run it. [The docs](https://docs.python.org/3/library/math.html) say more.\n"
        )
        await self.write(text, ("python", code), thought="The user wants a factorial.\nI use math.prod.")
        self.review(
            {"index": 0, "language": "python", "digest": digest(0), "verdict": "allow", "reason": "It computes."}
        )
        (self.work_dir / "plot.png").write_bytes(PNG)
        await self.execute(
            ["factorial", "(5) = 120\n", "!a warning: \x1b[31mred\x1b[0m \x1b]0;title\x07\n"],
            files=(FileInfo(path="plot.png", size=len(PNG)),),
        )
        self.emit(MessageEvent(source="user_proxy", id="p", text="(pass)", kind="pass"))
        await self.write(
            "It prints **120**, as it should.\n\n| n | n! |\n|---|----|\n| 4 | 24 |\n| 5 | 120 |\n\nSTOP\n"
        )

    async def play_deaf(self) -> AsyncIterator[None]:
        """Never stops when it is told to."""
        yield
        self.screen.on_event(NoticeEvent(source="program", text="deaf"))
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    async def play_risky(self) -> AsyncIterator[None]:
        yield
        await self.write(f"I fetch the data.\n\n```python\n{DELETE}```\n", ("python", DELETE))
        findings = (
            {
                "rule": "network.requests",
                "verdict": "ask",
                "message": "fetches http://example.com/data.csv",
                "line": 4,
                "column": 8,
                "touches": "network",
            },
            {
                "rule": "files.outside",
                "verdict": "ask",
                "message": "deletes /etc/hosts",
                "line": 5,
                "column": 1,
                "touches": "files outside the workspace",
            },
        )
        self.review(
            {
                "index": 0,
                "language": "python",
                "digest": digest(0),
                "verdict": "ask",
                "reason": "It reaches out.",
                "findings": findings,
            }
        )
        block = AskedBlock(
            0,
            "python",
            DELETE,
            digest(0),
            "ask",
            "It reaches for the network and for a file that is not its own.",
            findings,
            previous=FACTORIAL,
        )
        text = "Run block 1 (python)? A yes runs these exact bytes once in the sandbox (no network, 60 s)."
        answer = await self.put("run", text, block)
        (self.settings.data_dir / "answer").write_text(repr(answer))
        if answer.decision in ("yes", "always"):
            await self.execute(["ran\n"])

    async def play_denied(self) -> AsyncIterator[None]:
        yield
        code = "import os\n" + "\n" * 200 + "os.system('rm -rf /')\n"
        findings = (
            {
                "rule": "host.wipe",
                "verdict": "deny",
                "message": "deletes everything",
                "line": 202,
                "column": 1,
                "touches": "host",
            },
        )
        block = AskedBlock(0, "python", code, digest(0), "deny", "It deletes everything.", findings)
        answer = await self.put(
            "override", "Block 1 (python) was denied. Type the first 6 characters of its digest.", block
        )
        (self.settings.data_dir / "answer").write_text(repr(answer))

    async def play_feedback(self) -> AsyncIterator[None]:
        yield
        await self.write("Which colour?\n")
        answer = await self.put("feedback", "APPROVE to accept the result, or say what to change.")
        (self.settings.data_dir / "answer").write_text(repr(answer))

    async def play_slow(self) -> AsyncIterator[None]:
        yield
        self.screen.on_progress(Step("code_generator", "generating", "started"))
        self.screen.on_progress(Waiting("code_generator", "429 Too Many Requests", 1, 5, 0.5))
        await asyncio.sleep(60)

    async def play_flood(self) -> AsyncIterator[None]:
        yield
        await self.execute([f"line {n}\n" * 50 for n in range(200)], pause=0.001)

    async def play_error(self) -> AsyncIterator[None]:
        yield
        self.emit(NoticeEvent(source="program", text="The stream broke off.", kind="retry"))
        self.emit(
            ErrorEvent(
                source="program", kind="ModelError", text="The model refused: 401.", hint="Check OPENAI_API_KEY."
            )
        )


def digest(index: int) -> str:
    return f"3fa9c1{index}d" * 8


def main() -> int:
    """Run the chat in this terminal: `fake_chat.py DATA_DIR [MODEL [TASK]]`."""
    settings = Settings(data_dir=Path(sys.argv[1]), model=sys.argv[2] if len(sys.argv) > 2 else "")
    human = sys.stdin.isatty() and sys.stdout.isatty()
    chat = Chat(
        settings,
        None,  # type: ignore[arg-type]  # the fake conversation keeps nothing
        lambda settings, *, listener, ask, store, session=None: FakeConversation(settings, listener, ask),
        make_console(),
        human=human,
    )
    return asyncio.run(chat.run(None, sys.argv[3] if len(sys.argv) > 3 else None))


if __name__ == "__main__":
    sys.exit(main())
