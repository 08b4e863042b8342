"""Obfuscation, in shell scripts: packed code, and other languages inside the line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from safety.python_values import HOLE, words
from safety.rules.obfuscation import HIDDEN
from safety.rules.rule import Rule
from safety.shell_command import Command
from safety.shell_script import Script
from safety.verdicts import Finding

OTHER = Rule(
    "obfuscation.other-language",
    "ask",
    "obfuscation",
    "A program in another language stands inside the line; it is not analysed.",
    bad=("#!bash\nperl -e 'print 1'", "#!bash\nawk 'BEGIN { system(\"id\") }'"),
    good=("#!bash\nperl --version", "#!bash\nawk '{ print $1 }' a.txt"),
)
PIPED = Rule(
    "obfuscation.piped-code",
    "ask",
    "obfuscation",
    "What is piped into an interpreter is known only at run time.",
    bad=("#!bash\ncat x | sh", "#!bash\nsh < list"),
    good=("#!bash\ncat x | python3 tool.py", "#!bash\necho 'print(1)' | python3"),
)
RULES = (OTHER, PIPED)

_INTERPRETERS = words("sh bash dash zsh ksh ash python python2 python3 perl ruby node php lua")


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        yield from _piped(command)
        yield from _foreign(command)


def _piped(command: Command) -> Iterator[Finding]:
    if command.name in _INTERPRETERS and command.name not in ("perl", "ruby", "awk"):
        source = command.before
        fed = source is not None and not command.words and "-c" not in command.args and "-m" not in command.args
        if fed and source is not None:
            chain = list(_chain(source))
            if any(
                stage.name in ("base64", "base32", "xxd", "rev", "gunzip", "zcat", "tr", "openssl", "uudecode")
                for stage in chain
            ):
                yield HIDDEN.at(command.line, "unpacks text and runs it", command.column)
            elif not any(
                stage.name in ("echo", "printf", "cat")
                and HOLE not in " ".join(stage.args)
                and (stage.name != "cat" or stage.body)
                for stage in chain
            ):
                yield PIPED.at(
                    command.line, f"feeds {command.name} with what is known only at run time", command.column
                )
        elif any(operator == "<" for operator, _ in command.redirects) and not command.words:
            yield PIPED.at(command.line, f"feeds {command.name} from a file", command.column)


def _chain(command: Command | None) -> Iterator[Command]:
    for _ in range(16):
        if command is None:
            return
        yield command
        command = command.before


def _foreign(command: Command) -> Iterator[Finding]:
    args = " ".join(command.args)
    if command.name in (
        "perl",
        "ruby",
        "node",
        "php",
        "lua",
        "deno",
        "osascript",
        "powershell",
        "pwsh",
        "tclsh",
        "Rscript",
        "expect",
    ) and (command.has("-e", "-r", "-c", "-Command", "-E", "-ne", "-pe") or command.body is not None):
        text = args + (command.body or "")
        harmless = (
            command.name == "perl"
            and not re.search(
                r"system|exec|open|socket|unlink|`|fork|eval|qx|kill|IO::|require|%ENV|rmdir|/etc|/proc|/root", text
            )
            and command.has("-p", "-n", "-pe", "-ne")
        )
        if not harmless:
            yield OTHER.at(command.line, f"holds a {command.name} program, which is not analysed", command.column)
    elif command.name in ("awk", "gawk", "mawk", "nawk") and re.search(
        r"\bsystem\s*\(|\|\s*getline|/inet/|\|\s*\"(?:sh|bash)\"", args
    ):
        yield OTHER.at(command.line, "starts programs out of awk", command.column)
    elif (
        command.name in ("vim", "vi", "ed", "ex", "emacs", "gdb", "make")
        and re.search(r"!|system\(|--eval", args)
        and command.name != "make"
    ):
        yield OTHER.at(command.line, f"starts programs out of {command.name}", command.column)
