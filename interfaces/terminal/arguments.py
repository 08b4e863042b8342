"""The words of the command line. Imports nothing but argparse: `--help` and bad usage answer at once."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

VERSION = "0.1.0"

HELP = """\
usage: python main.py [options] [COMMAND]

A team of agents writes, reviews, runs code in Docker. You keep the last word.

  -t, --task TEXT       do one task and end (else: talk; piped input is a task)
      --json            with -t: events out, answers in, a JSON object a line
      --demo            a recorded conversation, played on the real sandbox
      --resume [ID]     go on with a session: the last, or ID's first letters
      --ask WHEN        before a run: always | risky (the default) | never
      --model NAME      a profile of models.yaml, or any model's name
      --model-for AGENT=NAME   a model for one agent; may be repeated
      --fallback NAME   the model that takes over when the first one fails
      --retries N       failures in a row that are mended, 0-20 (3)
      --max-turns N     turns that a task may take, 1-100000 (40)
      --max-tokens N, --max-cost X   what a session may use (0: no limit)
      --work-dir DIR    work in this folder, not in a fresh one
      --files PATH...   files and folders that the code may read
      --kernel          Python blocks share variables, as in a notebook
      --i-know          run code on this machine: `runtime: local` is no sandbox
      --data-dir DIR    where sessions are kept
      --log-file FILE   write a log, a JSON object a line
      --models-file FILE, --sandbox-file FILE, --prompts-dir DIR   your own
  -h, --help, --version

commands (each has a --help; all options but the first four go with them, too):
  doctor                is all in place? --ping the model, --attack the sandbox
  sessions              what was done         show [ID]    read it again
  rm ID...              remove it             audit [ID]   who let what run
  export [ID] --to notebook | script | html | markdown | jsonl   take it away

examples:
  python main.py                              talk with the team
  python main.py -t "plot sin(x)" --model ollama
  python main.py -t "sum up sales.csv" --files sales.csv --ask never --json
  (ROUNDTABLE_MODEL, _ASK, _DATA_DIR and _LOG_FILE stand in for their options)
"""

STATES = (
    *("approved", "stopped", "answered", "stuck", "limit", "interrupted", "error"),
    *("running", "unfinished"),
)
"""How a session may stand: how its last task ended, or that it has not."""
EXPORT_FORMATS = ("notebook", "script", "html", "markdown", "jsonl")


class Parser(argparse.ArgumentParser):
    """An argument parser that tells bad usage in one line and ends with status 2."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where the help is, and end with status 2."""
        word = re.match(r"argument COMMAND: invalid choice: (\S+)", message)
        if word:
            message = f'there is no command {word[1]}; a task is set with -t "TEXT"'
        line = " ".join(message.split()).rstrip(".")
        self.exit(2, f"roundtable: {line}. See {self.prog} --help\n")


class _MainParser(Parser):
    """The parser of the whole command line, with a help that fits one screen."""

    def format_help(self) -> str:
        return HELP


class _CommandHelp(argparse.HelpFormatter):
    """Help in 80 columns whatever the window."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=25, width=80)


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A converter of whole numbers in a range."""
    wanted = f"from {least} to {most}" if most is not None else f"from {least} up"

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise argparse.ArgumentTypeError(f"takes a whole number {wanted}, not {text!r}")
        return number

    return convert


def _amount(text: str) -> float:
    """A finite amount of money, 0 or more."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise argparse.ArgumentTypeError(f"takes an amount from 0 up, not {text!r}")
    return number


def _name(text: str) -> str:
    """A name that is not empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError("takes a name, not an empty text")
    return text.strip()


def _agent_model(text: str) -> tuple[str, str]:
    """`AGENT=NAME`, both given."""
    agent, equals, name = text.partition("=")
    if not (agent.strip() and equals and name.strip()):
        raise argparse.ArgumentTypeError(f"takes AGENT=NAME, as in safety_reviewer=gpt-4o, not {text!r}")
    return agent.strip(), name.strip()


def _state(text: str) -> str:
    """One of `STATES`, in whatever case."""
    if text.lower() not in STATES:
        raise argparse.ArgumentTypeError(f"takes one of {', '.join(STATES)}, not {text!r}")
    return text.lower()


def _task(text: str) -> str:
    """The words of a task."""
    if not text.strip():
        raise argparse.ArgumentTypeError("takes the task's words, not an empty text")
    return text


def _add_task_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-t", "--task", metavar="TEXT", type=_task)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--resume", metavar="ID", nargs="?", const="")


