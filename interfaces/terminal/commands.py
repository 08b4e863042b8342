"""The commands of the chat: lines that begin with a slash."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from interfaces.terminal.hanging import Hanging
from interfaces.terminal.listing import Listing
from interfaces.terminal.plain import one_line, size
from interfaces.terminal.summary import error_line
from interfaces.terminal.trimmed import Trimmed
from interfaces.terminal.verdicts import explanation
from sessions.events import ReviewEvent
from utils.errors import RoundtableError
from utils.settings import AskPolicy

_COMMAND = re.compile(r"/([A-Za-z?]+)(?:\s+(.*))?", re.DOTALL)
_ALIASES = {"?": "help", "exit": "quit", "q": "quit"}
_FILES_SHOWN = 200
_POLICIES: dict[str, AskPolicy] = {"always": "always", "risky": "risky", "never": "never"}


class Talk(Protocol):
    """What the commands may do to the chat."""

    @property
    def model(self) -> str:
        """Label of the model that answers."""
        ...

    @property
    def ask(self) -> AskPolicy:
        """When the human is asked."""
        ...

    @property
    def work_dir(self) -> Path:
        """Where files come back."""
        ...

    @property
    def last_review(self) -> ReviewEvent | None:
        """The last verdict."""
        ...

    def profiles(self) -> Sequence[tuple[str, str]]:
        """Names of the profiles, each with what it is."""
        ...

    def show(self, *parts: RenderableType) -> None:
        """Show these."""
        ...

    def set_model(self, name: str) -> str:
        """Let another model answer. Raises `ConfigurationError`."""
        ...

    def set_ask(self, policy: AskPolicy) -> None:
        """Change when the human is asked."""
        ...

    async def new(self) -> None:
        """Begin a new session."""
        ...

    async def retry(self, model: str) -> None:
        """Put the last request again."""
        ...

    def leave(self) -> None:
        """End the chat after this."""
        ...


@dataclass(frozen=True)
class Command:
    """One command."""

    name: str
    argument: str
    meaning: str
    run: Callable[[Talk, str], Awaitable[None]]


def parse_command(text: str) -> tuple[str, str] | None:
    """Name and argument of a command; None for a task, also one that begins with a path such as `/etc/hosts`."""
    match = _COMMAND.fullmatch(text.strip())
    return (match[1].lower(), (match[2] or "").strip()) if match else None


def ends_task(name: str) -> bool:
    """Whether a command cannot wait for the end of the task that goes on."""
    return _ALIASES.get(name, name) in ("new", "retry", "quit")


async def run_command(talk: Talk, name: str, argument: str) -> None:
    """Run a command. What goes wrong is shown on one line."""
    command = COMMANDS.get(_ALIASES.get(name, name))
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        hint = f"Did you mean /{near[0]}?" if near else "/help lists them."
        talk.show(error_line(f"There is no command /{name}.", hint))
        return
    if argument and not command.argument:
        talk.show(error_line(f"/{command.name} takes nothing after it."))
        return
    try:
        await command.run(talk, argument)
    except RoundtableError as error:
        talk.show(error_line(error.message, error.hint))


def completions(talk: Talk | None, text: str) -> list[tuple[str, str]]:
    """What could follow the text that was typed, each with its meaning."""
    word, space, typed = text.partition(" ")
    if not space:
        return [(f"/{c.name}", c.meaning) for c in COMMANDS.values() if c.name.startswith(word[1:].lower())]
    if word == "/ask":
        choices: Sequence[tuple[str, str]] = [("always", ""), ("risky", ""), ("never", "")]
    elif word in ("/model", "/retry") and talk is not None:
        choices = talk.profiles()
    else:
        return []
    return [choice for choice in choices if choice[0].startswith(typed)]


async def _help(talk: Talk, _: str) -> None:
    commands = Listing((f"/{each.name} {each.argument}".rstrip(), each.meaning) for each in COMMANDS.values())
    keys = Text("Alt-Enter, or a backslash at the end: another line · Ctrl-C: stop, twice: leave", style="faint")
    words = Text("APPROVE accepts the result and ends the task; anything else says what to change.", style="faint")
    talk.show(commands, words, keys)


async def _new(talk: Talk, _: str) -> None:
    await talk.new()


async def _model(talk: Talk, name: str) -> None:
    if name:
        talk.show(Text(f"✔ {one_line(talk.set_model(name))} answers from now on", style="good"))
        return
    profiles = Listing((one_line(profile), one_line(meaning)) for profile, meaning in talk.profiles())
    talk.show(Text(f"{one_line(talk.model)} answers. /model NAME takes a profile, or a model's name:"), profiles)


async def _ask(talk: Talk, policy: str) -> None:
    if not policy:
        talk.show(Text(f"/ask {talk.ask} is in force; always, risky and never can be chosen."))
        return
    if policy.lower() not in _POLICIES:
        talk.show(error_line(f"/ask takes always, risky or never, not {one_line(policy, 40)}."))
        return
    talk.set_ask(_POLICIES[policy.lower()])
    talk.show(Text(f"✔ /ask {talk.ask} is in force", style="good"))


async def _retry(talk: Talk, model: str) -> None:
    await talk.retry(model)


async def _files(talk: Talk, _: str) -> None:
    files = list_files(talk.work_dir)
    talk.show(Hanging("", Text(one_line(str(talk.work_dir)), style="faint"), whole_words=True))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", style="faint")
    for path, bytes_ in files[:_FILES_SHOWN]:
        grid.add_row(size(bytes_), Text(one_line(path)))
    talk.show(Trimmed(grid) if files else Text("  no files yet", style="faint"))
    if len(files) > _FILES_SHOWN:
        talk.show(Text(f"⋯ and {len(files) - _FILES_SHOWN:,} more", style="faint"))


async def _why(talk: Talk, _: str) -> None:
    if talk.last_review is None:
        talk.show(Text("Nothing has been reviewed yet.", style="faint"))
        return
    talk.show(*explanation(talk.last_review))


async def _quit(talk: Talk, _: str) -> None:
    talk.leave()


def list_files(directory: Path) -> list[tuple[str, int]]:
    """Regular files below a directory with their sizes, sorted by path; hidden ones and links are left out."""
    found: list[tuple[str, int]] = []
    for path in sorted(directory.rglob("*")) if directory.is_dir() else ():
        relative = path.relative_to(directory)
        if any(part.startswith(".") for part in relative.parts) or path.is_symlink():
            continue
        try:
            if path.is_file():
                found.append((relative.as_posix(), path.stat().st_size))
        except OSError:
            continue
    return found


COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("help", "", "what can be typed here", _help),
        Command("new", "", "begin a new session with an empty workspace", _new),
        Command("model", "[NAME]", "which model answers, or let another one answer", _model),
        Command("ask", "[always|risky|never]", "when you are asked before code runs", _ask),
        Command("retry", "[MODEL]", "the last request again, perhaps by another model", _retry),
        Command("files", "", "the files that came back", _files),
        Command("why", "", "the last verdict explained", _why),
        Command("quit", "", "leave (also Ctrl-D)", _quit),
    )
}
