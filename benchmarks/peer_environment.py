"""Other executors, each in a Python environment of its own: none of them is among the packages of this project."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.jupyter_peer import NoPeerError
from utils.file_lock import file_lock
from utils.sandbox_image import cache_dir


@dataclass(frozen=True)
class Peer:
    """An executor that a process of its own drives."""

    name: str
    driver: str
    """Its name in `peer_driver.py`."""
    requirements: tuple[str, ...]
    """Itself and what it speaks to Docker with, in the versions that are timed."""


_DOCKER = ("docker==7.2.0", "requests==2.34.2", "urllib3==2.8.0")
LLM_SANDBOX = Peer("llm-sandbox 0.3.46", "llm-sandbox", ("llm-sandbox[docker]==0.3.46", *_DOCKER))
SMOLAGENTS = Peer(
    "smolagents 1.26.0 in Docker",
    "smolagents",
    ("smolagents[docker]==1.26.0", *_DOCKER, "websocket-client==1.9.2"),
)


def python_of(peer: Peer, cache: Path | None = None) -> str:
    """The Python that has the peer, installed below the cache directory the first time. Raises `NoPeerError`."""
    cache = cache or cache_dir()
    recipe = "\n".join((sys.version, sys.prefix, *peer.requirements))
    home = cache / f"bench-{peer.driver}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with file_lock(cache / "bench.lock", lambda: None):
            if not home.exists():
                _install(peer, home)
    except OSError as error:
        raise NoPeerError(f"{peer.name} could not be installed: {error}") from error
    return _python_in(home, peer)


def _install(peer: Peer, home: Path) -> None:
    """Make the environment beside its place and put it there whole."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=home.parent) as scratch:
        made = Path(scratch, "environment")
        _run([sys.executable, "-m", "venv", str(made)], peer)
        pip = [_python_in(made, peer), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        _run([*pip, "--only-binary=:all:", *peer.requirements], peer)
        os.replace(made, home)


def _python_in(home: Path, peer: Peer) -> str:
    python = shutil.which("python", path=str(home / ("Scripts" if os.name == "nt" else "bin")))
    if python is None:
        raise NoPeerError(f"{peer.name} could not be installed: Python's venv made no environment")
    return python


def _run(command: list[str], peer: Peer) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines()
        raise NoPeerError(f"{peer.name} could not be installed: {(errors or ['no word'])[-1].strip()[:200]}")
