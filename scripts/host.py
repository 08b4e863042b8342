"""This machine, as the set-up sees it: its cache directory, its root, its commands. Standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class SetupError(Exception):
    """What could not be set up, and the way out."""


def say(text: str) -> None:
    """Show one line of progress."""
    print(f"setup: {text}", flush=True)


def cache_dir() -> Path:
    """Where the engine's log and the locks of the set-up lie."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "roundtable" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/roundtable"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roundtable"


def run(*command: str) -> None:
    """Run a command with its output shown. Raises `SetupError`."""
    try:
        subprocess.run(command, stdin=None if sys.stdin.isatty() else subprocess.DEVNULL, check=True)
    except subprocess.CalledProcessError as error:
        raise SetupError(f"{command[0]} failed with status {error.returncode}: its message stands above.") from error
    except OSError as error:
        raise SetupError(f"{command[0]}: {error.strerror}.") from error


def as_root(why: str) -> list[str]:
    """Command prefix that makes root of us, after asking on the terminal. Raises `SetupError`."""
    if sys.platform == "win32" or os.geteuid() == 0:
        return []
    if not shutil.which("sudo"):
        raise SetupError(f"{why}, and mending that needs root: run `make setup` as root once.")
    if not sys.stdin.isatty():
        raise SetupError(f"{why}, and mending that needs root: run `make setup` on a terminal once.")
    answer = input(f"setup: {why}. May sudo be used to mend that? [Y/n] ")
    if answer.strip().lower() not in {"", "y", "yes"}:
        raise SetupError(f"{why}: run `make setup` again when it may be mended, or mend it yourself.")
    return ["sudo"]
