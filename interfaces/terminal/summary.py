"""The last lines: an error, the end of a task."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from interfaces.terminal.hanging import Hanging
from interfaces.terminal.plain import counted, one_line, seconds
from sessions.events import StopEvent
from utils.errors import as_sentence


def error_line(text: str, hint: str = "") -> Hanging:
    """An error on one line: what happened and what to do."""
    line = Text(one_line(as_sentence(text)), style="bad")
    line = line.append(f" {one_line(hint)}", style="default") if hint else line
    return Hanging(Text("✘ ", style="bad"), line, whole_words=True)


_STOPS = {
    "approved": ("✔ approved", "good"),
    "stopped": ("✔ done", "good"),
    "answered": ("✔ answered", "good"),
    "stuck": ("✘ stuck", "bad"),
    "limit": ("✘ limit reached", "bad"),
    "interrupted": ("● interrupted", "ask"),
    "error": ("✘ ended by an error", "bad"),
}


def summary(event: StopEvent, told: str = "") -> list[RenderableType]:
    """The end of a task: why, what it took, where the files are. `told` is the error that the screen shows already."""
    words, style = _STOPS[event.reason]
    first = Text(words, style=style)
    if event.text and event.text != told and event.reason in ("stuck", "limit", "error"):
        first.append(f": {one_line(event.text)}", style="default")
    usage = event.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    facts = [
        f"{counted(event.blocks_run, 'block')} run",
        counted(usage.calls, "model call"),
        f"{tokens:,} tokens ({usage.prompt_tokens:,} in, {usage.completion_tokens:,} out)",
        seconds(event.duration_s),
    ]
    parts: list[RenderableType] = [first, Hanging("  ", Text(" · ".join(facts), style="faint"))]
    if event.work_dir:
        parts.append(Hanging("  ", Text(f"files: {one_line(event.work_dir)}", style="faint"), whole_words=True))
    return parts
