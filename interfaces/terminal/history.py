"""The commands that look back: `sessions`, `show`, `rm`, `export`, `audit`."""

from __future__ import annotations

import argparse
import shutil
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

from rich.table import Table
from rich.text import Text

from interfaces.terminal.outlet import make_console
from interfaces.terminal.plain import counted, one_line
from sessions.sqlite_store import FILE_NAME, SqliteStore
from sessions.store import SessionInfo
from utils.errors import ConfigurationError, StoreError
from utils.settings import Settings

_STATE_STYLES = {
    "approved": "good",
    "stopped": "good",
    "answered": "good",
    "running": "notice",
    "stuck": "bad",
    "error": "bad",
}


def sessions_command(args: argparse.Namespace, settings: Settings) -> int:
    """List the sessions, the latest first; `--json`: one JSON object a line."""
    console = make_console()
    if not (settings.data_dir / FILE_NAME).exists():
        if not args.json:
            console.print("There are no sessions yet. Start one: python main.py")
        return 0
    store = _look(settings)
    found = [info for info in store.sessions() if _wanted(info, args)]
    store.close()
    shown = found[: args.limit]
    if args.json:
        for info in shown:
            sys.stdout.write(info.model_dump_json() + "\n")
    elif not found:
        console.print("No session is like that.")
    else:
        console.print(_table(shown, console.width))
        if len(found) > len(shown):
            console.print(Text(f"{counted(len(found) - len(shown), 'older session')}: --limit N shows more."))
    return 0


def show_command(args: argparse.Namespace, settings: Settings) -> int:
    """Show one session: as it was on the screen, or with `--raw` its events."""
    store = _look(settings)
    try:
        session = store.find(args.id)
        if args.raw:
            for event in store.events(session):
                sys.stdout.write(event.model_dump_json() + "\n")
        else:
            from interfaces.terminal.replay import show

            show(store.info(session), store.events(session), settings.environ)
    finally:
        store.close()
    return 0


def rm_command(args: argparse.Namespace, settings: Settings) -> int:
    """Remove sessions with all that belongs to them; asks first, unless `--yes`."""
    if not (settings.data_dir / FILE_NAME).exists():
        raise StoreError("There are no sessions yet.", "Is --data-dir the right directory?")
    store = SqliteStore.from_settings(settings)
    try:
        if not all(args.ids):
            raise ConfigurationError("rm takes the first letters of a session, not an empty text.", "See: sessions")
        infos = list({info.id: info for info in (store.info(store.find(prefix)) for prefix in args.ids)}.values())
        for info in infos:
            store.open(info.id)  # held from here on: nobody goes on with it while the question stands
        if not args.yes and not _agreed(infos):
            make_console().print("Nothing was removed.")
            return 0
        for info in infos:
            store.remove(info.id)
            _remove_work_dir(info, settings.data_dir)
    finally:
        store.close()
    make_console().print(f"Removed {counted(len(infos), 'session')}.")
    return 0


def export_command(args: argparse.Namespace, settings: Settings) -> int:
    """Write a session to a file; to standard output with `--output -`."""
    from sessions.export import SUFFIXES, export

    store = _look(settings)
    try:
        session = store.find(args.id)
        text = export(store, session, args.to)
    finally:
        store.close()
    if args.output == "-":
        sys.stdout.write(text)
        return 0
    name = f"roundtable-{session}{SUFFIXES[args.to]}"
    path = Path(args.output or name).expanduser()
    path = path / name if path.is_dir() else path
    try:
        path.write_text(text, "utf-8", newline="")
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {(error.strerror or str(error)).lower()}.", "Name another with --output PATH."
        ) from error
    make_console().print(Text(one_line(f"Written: {path}")), soft_wrap=True)
    return 0


def audit_command(args: argparse.Namespace, settings: Settings) -> int:
    """Tell who let what run, and why. Status 1 where a run has no approval, or its record does not fit together."""
    from interfaces.terminal.audit_view import view
    from sessions.audit import audit

    store = _look(settings)
    try:
        session = store.find(args.id)
        entries = audit(store, session)
        info = store.info(session)
    finally:
        store.close()
    if args.json:
        for entry in entries:
            sys.stdout.write(entry.model_dump_json() + "\n")
    else:
        make_console().print(*view(info, entries), sep="\n")
    return 1 if any(entry.problems for entry in entries) else 0


def _look(settings: Settings) -> SqliteStore:
    return SqliteStore.from_settings(settings, read_only=True)


def _wanted(info: SessionInfo, args: argparse.Namespace) -> bool:
    since = args.since
    if since is not None and _when(info.updated) < datetime.now(timezone.utc) - timedelta(days=min(since, 100_000)):
        return False
    if args.state and info.state != args.state:
        return False
    return args.search.casefold() in info.task.casefold()


def _when(time: str) -> datetime:
    return datetime.fromisoformat(time.replace("Z", "+00:00"))


def _table(infos: list[SessionInfo], width: int) -> Table:
    """The sessions, a line each; the task gets what the other columns leave of the width."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    rows = [_row(info) for info in infos]
    head = ("ID", "WHEN", "STATE", "BLOCKS", "TOKENS")
    taken = sum(max(len(row[column]) for row in (head, *rows)) + 2 for column in range(len(head)))
    for name in head:
        table.add_column(name, no_wrap=True, justify="right" if name in ("BLOCKS", "TOKENS") else "left")
    table.add_column("TASK", no_wrap=True)
    for info, (session, when, state, *numbers) in zip(infos, rows, strict=True):
        task = Text(one_line(info.task, 500))
        task.truncate(max(width - taken, 16), overflow="ellipsis")
        table.add_row(session, when, Text(state, style=_STATE_STYLES.get(state, "ask")), *numbers, task)
    return table


def _row(info: SessionInfo) -> tuple[str, ...]:
    """What stands before the task."""
    updated = _when(info.updated).astimezone()
    this_year = updated.year == datetime.now(timezone.utc).year
    when = updated.strftime("%m-%d %H:%M" if this_year else "%Y-%m-%d")
    tokens = info.usage.prompt_tokens + info.usage.completion_tokens
    return info.id, when, info.state, str(info.blocks), f"{tokens:,}"


def _agreed(infos: list[SessionInfo]) -> bool:
    if not (sys.stdin and sys.stdin.isatty()):
        raise ConfigurationError("Nobody is there to say yes.", "Remove without a question: rm ID --yes")
    console = make_console()
    console.print(_table(infos, console.width))
    console.print(f"Remove {counted(len(infos), 'session')} with all that belongs to them? y/N › ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remove_work_dir(info: SessionInfo, data_dir: Path) -> None:
    """Remove the folder that was made for the session; the user's own folders stay."""
    work_dir = Path(info.work_dir)
    if info.work_dir and info.id in work_dir.parts and data_dir.resolve() in work_dir.resolve().parents:
        shutil.rmtree(work_dir, ignore_errors=True)
