"""Lines without the spaces that fill them up to the screen's edge: they wrap nowhere and copy well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment


class Trimmed:
    """Something that rich fills up with spaces, such as a table, without them."""

    def __init__(self, renderable: RenderableType) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in trimmed_lines(console.render(self._renderable, options)):
            yield from line
            yield Segment.line()


def trimmed_lines(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """The lines, each without the spaces at its end."""
    for line in Segment.split_lines(segments):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        yield line
