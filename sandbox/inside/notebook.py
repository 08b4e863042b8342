"""The program of a block with a notebook's lines: `python3 -c SOURCE FILE` runs FILE, `!` and `%pip` lines by a shell.

The file holds the block's own bytes; lines keep their numbers, so that tracebacks are right.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types

_LINE = re.compile(r"^(?P<indent>[ \t]*)(?:!(?P<shell>[^!=].*)|%(?P<magic>(?:pip|uv)[ \t].*))$", re.MULTILINE)


def _shell(line: str) -> None:
    sys.stdout.flush()
    subprocess.call(["bash", "-c", line])


def _python(found: re.Match[str]) -> str:
    return f"{found['indent']}__shell_line__({(found['shell'] or found['magic']).strip()!r})"


def main() -> None:
    """Run the file as `__main__`."""
    name = sys.argv[1]
    sys.argv[:] = [name]
    sys.path[0] = os.path.dirname(os.path.abspath(name))
    with open(name, encoding="utf-8") as file:
        source = _LINE.sub(_python, file.read())
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=name, __builtins__=__builtins__, __shell_line__=_shell)
    sys.modules["__main__"] = module
    try:
        exec(compile(source, name, "exec"), module.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        # Without the frame of this function.
        error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


main()