def _add_settings(parser: argparse.ArgumentParser, *, after: bool) -> None:
    """Add the options that every command has.

    Those that stand `after` the command's name have no default, so that what was given before it stands, and a place
    of their own for what may be repeated, so that both count.
    """
    missing = argparse.SUPPRESS if after else None
    suffix = "_after" if after else ""

    def add(flag: str, **options: Any) -> None:
        parser.add_argument(flag, help=argparse.SUPPRESS, **{"default": missing, **options})

    add("--ask", choices=("always", "risky", "never"))
    add("--model", metavar="NAME", type=_name)
    add("--model-for", dest=f"model_for{suffix}", type=_agent_model, action="append", default=[])
    add("--fallback", type=_name)
    add("--retries", type=_whole(0, 20))
    add("--max-turns", type=_whole(1, 100_000))
    add("--max-tokens", type=_whole(0))
    add("--max-cost", type=_amount)
    add("--work-dir", type=_name)
    add("--files", dest=f"files{suffix}", type=_name, nargs="+", action="extend", default=[])
    for flag in ("--kernel", "--i-know"):
        add(flag, action="store_true")
    for flag in ("--data-dir", "--log-file", "--models-file", "--sandbox-file", "--prompts-dir"):
        add(flag, type=_name)


def _add_commands(parser: Parser) -> None:
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def add(name: str, words: str, description: str) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            prog=f"{parser.prog} {name}",
            usage=f"{parser.prog} {name} {words}",
            description=description,
            epilog=f"The options that {parser.prog} --help names may stand here too.",
            formatter_class=_CommandHelp,
            allow_abbrev=False,
        )
        _add_settings(command, after=True)
        return command

    doctor = add("doctor", "[--ping] [--attack]", "Look whether all is in place, and tell what to do.")
    doctor.add_argument("--ping", action="store_true", help="ask the model for a word, too")
    doctor.add_argument("--attack", action="store_true", help="play ten attacks against your own sandbox")

    sessions = add("sessions", "[options]", "List the sessions, the newest first.")
    sessions.add_argument("--state", metavar="STATE", type=_state, help=f"only {', '.join(STATES)}")
    sessions.add_argument("--since", metavar="DAYS", type=_whole(0), help="only those of the last so many days")
    sessions.add_argument("--search", metavar="TEXT", default="", help="only those whose task holds this text")
    sessions.add_argument("--limit", metavar="N", type=_whole(1, 100_000), default=50, help="at most so many (50)")
    sessions.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="a JSON object a line")

    show = add("show", "[ID] [--raw]", "Show a session, the last one without ID.")
    show.add_argument("--raw", action="store_true", help="the events as they are kept, a JSON object a line")

    rm = add("rm", "ID... [--yes]", "Remove sessions with all that belongs to them.")
    rm.add_argument("--yes", action="store_true", help="without asking")

    export = add("export", "[ID] --to FORMAT [--output PATH]", "Write a session, the last one without ID, to a file.")
    export.add_argument("--to", required=True, choices=EXPORT_FORMATS, help="what to make of it")
    export.add_argument("--output", metavar="PATH", type=_name, help="file to write; else one named after the session")

    audit = add("audit", "[ID] [--json]", "Tell what ran and who let it run, in the last session without ID.")
    audit.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="a JSON object a line")

    for command in (show, export, audit):
        command.add_argument("id", metavar="ID", nargs="?", default="", help="session, or its first letters")
    rm.add_argument("ids", metavar="ID", nargs="+", help="session, or its first letters")


def build_parser() -> Parser:
    """The parser of the whole command line."""
    parser = _MainParser(prog="python main.py", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"roundtable {VERSION}")
    _add_task_options(parser)
    _add_settings(parser, after=False)
    _add_commands(parser)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the arguments. Ends the program with status 2 and one line where they cannot be used."""
    parser = build_parser()
    args = parser.parse_args(list(argv))
    args.model_for = args.model_for + getattr(args, "model_for_after", [])
    args.files = args.files + getattr(args, "files_after", [])
    _check(parser, args)
    return args


def _check(parser: Parser, args: argparse.Namespace) -> None:
    if args.command:
        for option, given in (("--task", args.task), ("--demo", args.demo), ("--resume", args.resume is not None)):
            if given:
                parser.error(f"{option} does not go with the command {args.command}")
        if args.json and args.command not in ("sessions", "audit"):
            parser.error(f"--json does not go with the command {args.command}")
    elif args.demo and (args.model or args.model_for or args.task):
        parser.error("--demo has a task and a model of its own: leave out -t, --model and --model-for")
    elif args.json and not (args.task or args.demo or args.resume is not None):
        parser.error('--json needs a task: -t "TASK"')
