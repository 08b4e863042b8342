"""A session that is over, as it was on the screen; in a pager where there is a terminal."""

from __future__ import annotations

import io
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from interfaces.terminal.outlet import THEME, make_console
from interfaces.terminal.plain import one_line, shown
from interfaces.terminal.screen import Screen
from interfaces.terminal.verdicts import review_parts
from sessions.events import AnswerEvent, Event, MessageEvent, QuestionEvent, ReviewEvent, TaskEvent
from sessions.store import SessionInfo
from sessions.summary import models_of


def show(info: SessionInfo, events: Iterable[Event], environ: Mapping[str, str]) -> None:
    """Print the session, or hand it to `$PAGER` (`less` where none is named) at a terminal."""
    events = list(events)
    console = make_console()
    pager = _pager(environ) if console.is_terminal and not console.is_dumb_terminal else []
    if not pager:
        _play(console, info, events)
        return
    page = Console(
        file=io.StringIO(),
        theme=THEME,
        width=console.width,
        color_system=console.color_system,  # type: ignore[arg-type]  # one of the names that it takes
        no_color=console.no_color,
        highlight=False,
        markup=False,
        emoji=False,
    )
    _play(page, info, events)
    assert isinstance(page.file, io.StringIO)
    text = page.file.getvalue().encode("utf-8", "replace")
    try:
        subprocess.run(pager, input=text, env={"LESS": "-RFX", **environ}, check=False)
    except (OSError, subprocess.SubprocessError):
        sys.stdout.write(text.decode())


def _pager(environ: Mapping[str, str]) -> list[str]:
    """The pager's command; empty where there is none."""
    try:
        command = shlex.split(environ.get("PAGER", "")) or ["less"]
    except ValueError:
        return []
    return command if shutil.which(command[0]) else []


def _play(console: Console, info: SessionInfo, events: Sequence[Event]) -> None:
    """Show every event, the words of the human included."""
    screen = Screen(console)
    when = info.created[:16].replace("T", " ")
    model = one_line(models_of(info, events)) or "no model"
    screen.print(Text(f"Session {info.id} · {when} UTC · {model} · {info.state}", "faint"))
    review: ReviewEvent | None = None
    for event in events:
        screen.on_event(event)
        review = event if isinstance(event, ReviewEvent) else review
        if isinstance(event, TaskEvent):
            screen.print(Text(), Rule(style="faint"), _said(event.text), Text())
        elif isinstance(event, QuestionEvent):
            if review and event.message == review.message and event.kind in ("run", "override"):
                screen.print(*review_parts(review))  # the screen leaves it to the question, which is not drawn here
            screen.print(Text(f"● {one_line(event.text)}", style="ask"))
        elif isinstance(event, AnswerEvent) and event.kind not in ("feedback", "stuck"):  # a message says it too
            screen.print(_said(f"{event.decision}: {event.text}" if event.text else event.decision))
        elif isinstance(event, MessageEvent) and event.kind == "feedback" and event.text:
            screen.print(_said(event.text))
    screen.settle()


def _said(text: str) -> Text:
    return Text("› ", style="label").append(shown(text), style="bold default")
