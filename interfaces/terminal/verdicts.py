"""A verdict as the terminal shows it: what was decided, why, and what was seen at which line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from interfaces.terminal.hanging import Hanging
from interfaces.terminal.plain import one_line
from interfaces.terminal.trimmed import Trimmed
from sessions.events import ReviewEvent

DIGEST_SHOWN = 6
"""Characters of a digest that are shown, and typed for an override."""

_MARKS = {"allow": "✔", "ask": "●", "deny": "✘"}
_WORDS = {"allow": "allowed", "ask": "to be asked", "deny": "denied"}


def headline(verdict: str, language: str, digest: str, *, place: str = "") -> Text:
    """One line: `✘ denied  python 3fa9c1`."""
    line = Text(f"{_MARKS.get(verdict, '●')} {_WORDS.get(verdict, one_line(verdict))}", style=_style(verdict))
    line.append(f"  {one_line(language)}{place}", style="default not bold")
    return line.append(f" {digest[:DIGEST_SHOWN]}", style="faint")


def findings_table(findings: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Findings as rows: line, rule, what was seen."""
    table = Table.grid(padding=(0, 1))
    table.add_column(style="faint", no_wrap=True, justify="right")
    table.add_column(overflow="fold")
    for finding in sorted(findings, key=lambda each: (each.get("line", 0), str(each.get("rule", "")))):
        line = finding.get("line", 0)
        what = Text(one_line(str(finding.get("message", ""))))
        touches = finding.get("touches", "nothing")
        about = f"{finding.get('rule', '')}" + (f", {touches}" if touches != "nothing" else "")
        what.append(f"  ({one_line(about)})", style="faint")
        table.add_row(f"   line {line}" if line else "   whole", what)
    return Trimmed(table)


def review_parts(event: ReviewEvent) -> list[RenderableType]:
    """The verdict of each block; reasons and findings where it is more than `allow`."""
    parts: list[RenderableType] = []
    for block in event.blocks:
        verdict = str(block.get("verdict", event.verdict))
        number = int(block.get("index", 0)) + 1
        place = f", block {number}" if len(event.blocks) > 1 else ""
        parts.append(headline(verdict, str(block.get("language", "")), str(block.get("digest", "")), place=place))
        if verdict != "allow":
            parts += _why(one_line(str(block.get("reason", ""))), block.get("findings") or ())
    return parts


def _why(reason: str, findings: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """The reason, and the findings that it does not tell already; of those that it does, the rule."""
    told = [finding for finding in findings if one_line(str(finding.get("message", ""))) in reason]
    others = [finding for finding in findings if finding not in told]
    line = Text(reason)
    if rules := dict.fromkeys(one_line(str(finding.get("rule", ""))) for finding in told):
        line.append(f"  ({', '.join(rules)})", style="faint")
    parts: list[RenderableType] = [Hanging("  ", line)] if line else []
    return [*parts, findings_table(others)] if others else parts


def explanation(event: ReviewEvent) -> list[RenderableType]:
    """The last verdict in full: who judged each block, why, which rule saw what at which line."""
    parts: list[RenderableType] = []
    for block in event.blocks:
        number = int(block.get("index", 0)) + 1
        place = f", block {number}" if len(event.blocks) > 1 else ""
        verdict = str(block.get("verdict", event.verdict))
        parts.append(headline(verdict, str(block.get("language", "")), str(block.get("digest", "")), place=place))
        by = {"rules": "the rules", "model": "the reviewer's model", "nobody": "nobody: the reviewer failed"}
        parts.append(Text(f"  by {by.get(str(block.get('by', 'rules')), 'the rules')}", style="faint"))
        if block.get("reason"):
            parts.append(Hanging("  ", Text(one_line(str(block["reason"])))))
        parts.append(findings_table(block["findings"]) if block.get("findings") else _no_findings())
    return parts


def _no_findings() -> Text:
    return Text("  no rule saw anything", style="faint")


def _style(verdict: str) -> str:
    return verdict if verdict in _MARKS else "ask"
