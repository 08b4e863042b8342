"""What a block would install: its `pip install` lines, read and not run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from safety import notebook
from safety.python_program import BrokenSyntaxError, Program
from safety.rules import inner
from safety.shell_script import Script
from sandbox.packages.names import requirement

_MAX_INNER = 3
_FLAG = re.compile(
    r"-[qvU]+|--(?:quiet|verbose|upgrade|user|no-cache-dir|no-input|break-system-packages|pre|system|prefer-binary"
    r"|disable-pip-version-check|no-warn-script-location|progress-bar=\w+)"
)
"""Options that change nothing about which packages are wanted."""


@dataclass(frozen=True)
class InstallLines:
    """The requirements of all install lines of a block."""

    requirements: tuple[str, ...] = ()
    """Such as `rich>=13`, in order."""
    other: tuple[str, ...] = ()
    """What names no package of a registry: a path, an address, a file of requirements, an option."""


def read(language: str, code: str) -> InstallLines:
    """Read a block in Python or for a shell; of another language nothing is known."""
    found = list(_words(language, code, 0))
    return InstallLines(
        tuple(dict.fromkeys(word for word, fits in found if fits)),
        tuple(dict.fromkeys(word for word, fits in found if not fits)),
    )


def _words(language: str, code: str, level: int) -> Iterator[tuple[str, bool]]:
    if level > _MAX_INNER:
        return
    if language == "python":
        cells = notebook.split(code)
        python, shell = cells if cells is not None else (code, ())
        for _, line in shell:
            yield from _words("bash", line, level + 1)
        try:
            pieces = list(inner.python(Program(python)))
        except (BrokenSyntaxError, RecursionError):
            return
    elif language in ("bash", "sh"):
        script = Script(code)
        for command in script.commands:
            yield from _command(command.name, list(command.args))
        pieces = list(inner.shell(script))
    else:
        return
    for piece in pieces:
        yield from _words(piece.language, piece.code, level + 1)


def _command(name: str, args: list[str]) -> Iterator[tuple[str, bool]]:
    if re.fullmatch(r"(?:.*/)?python[\d.]*", name) and args[:1] == ["-m"] and len(args) > 1:
        name, args = args[1], args[2:]
    if name == "uv" and args[:1] == ["pip"]:
        name, args = "pip", args[1:]
    if not re.fullmatch(r"pip[\d.]*", name) or "install" not in args:
        return
    words = [arg for arg in args if arg != "install" and not _FLAG.fullmatch(arg)]
    # An option may be about the word that follows it: where one is not known, none of the words is.
    known = not any(word.startswith("-") for word in words)
    for word in words:
        yield word, known and requirement(word) is not None
