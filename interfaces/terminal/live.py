"""The last lines of the screen, drawn anew while something goes on; what is above them is never touched."""

from __future__ import annotations

from math import ceil

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from interfaces.terminal.outlet import batch, can_redraw

_BEGIN, _END = "\x1b[?2026h\x1b[?25l", "\x1b[?2026l"


class LiveRegion:
    """Lines at the bottom that may change. Each draw writes only over the lines before, so nothing flickers.

    Does nothing where the terminal cannot redraw.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self.enabled = can_redraw(console)
        self._lines: list[str] = []
        self._widths: list[int] = []

    def draw(self, renderable: RenderableType) -> None:
        """Show this in place of what was there; of what is too tall, the end."""
        if not self.enabled:
            return
        lines, widths = self._render(renderable)
        if lines == self._lines:
            return
        with batch(self._console):
            self._console.file.write(_BEGIN + self._home())
            self._console.file.write("\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J" + _END)
        self._lines, self._widths = lines, widths

    def clear(self) -> None:
        """Take the lines away and show the cursor again."""
        if not self._lines:
            return
        with batch(self._console):
            self._console.file.write(self._home() + "\x1b[J\x1b[?25h")
        self._lines, self._widths = [], []

    def _home(self) -> str:
        """Codes that go to the start of the region, also where a narrower terminal has wrapped its lines."""
        if not self._lines:
            return "\r"
        width = max(self._console.width, 1)
        rows = sum(max(1, ceil(each / width)) for each in self._widths)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "")

    def _render(self, renderable: RenderableType) -> tuple[list[str], list[int]]:
        console = self._console
        with console.capture() as capture:
            console.print(renderable, width=max(console.width - 1, 1), end="")
        lines = capture.get().rstrip("\n").split("\n")[-max(console.height - 2, 1) :]
        return lines, [cell_len(Text.from_ansi(line).plain) for line in lines]
