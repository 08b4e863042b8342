"""What a human sees who is asked whether code may run: the verdict and its reasons first, then the code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.text import Text

from interfaces.terminal.code_view import excerpt, table, unified, whole
from interfaces.terminal.hanging import Hanging, mark
from interfaces.terminal.outlet import GAP, rule
from interfaces.terminal.plain import counted, one_line
from interfaces.terminal.verdicts import findings_table, headline
from safety.visible import far_away
from sessions.questions import AskedBlock, Question

_TITLES = {
    "run": "may this run?",
    "override": "run what was denied?",
    "package": "install packages?",
    "network": "run this with a network?",
}


def view(question: Question) -> list[RenderableType]:
    """The question as it is first shown: the blocks asked about with their code, the others by their verdict."""
    asked = {block.index for block in asked_blocks(question)}
    parts: list[RenderableType] = [GAP, rule(_TITLES.get(question.kind, question.kind), "ask")]
    for block in question.blocks:
        parts += reasons(block, len(question.blocks))
        if block.index in asked and question.kind != "override":  # whose code is paged whole
            parts += [GAP, *_code(block), GAP]
    return [*parts, Text(one_line(question.text), style="bold")]


def asked_blocks(question: Question) -> list[AskedBlock]:
    """The blocks that wait for the answer, in order."""
    indexes = question.details.get("asked")
    if indexes is None:
        return list(question.blocks)
    return [block for block in question.blocks if block.index in indexes]


def reasons(block: AskedBlock, of: int = 1) -> list[RenderableType]:
    """The verdict, why, what was seen about the block as a whole, what stands far away."""
    place = f", block {block.index + 1} of {of}" if of > 1 else ""
    parts: list[RenderableType] = [headline(block.verdict, block.language, block.digest, place=place)]
    if block.reason:
        parts.append(Hanging("  ", Text(one_line(block.reason))))
    if touches := _touches(block):
        parts.append(Hanging("  ", Text(f"touches: {touches}", style="faint")))
    if about_all := [finding for finding in block.findings if not finding.get("line")]:
        parts.append(findings_table(about_all))
    parts += [mark("out of sight: " + sentence, "ask", indent=2) for sentence in far_away(block.code)]
    return parts


def whole_block(block: AskedBlock) -> list[RenderableType]:
    """Every line of a block, one part a line."""
    return [table([row]) for row in _aligned(whole(block.code, block.language, block.findings))]


def difference(blocks: Iterable[AskedBlock]) -> list[RenderableType]:
    """What changed in the blocks since the last approved one of their language."""
    parts: list[RenderableType] = []
    for block in blocks:
        if not block.previous:
            parts.append(Text(f"No {one_line(block.language)} block was approved before.", style="faint"))
            continue
        lines = unified(block.previous, block.code, "approved before", "now asked")
        parts += lines or [Text("The same as the last approved one.", style="faint")]
    return parts


def _code(block: AskedBlock) -> list[RenderableType]:
    rows, left_out = excerpt(block.code, block.language, block.findings)
    parts = [table(rows)]
    if left_out:
        parts.append(Text(f"  {counted(left_out, 'line')} not shown here: v shows the whole block", style="ask"))
    return parts


def _aligned(rows: Sequence[tuple[str, Text]]) -> list[tuple[str, Text]]:
    width = max((len(number) for number, _ in rows), default=1)
    return [(number.rjust(width), text) for number, text in rows]


def _touches(block: AskedBlock) -> str:
    names = {str(finding.get("touches", "nothing")) for finding in block.findings} - {"nothing"}
    return ", ".join(one_line(name) for name in sorted(names))
