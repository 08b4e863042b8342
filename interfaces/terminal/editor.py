"""The user's own editor, for a block of code."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from interfaces.terminal.keyboard import loud
from utils.errors import ConfigurationError

_SUFFIXES = {"python": ".py", "bash": ".sh", "javascript": ".js", "typescript": ".ts", "c": ".c", "cpp": ".cpp"}


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """The command that edits a file: `$VISUAL`, `$EDITOR`, else the first that is installed.

    Raises `ConfigurationError` where there is none.
    """
    for name in ("VISUAL", "EDITOR"):
        if words := shlex.split(environ.get(name, ""), posix=os.name == "posix"):
            if shutil.which(words[0]) is None:
                raise ConfigurationError(f"{name} names {words[0]}, which is not installed.", f"Set {name} anew.")
            return words
    for candidate in ("notepad",) if sys.platform == "win32" else ("nano", "vi"):
        if shutil.which(candidate):
            return [candidate]
    raise ConfigurationError("No editor is installed.", "Set EDITOR to the one that you use.")


async def edit(code: str, language: str) -> str:
    """Let the user edit the code; the text as it was saved. Raises `ConfigurationError` when the editor fails.

    The file lies in a directory that only the user can read, and is gone afterwards.
    """
    command = editor_command(os.environ)
    with tempfile.TemporaryDirectory(prefix="roundtable-") as directory:
        file = Path(directory) / f"block{_SUFFIXES.get(language, '.txt')}"
        file.write_bytes(code.encode("utf-8", "surrogatepass"))
        with loud():
            process = await asyncio.create_subprocess_exec(*command, str(file))
            try:
                status = await process.wait()
            except asyncio.CancelledError:
                process.terminate()
                await process.wait()
                raise
        if status != 0:
            raise ConfigurationError(f"{command[0]} ended with status {status}; the block is as it was.")
        return file.read_bytes().decode("utf-8", "surrogatepass")
