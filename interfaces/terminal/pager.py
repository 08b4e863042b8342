"""A long text, one screen at a time, to its end or until the reader has had enough."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from rich.console import Console, RenderableType


async def page(console: Console, parts: Sequence[RenderableType], read: Callable[[str], Awaitable[str]]) -> bool:
    """Show the parts, waiting for Enter after each screenful. Says whether the end was reached.

    Where nobody can press Enter (the output is no terminal) everything is printed at once.
    """
    room = max(console.height - 2, 3) if console.is_terminal else 0
    left = room
    for number, part in enumerate(parts):
        lines = len(console.render_lines(part))
        if room and lines > left and number:
            answer = await read(f"-- {number} of {len(parts)} parts; Enter: more, q: enough › ")
            if answer.strip().lower().startswith("q"):
                return False
            left = room
        console.print(part)
        left -= lines
    return True
