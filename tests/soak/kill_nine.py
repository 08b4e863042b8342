"""Case 59: the program is killed with -9 at a random moment of a conversation, and resumed to its end.

What must hold each time: no event that was shown is lost, no block runs twice without a new approval by a human, and
the last answer is the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from sessions.sqlite_store import SqliteStore
from tests.interfaces.program import start
from tests.scripted_server import Reply, Request, ScriptedServer
from utils.settings import Settings

STEPS = 10
"""Blocks of the conversation, one a round."""
ANSWER = f"All {STEPS} steps are done.\n\nSTOP"
RESUMES = 8
"""Times that a session may be resumed until it must have ended."""

TASK = f"Do {STEPS} steps."


def reply(request: Request) -> Reply:
    """The next step after the last one that the model was told of; the same question gets the same answer."""
    done = [int(number) for number in re.findall(r"step (\d+) is done", request.text)]
    step = max(done, default=0) + 1
    if step > STEPS:
        return Reply(ANSWER)
    code = f"with open('steps.txt', 'a') as steps:\n    steps.write('{step}\\n')\nprint('step', {step}, 'is', 'done')"
    return Reply(f"Step number {step}.\n\n```python\n{code}\n```\n")


class Run:
    """One start of the program and what it showed."""

    def __init__(self, home: Path, base_url: str, *arguments: str) -> None:
        data = str(home / "data")
        options = ["--json", "--max-turns", str(5 * STEPS), "--data-dir", data]
        self.program = start([*arguments, *options], home, OPENAI_BASE_URL=base_url)
        self.shown: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        for line in self.program.stdout:
            if not line.endswith("\n"):
                continue
            self.shown.append(json.loads(line))
            if self.shown[-1]["type"] == "question":
                with contextlib.suppress(BrokenPipeError):  # it may have ended already
                    self.program.stdin.write(json.dumps({"answer": "yes", "question": self.shown[-1]["id"]}) + "\n")
                    self.program.stdin.flush()

    def kill(self) -> None:
        os.kill(self.program.pid, signal.SIGKILL)
        self.end()

    def end(self) -> int:
        try:
            status = self.program.wait(120)
        except subprocess.TimeoutExpired:
            self.program.kill()
            raise
        self._reader.join(10)
        for stream in (self.program.stdin, self.program.stdout, self.program.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        return status


def whole_run_s(home: Path) -> float:
    """Time of a run that nobody kills, seconds."""
    home.mkdir(parents=True)
    started = time.monotonic()
    with ScriptedServer(reply) as server:
        run = Run(home, server.base_url, "-t", TASK)
        assert run.end() == 0, run.shown[-1:]
    check(home, run.shown)
    return time.monotonic() - started


def one_round(home: Path, seed: int, longest_s: float) -> int:
    """Kill one run at a random moment, resume it to its end, check. Returns how often it had to be resumed."""
    home.mkdir(parents=True)
    rng = random.Random(seed)
    shown: list[dict[str, Any]] = []
    with ScriptedServer(reply) as server:
        run = Run(home, server.base_url, "-t", TASK)
        threading.Event().wait(rng.uniform(0.2, longest_s))
        run.kill()
        shown += run.shown
        resumed = 0
        while not any(event["type"] == "stop" for event in shown):
            assert resumed < RESUMES, f"seed {seed}: the session does not end: {shown[-3:]}"
            resumed += 1
            run = Run(home, server.base_url, *(("--resume",) if shown or _has_session(home) else ("-t", TASK)))
            if rng.random() < 0.3 and resumed < 3:
                threading.Event().wait(rng.uniform(0.2, longest_s))
                run.kill()
            else:
                run.end()
            shown += run.shown
            if _ended(home):
                break
    check(home, shown)
    return resumed


def check(home: Path, shown: list[dict[str, Any]]) -> None:
    """Hold what was shown against what is stored, each run against its approvals, the answer against the answer."""
    stored = _stored(home)
    by_seq = {event["seq"]: event for event in stored}
    lost = [event for event in shown if by_seq.get(event["seq"]) != event]
    assert not lost, f"shown, but not stored so: {lost[:3]}"
    approved: dict[tuple[str, int, str], int] = {}
    asked_again = 0
    for event in stored:
        if event["type"] == "approval":
            key = (event["message"], event["index"], event["digest"])
            approved[key] = approved.get(key, 0) + 1
            if approved[key] > 1:
                assert event["by"] == "human", f"approved again by {event['by']}"
                asked_again += 1
        elif event["type"] == "execution":
            key = (event["message"], event["index"], event["digest"])
            assert approved.get(key, 0) > 0, f"ran without an approval: {key}"
            approved[key] -= 1
    stop = [event for event in stored if event["type"] == "stop"][-1]
    assert stop["reason"] == "stopped", (stop, [event for event in stored if event["type"] == "error"])
    messages = [event for event in stored if event["type"] == "message" and event["source"] == "code_generator"]
    assert messages[-1]["text"] == ANSWER
    steps = (home / "data" / "work").glob("*/steps.txt")
    done = [int(line) for path in steps for line in path.read_text().split()]
    assert sorted(set(done)) == list(range(1, STEPS + 1)), done
    assert len(done) <= STEPS + asked_again, f"a block ran twice without a new approval: {done}"


def _settings(home: Path) -> Settings:
    return Settings(data_dir=home / "data")


def _has_session(home: Path) -> bool:
    return bool(_sessions(home))


def _sessions(home: Path) -> list[str]:
    if not (home / "data" / "roundtable.db").exists():
        return []
    store = SqliteStore.from_settings(_settings(home), read_only=True)
    try:
        return [info.id for info in store.sessions() if info.task]
    finally:
        store.close()


def _stored(home: Path) -> list[dict[str, Any]]:
    (session,) = _sessions(home)
    store = SqliteStore.from_settings(_settings(home), read_only=True)
    try:
        return [event.model_dump(mode="json") for event in store.events(session)]
    finally:
        store.close()


def _ended(home: Path) -> bool:
    return bool(_sessions(home)) and _stored(home)[-1]["type"] == "stop" and _stored(home)[-1]["reason"] == "stopped"
