"""What is going on at the moment, with the seconds it has taken so far."""

from __future__ import annotations

import time

from rich.text import Text

from interfaces.terminal.plain import one_line, seconds
from sessions.progress import Step

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_SPINNER = "|/-\\"
_COLD_S = 5.0
"""Seconds without a word after which a model is said to be waited for."""
_PATIENCE_S = (10.0, 30.0)
"""Where nothing can be redrawn: after how many seconds a wait is told, and how often then."""
_WORDS = {
    "generating": "generating",
    "reviewing": "reviewing",
    "running": "running",
    "starting sandbox": "starting the sandbox",
    "building image": "building the sandbox image",
    "installing": "installing",
}


class Status:
    """The steps that have started and not ended, the latest last."""

    def __init__(self, encoding: str) -> None:
        self._frames = _SPINNER if encoding.startswith("utf") else _ASCII_SPINNER
        self._steps: dict[tuple[str, str], tuple[Step, float]] = {}
        self._words = False
        self._told = 0.0
        self._stopping = False

    def start(self, step: Step) -> None:
        """A step begins, or tells a new detail of itself."""
        if step.step == "asking":
            return
        key = (step.source, step.step)
        _, since = self._steps.pop(key, (step, time.monotonic()))
        self._steps[key] = (step, since)
        self._words = False
        self._told = 0.0

    def end(self, step: Step) -> None:
        """A step ends."""
        self._steps.pop((step.source, step.step), None)

    def restart(self) -> None:
        """The call to the model begins again."""
        now = time.monotonic()
        self._steps = {key: (step, now) for key, (step, _) in self._steps.items()}
        self._words = False

    def stopping(self) -> None:
        """The human wants it to stop."""
        self._stopping = True

    def words_came(self) -> None:
        """The model has begun to answer."""
        self._words = True

    def clear(self) -> None:
        """Nothing goes on any more, but for what runs beside the conversation."""
        self._stopping = False
        beside = ("starting sandbox", "building image", "installing")
        self._steps = {key: value for key, value in self._steps.items() if key[1] in beside}

    def line(self) -> Text | None:
        """The line for the live region, with a sign that moves."""
        if not self._steps:
            return None
        frame = self._frames[int(time.monotonic() * 12) % len(self._frames)]
        line = Text(f"{frame} ", style="notice").append(self._sentence(), style="faint")
        return line.append(" · stopping; Ctrl-C again leaves" if self._stopping else "", style="ask")

    def toolbar(self) -> str:
        """The same for the line below the prompt; empty where nothing goes on."""
        return self._sentence() if self._steps else ""

    def patience(self) -> Text | None:
        """A line that tells of a long wait, now and then, for a terminal without a live region."""
        if not self._steps or self._words:
            return None
        _, since = list(self._steps.values())[-1]
        taken = time.monotonic() - since
        if taken < (self._told + _PATIENCE_S[1] if self._told else _PATIENCE_S[0]):
            return None
        self._told = taken
        return Text(f"● {self._sentence()}", style="notice")

    def _sentence(self) -> str:
        step, since = list(self._steps.values())[-1]
        taken = time.monotonic() - since
        words = _WORDS.get(step.step, step.step)
        if step.step == "generating" and not self._words and taken >= _COLD_S:
            words = "waiting for the model"
        detail = f" {one_line(step.detail, 60)}" if step.detail else ""
        return f"{words}{detail} {seconds(taken) if taken >= 1 else ''}".rstrip()
