"""Python as a notebook takes it: lines that start with `!` or `%pip`, which plain Python does not know."""

from __future__ import annotations

import ast
import re
import warnings

_SHELL_LINE = re.compile(r"^(?P<indent>[ \t]*)(?:!(?P<shell>[^!=].*)|%(?P<magic>(?:pip|uv)[ \t].*))$")


def split(code: str) -> tuple[str, tuple[tuple[int, str], ...]] | None:
    """The Python of a block with `pass` for each shell line, and the shell lines by number.

    None for plain Python, and for what is no Python without them either: other magics are not followed.
    """
    if not re.search(r"^[ \t]*[!%]", code, re.MULTILINE) or _parses(code):
        return None
    python: list[str] = []
    shell: list[tuple[int, str]] = []
    for number, line in enumerate(code.splitlines(), 1):
        found = _SHELL_LINE.match(line)
        if found is None:
            python.append(line)
            continue
        python.append(f"{found['indent']}pass")
        shell.append((number, (found["shell"] or found["magic"]).strip()))
    plain = "\n".join(python) + "\n"
    return (plain, tuple(shell)) if shell and _parses(plain) else None


def _parses(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
