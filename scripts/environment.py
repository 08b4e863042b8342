"""The virtual environment with the locked packages. Standard library only."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.host import SetupError, as_root, cache_dir, run, say
from utils.file_lock import file_lock

STAMP = "roundtable.lock"
"""File of an environment that tells what it was made from."""


def ensure_environment(venv: Path, lock: Path) -> None:
    """Make the environment and install the locked packages, where that is not done. Raises `SetupError`."""
    if _is_ready(venv, lock):
        return
    with file_lock(cache_dir() / "environment.lock", lambda: say("waiting for another set-up")):
        if _is_ready(venv, lock):
            return
        if not _works(venv_python(venv)):
            say(f"making the virtual environment {venv.name}")
            _make(venv)
        say(f"installing the packages of {lock.name} (about a minute)")
        _install(venv_python(venv), lock)
        (venv / STAMP).write_text(_stamp(venv, lock), "ascii")


def venv_python(venv: Path) -> Path:
    """The interpreter of a virtual environment."""
    return venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _stamp(venv: Path, lock: Path) -> str:
    """What an environment was made from: another lock or another interpreter, another stamp."""
    digest = hashlib.sha256(lock.read_bytes().replace(b"\r\n", b"\n"))
    with contextlib.suppress(OSError):
        digest.update((venv / "pyvenv.cfg").read_bytes())
    return digest.hexdigest()


def _is_ready(venv: Path, lock: Path) -> bool:
    try:
        return venv_python(venv).exists() and (venv / STAMP).read_text("ascii") == _stamp(venv, lock)
    except OSError:
        return False


def _works(python: Path) -> bool:
    return python.exists() and _succeeds(str(python), "-c", "import sys; sys.exit(sys.version_info < (3, 10))")


def _make(venv: Path) -> None:
    command = [sys.executable, "-m", "venv", "--clear", str(venv)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode and "ensurepip" in result.stdout + result.stderr and shutil.which("apt-get"):
        # Debian keeps what venv needs in a package of its own.
        say("installing python3-venv")
        run(
            *as_root("python3-venv is not installed"),
            "sh",
            "-c",
            "apt-get update -q && apt-get install -qy python3-venv",
        )
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        reason = (result.stderr or result.stdout).strip().splitlines()[-1:] or ["no reason given"]
        raise SetupError(f"Python's venv failed: {reason[0]}")


def _install(python: Path, lock: Path) -> None:
    """Install by uv where it is there and gets everything, else by pip."""
    uv = shutil.which("uv")
    # Compiled as pip does it: where Python is told to write no bytecode, each start would compile everything anew.
    if uv and _succeeds(uv, "pip", "install", "--compile-bytecode", "--python", str(python), "-r", str(lock)):
        return
    if not _succeeds(str(python), "-m", "pip", "--version"):
        run(str(python), "-m", "ensurepip", "--upgrade")
    run(str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input", "-r", str(lock))


def _succeeds(*command: str) -> bool:
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return result.returncode == 0
