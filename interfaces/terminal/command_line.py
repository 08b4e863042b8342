"""What `python main.py` does: arguments, settings, then one interface; and every error in one line."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from interfaces.terminal.arguments import parse
from utils.errors import ConfigurationError, RoundtableError, SandboxError

if TYPE_CHECKING:
    import argparse

    from utils.settings import Settings

INTERRUPTED = 130
MAX_TASK_BYTES = 1_000_000
"""Of a task that comes through a pipe."""


def main(argv: Sequence[str]) -> int:
    """Run the program and return its exit status. Ends by `SystemExit` for `--help`, `--version` and bad usage."""
    _open_streams()
    args = parse(argv)
    try:
        return _run(args)
    except RoundtableError as error:
        tell_error(error)
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has left: nobody to tell. Python must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name and (Path(__file__).parents[2] / error.name.partition(".")[0]).exists():
            return _unexpected(error)
        tell(f"The package {error.name} is missing: pip install -r requirements.txt, or make setup.")
        return ConfigurationError.exit_status
    except Exception as error:
        return _unexpected(error)


def _open_streams() -> None:
    """Put the null device where a standard stream is closed, so that no file gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  for the program's whole life


def tell(text: str) -> None:
    """Print one line on standard error, control characters made visible."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    sys.stderr.write(f"roundtable: {line}\n")


def tell_error(error: RoundtableError) -> None:
    """Print an error on one line, and on a line each what else is wrong in the same file."""
    for one in (error, *getattr(error, "others", ())):
        tell(f"{one.message} {one.hint}")


def _unexpected(error: Exception) -> int:
    """Write the details to the log and say where they are."""
    import logging

    logging.getLogger("roundtable").critical("unexpected: %s", type(error).__name__, exc_info=error)
    files = [h.baseFilename for h in logging.getLogger().handlers if isinstance(h, logging.FileHandler)]
    where = f"The details are in {files[0]}." if files and Path(files[0]).exists() else ""
    # The error's own words may hold anything, a key too: they stand in the log, cleaned.
    tell(f"Something went wrong that should not have ({type(error).__name__}). {where}")
    return 1


def _run(args: argparse.Namespace) -> int:
    # What takes time to import is imported here and below, so that --help and bad usage answer at once.
    import asyncio

    from interfaces.terminal.environment import read_environment
    from interfaces.terminal.log_file import start_log
    from interfaces.terminal.run_settings import log_file, make_settings
    from sessions.redaction import Redactor

    environ = read_environment()
    settings = make_settings(args, environ)
    start_log(settings.data_dir, log_file(args, environ), Redactor.from_environ(environ))
    if args.command == "doctor":
        from interfaces.terminal.doctor import doctor

        return asyncio.run(doctor(settings, ping=args.ping, attack=args.attack))
    if args.command:
        from interfaces.terminal import history

        command = getattr(history, f"{args.command}_command")
        return int(command(args, settings))
    return _talk(args, settings)


def _talk(args: argparse.Namespace, settings: Settings) -> int:
    """Start the conversation: with a person at a terminal, with a program, or with nobody."""
    import asyncio
    import contextlib

    from interfaces.terminal.onboarding import ensure_model
    from interfaces.terminal.preparation import prepare_sandbox
    from sessions.sqlite_store import SqliteStore

    at_terminal = sys.stdin.isatty()
    session = None
    if args.resume is not None:
        from interfaces.terminal.resumption import as_it_was

        session, settings = as_it_was(settings, args.resume)
    wanted = settings.model_copy(update={"model": "demo"}) if args.demo else settings
    settings = ensure_model(wanted, interactive=at_terminal and not args.json and sys.stdout.isatty())
    task = args.task
    if task is None and not (at_terminal or settings.model == "demo" or args.json):
        task = _piped_task()
        if task is None and args.resume is None:
            raise ConfigurationError("There is no task and no terminal to ask for one.", 'Give one with -t "TASK".')
    if settings.model == "demo" and args.resume is None and (task is None or wanted.model != "demo"):
        from utils.demo_client import load_demo

        task = load_demo().task
    # A program gets the failure as an event, when its task meets the same one.
    with contextlib.suppress(*([SandboxError] if args.json else [])):
        prepare_sandbox(settings)
    with contextlib.closing(SqliteStore.from_settings(settings)) as store:
        if session is not None:
            store.open(session)  # refuses before anything is shown where another program holds it
        if args.json:
            from interfaces.terminal.json_lines import json_lines

            return asyncio.run(json_lines(settings, store=store, session=session, task=task))
        from interfaces.terminal.chat import chat

        return asyncio.run(chat(settings, store=store, session=session, task=task))


def _piped_task() -> str | None:
    """Read the task from a pipe or a file on standard input; None where there is nothing."""
    if stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode):
        return None
    data = sys.stdin.buffer.read(MAX_TASK_BYTES + 1)
    if len(data) > MAX_TASK_BYTES:
        raise ConfigurationError("The task on standard input is longer than 1 MB.", "Give data with --files PATH.")
    return data.decode("utf-8", "replace").strip() or None
