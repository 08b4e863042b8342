"""What another try changed in the code."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from interfaces.terminal.code_view import unified
from interfaces.terminal.outlet import rule
from sessions.events import MessageEvent


def code_change(before: MessageEvent, after: MessageEvent) -> list[RenderableType]:
    """The last code before beside the last code now, as a unified diff for each block."""
    parts: list[RenderableType] = []
    for place in range(max(len(before.blocks), len(after.blocks))):
        old = before.blocks[place].code if place < len(before.blocks) else ""
        new = after.blocks[place].code if place < len(after.blocks) else ""
        parts += unified(old, new, f"before, block {place + 1}", f"now, block {place + 1}")
    if not parts:
        return [Text("The code is the same as before.", style="faint")]
    return [rule("what changed in the code"), *parts, rule("")]
