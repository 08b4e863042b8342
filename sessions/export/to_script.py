"""A Python script: the blocks that ran well, in order."""

from __future__ import annotations

import base64
import textwrap

from sessions.events import MessageEvent, TaskEvent
from sessions.export.python_code import needs_own_process, quoted, written
from sessions.export.story import Run, Story
from sessions.export.words import BY, ending, visible

_HEAD = """\
#!/usr/bin/env python3
# {title}
#
# From the session {session} of {created}. It needs the packages that the sandbox had, and runs here without a sandbox:
# read it before you run it.
"""

_COMMANDS = {
    "bash": ("bash", "-c"),
    "sh": ("sh", "-c"),
    "javascript": ("node", "-e"),
    "perl": ("perl", "-e"),
    "ruby": ("ruby", "-e"),
    "lua": ("lua", "-e"),
    "r": ("Rscript", "--vanilla", "-e"),
}
"""Programs that take a block of their language as an argument."""


def render(story: Story) -> str:
    """The script. A block that failed, was cut off or lost a secret stands in it as a comment."""
    title = " ".join(visible(story.info.task).split())[:110] or "A session"
    parts = [_HEAD.format(title=title, session=story.info.id, created=story.info.created), "import subprocess\n"]
    parts[-1] += "import sys\n"
    parts += _inputs(story)
    for step in story.steps:
        if isinstance(step, TaskEvent):
            parts.append(_comment(f"Task: {step.text}"))
        elif isinstance(step, MessageEvent) and step.kind == "feedback":
            parts.append(_comment(f"You: {step.text}"))
        elif isinstance(step, Run):
            parts.append(_run(step))
    return "\n".join(parts)


def _inputs(story: Story) -> list[str]:
    parts = []
    for file, data in story.inputs:
        parts.append(
            f"_place = __import__('pathlib').Path({file.path!r})\nif not _place.exists():\n"
            "    _place.parent.mkdir(parents=True, exist_ok=True)\n"
            f"    _place.write_bytes(__import__('base64').b64decode({base64.b64encode(data).decode()!r}))\n"
        )
    if story.inputs_missing:
        parts.append(_comment(f"To be put beside this script: {', '.join(story.inputs_missing)}"))
    return parts


def _run(run: Run) -> str:
    head = _comment(f"Block {run.index + 1}, {run.language}: {BY[run.by]}; {ending(run)}.")
    if run.kept_as and run.by:
        # Also where it failed: later blocks may use what is in it.
        head += written(run.kept_as, run.code)
    if run.exit_code != 0 or run.redacted or not run.by:
        return head + _comment(run.code)
    if run.language == "python":
        return head + (
            _process(("sys.executable", "'-c'"), run.code) if needs_own_process(run.code) else run.code + "\n"
        )
    if run.language in _COMMANDS:
        return head + _process(tuple(repr(word) for word in _COMMANDS[run.language]), run.code)
    return head + _comment(f"There is no way here to run {run.language}:\n{run.code}")


def _process(command: tuple[str, ...], code: str) -> str:
    """Hand the code to a program of its own."""
    return f"sys.stdout.flush()\nsubprocess.run([{', '.join(command)}, {quoted(code)}], check=True)\n"


def _comment(text: str) -> str:
    return textwrap.indent(visible(text).rstrip("\n"), "# ", lambda line: True) + "\n"
