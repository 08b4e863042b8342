"""Pictures that came back, shown in the conversation where the terminal can."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.text import Text

from interfaces.terminal.outlet import can_redraw

LARGEST = 8_000_000
"""Bytes of a picture that is still shown inline."""
_CHUNK = 4096
_CELL_PIXELS = 10
_TALLEST = 24
_MAGIC = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}

Protocol = Literal["kitty", "iterm", ""]


def protocol(environ: Mapping[str, str]) -> Protocol:
    """Tell by the environment how the terminal takes pictures; empty: not at all, or not known."""
    if environ.get("TMUX") or environ.get("TERM", "").startswith(("screen", "tmux")):
        return ""  # a multiplexer passes neither on unless told to
    program = environ.get("TERM_PROGRAM", "")
    if environ.get("KITTY_WINDOW_ID") or "kitty" in environ.get("TERM", "") or program in ("ghostty", "Ghostty"):
        return "kitty"
    if program in ("iTerm.app", "WezTerm", "mintty") or environ.get("LC_TERMINAL") == "iTerm2":
        return "iterm"
    return ""


class Pictures:
    """Writes pictures to a console's terminal."""

    def __init__(self, console: Console, environ: Mapping[str, str] | None = None) -> None:
        self._console = console
        self._protocol = protocol(os.environ if environ is None else environ) if can_redraw(console) else ""

    def show(self, work_dir: Path, path: str) -> bool:
        """Show a file of the work directory if it is a picture that this terminal takes. Says whether it did.

        Never follows a link out of the work directory; what the file is, its first bytes say.
        """
        if not self._protocol:
            return False
        data = _read(work_dir, path)
        kind = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), "")
        if not kind or (self._protocol == "kitty" and kind != "png"):
            return False
        columns = self._columns(data) if kind == "png" else 0
        codes = _kitty(data, columns) if self._protocol == "kitty" else _iterm(data, columns)
        self._console.file.write(codes)
        self._console.file.flush()
        self._console.print(Text())
        return True

    def _columns(self, png: bytes) -> int:
        """Width to show a PNG at, in columns: its own, or as much as fits in width and height."""
        width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
        natural = max(1, width // _CELL_PIXELS)
        fits = max(1, self._console.width - 4)
        rows = min(_TALLEST, max(1, self._console.height - 4))
        by_height = max(1, rows * 2 * width // max(height, 1))
        return min(natural, fits, by_height)


def _read(work_dir: Path, path: str) -> bytes:
    try:
        file = (work_dir / path).resolve()
        if not file.is_relative_to(work_dir.resolve()):
            return b""
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return b""
        return file.read_bytes()
    except OSError:
        return b""


def _kitty(data: bytes, columns: int) -> str:
    text = base64.standard_b64encode(data).decode("ascii")
    chunks = [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)]
    codes = []
    for number, chunk in enumerate(chunks):
        first = f"a=T,f=100,q=2,c={columns}," if number == 0 else ""
        codes.append(f"\x1b_G{first}m={int(number < len(chunks) - 1)};{chunk}\x1b\\")
    return "".join(codes)


def _iterm(data: bytes, columns: int) -> str:
    text = base64.standard_b64encode(data).decode("ascii")
    width = f"width={columns};" if columns else "width=auto;"
    return f"\x1b]1337;File=inline=1;{width}preserveAspectRatio=1;size={len(data)}:{text}\x07"
