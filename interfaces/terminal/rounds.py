"""One line for each round: `✔ generated 3.1 s · ✔ allowed 0.8 s · ✔ ran 0.02 s, exit 0`."""

from __future__ import annotations

from rich.text import Text

from interfaces.terminal.plain import counted, seconds
from sessions.events import AnswerEvent, ExecutionEvent, MessageEvent, ReviewEvent

_VERDICTS = {"allow": ("✔ allowed", "good"), "ask": ("● ask", "ask"), "deny": ("✘ denied", "bad")}
_ANSWERS = {
    "yes": ("✔ approved", "good"),
    "always": ("✔ approved, always", "good"),
    "no": ("✘ refused", "bad"),
    "each": ("● answered", "ask"),
    "edit": ("✔ edited", "good"),
}


_DEATHS = {
    132: "illegal instruction",
    134: "aborted",
    136: "arithmetic error",
    137: "killed",
    139: "segmentation fault",
    153: "file size limit",
    159: "forbidden system call",
}
"""What the exit codes of common deaths by a signal mean."""


class Round:
    """What happened since the generator began to write."""

    def __init__(self) -> None:
        self._steps: list[Text] = []
        self._runs: list[ExecutionEvent] = []

    def generated(self, event: MessageEvent) -> None:
        """Note the generator's message."""
        taken = f" {seconds(event.duration_s)}" if event.duration_s else ""
        mark, style = ("✘ cut short", "bad") if event.cut else ("✔ generated", "good")
        self._steps.append(Text(f"{mark}{taken}", style=style))

    def reviewed(self, event: ReviewEvent) -> None:
        """Note a verdict."""
        words, style = _VERDICTS[event.verdict]
        self._steps.append(Text(f"{words} {seconds(event.duration_s)}", style=style))

    def answered(self, event: AnswerEvent) -> None:
        """Note what the human said to a run."""
        if event.kind in ("run", "override") and event.decision in _ANSWERS:
            words, style = _ANSWERS[event.decision]
            if event.kind == "override" and event.digests:
                words = "✔ overridden"
            self._steps.append(Text(words, style=style))

    def ran(self, event: ExecutionEvent) -> None:
        """Note the end of a block."""
        self._runs.append(event)

    def take_line(self) -> Text | None:
        """The line, and begin anew; None where nothing happened that is worth one."""
        parts = [*self._steps, *self._ran()]
        self._steps, self._runs = [], []
        return Text(" · ", style="faint").join(parts) if parts else None

    def _ran(self) -> list[Text]:
        if not self._runs:
            return []
        last = self._runs[-1]
        taken = seconds(sum(each.duration_s for each in self._runs))
        blocks = f" {counted(len(self._runs), 'block')}," if len(self._runs) > 1 else ""
        good = last.exit_code == 0 and not last.cancelled
        mark, style = ("✔", "good") if good else ("✘", "bad")
        return [Text(f"{mark} ran{blocks} {taken}, {how_it_ended(last)}", style=style)]


def how_it_ended(event: ExecutionEvent) -> str:
    """How a block ended, in a few words."""
    if event.cancelled:
        return "stopped"
    if event.oom:
        return f"out of memory, exit {event.exit_code}"
    if event.timed_out:
        return f"time limit, exit {event.exit_code}"
    death = f", {_DEATHS[event.exit_code]}" if event.exit_code in _DEATHS else ""
    return f"exit {event.exit_code}{death}"
