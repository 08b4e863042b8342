"""Long conversations and the start of the program: time of a turn, bytes saved a turn, `--help`."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, compare, median
from sandbox.base import ExecutionResult
from sandbox.fake import FakeSandbox
from sessions.events import Event, MessageEvent
from sessions.progress import Progress
from sessions.sqlite_store import SqliteStore
from teams.assembly import assemble
from utils.settings import ROOT, Settings

MESSAGES = 820
"""Messages of the long conversation."""
EARLY, LATE = range(10, 40), range(MESSAGES - 30, MESSAGES)
"""Messages at which a turn is looked at: medians over these."""
TIMES = 16

SERVER = """
import sys
from tests.scripted_server import Reply, ScriptedServer
count = 0
def reply(request):
    global count
    count += 1
    text = f"Step {count}.\\n\\n```python\\nprint({count})\\n```\\n"
    return Reply(text, model=request.body["model"])
with ScriptedServer(reply) as server:
    print(server.base_url, flush=True)
    sys.stdin.read()
"""
"""Answers in the name of the model that it was asked for: AutoGen warns of any other."""


def measure() -> list[Row]:
    """Return the rows."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        base_url = server.stdout.readline().strip()
        ours, saved = asyncio.run(_ours(base_url))
        theirs, their_saved = asyncio.run(_autogens(base_url))
        server.communicate()
    note = f"{statistics.median(ours[n] for n in LATE) * 1000:.1f} ms at {MESSAGES} messages; the same for AutoGen's "
    note += f"round-robin team and OpenAI client, up to {len(theirs)} messages: {_growth(theirs):.1f}"
    more = f"the same for AutoGen's team: {_growth(their_saved):.1f}"
    return [
        compare("turn at 800 messages, ms", _late(ours) * 1000, _early(ours) * 1000, "at 10", "<= 1.5", note),
        compare("bytes saved a turn at 800", _late(saved), _early(saved), "at 10", "<= 1.5", more),
        *_start(),
    ]


def _early(values: list[float]) -> float:
    return statistics.median(values[n] for n in EARLY)


def _late(values: list[float]) -> float:
    return statistics.median(values[-len(LATE) :])


def _growth(values: list[float]) -> float:
    return _late(values) / _early(values)


class _Listener:
    """Notes the time between two generator's messages: one round."""

    def __init__(self) -> None:
        self.rounds: list[float] = []
        self._last = time.perf_counter()

    def on_event(self, event: Event) -> None:
        if isinstance(event, MessageEvent) and event.source == "code_generator":
            now = time.perf_counter()
            self.rounds.append(now - self._last)
            self._last = now

    def on_progress(self, progress: Progress) -> None:
        pass


async def _ours(base_url: str) -> tuple[list[float], list[float]]:
    """Time of a round and bytes saved a turn, for each round; a round is one message of the generator's."""
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory)
        models = data / "models.yaml"
        models.write_text(f"default: s\nprofiles:\n  s: {{base_url: '{base_url}', model: scripted}}\n")
        settings = Settings(data_dir=data, models_file=models, max_turns=4 * MESSAGES)
        store, listener = _CountingStore(settings.data_dir / "roundtable.db"), _Listener()
        answers = [_ran] * (MESSAGES + 1)
        conversation = assemble(
            settings, listener=listener, ask=None, store=store, sandbox=FakeSandbox(answers, work_dir=data / "work")
        )
        await conversation.run("Count.")
        await conversation.close()
        store.close()
        return listener.rounds, [float(store.saved[4 * n]) for n in range(len(store.saved) // 4)]


def _ran(language: str, code: str) -> ExecutionResult:
    return ExecutionResult(exit_code=0, output=f"{code}\n" * 3, duration_s=0.0)


class _CountingStore(SqliteStore):
    """The store, with the size of each state that it saves."""

    saved: list[int]

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.saved = []

    def save_turn(self, session: str, state: Mapping[str, Any]) -> None:
        self.saved.append(len(json.dumps(state)))
        super().save_turn(session, state)


THEIR_MESSAGES = 200
"""Messages of the peer's conversation: it is quadratic, so it gets a quarter of ours."""


async def _autogens(base_url: str) -> tuple[list[float], list[float]]:
    """AutoGen's own team of two with the OpenAI client: time of a turn and bytes of its state."""
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.teams import RoundRobinGroupChat
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    client = OpenAIChatCompletionClient(
        model="scripted",
        base_url=base_url,
        api_key="none",
        model_info={
            "vision": False,
            "function_calling": False,
            "json_output": False,
            "structured_output": False,
            "family": "unknown",
        },
        include_name_in_message=False,
    )
    agents: list[Any] = [AssistantAgent(name, client) for name in ("one", "two")]
    team = RoundRobinGroupChat(agents, max_turns=1)
    times, sizes = [], []
    task: str | None = "Count."
    for _ in range(THEIR_MESSAGES):
        started = time.perf_counter()
        async for _message in team.run_stream(task=task):
            pass
        sizes.append(float(len(json.dumps(await team.save_state()))))
        times.append(time.perf_counter() - started)
        task = None
    await client.close()
    return times, sizes


def _start() -> list[Row]:
    """`--help` against an interpreter that does nothing."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    ours, bare = [], []
    for _ in range(TIMES):
        bare.append(_timed([sys.executable, "-c", "pass"], environment))
        ours.append(_timed([sys.executable, str(ROOT / "main.py"), "--help"], environment))
    return [compare("main.py --help, ms", median(ours) * 1000, median(bare) * 1000, "python -c pass", "<= 8")]


def _timed(command: list[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started
