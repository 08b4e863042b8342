"""The audit as it is read in a terminal: a line for each block, and below it who let it run and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from interfaces.terminal.plain import counted, one_line
from interfaces.terminal.verdicts import DIGEST_SHOWN
from sessions.audit import AuditEntry
from sessions.store import SessionInfo

_BY = {
    "policy": "the review allowed it",
    "human": "the human approved it",
    "override": "the human overrode a denial",
    "standing": 'the human\'s "always these bytes"',
}


def view(info: SessionInfo, entries: Sequence[AuditEntry]) -> list[RenderableType]:
    """The whole audit of one session."""
    parts: list[RenderableType] = [Text(f"Session {info.id}: {one_line(info.task, 120)}", style="bold")]
    for entry in entries:
        parts += _entry(entry)
    return [*parts, Text(), _verdict(entries)]


def _entry(entry: AuditEntry) -> Iterator[Text]:
    ran = entry.outcome != "not run"
    mark, style = ("✘", "bad") if entry.problems else ("✔", "good") if ran else ("·", "faint")
    exit_code = f", exit {entry.exit_code}" if entry.exit_code is not None else ""
    head = Text(f"\n{mark} {entry.outcome}{exit_code}", style=style)
    head.append(f"  {one_line(entry.language)} {entry.digest[:DIGEST_SHOWN]}", style="default")
    place = f"  message {one_line(entry.message)[:8]}, block {entry.index + 1}"
    yield head.append(f"{place}{'  ' + entry.time[:19].replace('T', ' ') if entry.time else ''}", style="faint")
    if entry.verdict:
        by = {"model": "the model", "nobody": "nobody"}.get(entry.judge, "the rules")
        yield Text(one_line(f"    review   {entry.verdict}, by {by}: {entry.reason}"))
    if entry.edited:
        yield Text("    code     as the human edited it")
    if entry.answer:
        yield Text(one_line(f"    answer   {entry.answer}"))
    if ran and entry.by:
        before = f"event {entry.approval_seq}, before the run"
        yield Text(
            f"    let run  {_BY.get(entry.by, entry.by)}: {before if entry.approved_before else 'NOT before it'}"
        )
    if entry.redacted:
        yield Text("    digest   of the true bytes; a secret in the record was replaced", style="faint")
    for problem in entry.problems:
        yield Text(f"    ! {problem}", style="bad")


def _verdict(entries: Sequence[AuditEntry]) -> Text:
    runs = [entry for entry in entries if entry.outcome != "not run"]
    wrong = [entry for entry in runs if entry.problems]
    if wrong:
        return Text(f"✘ {counted(len(wrong), 'run')} of {len(runs)} not in order.", style="bad")
    if not runs:
        return Text("Nothing ran.")
    return Text(f"✔ {counted(len(runs), 'run')}, each with an approval of exactly its bytes before it.", style="good")
