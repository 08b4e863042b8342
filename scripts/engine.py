"""A Docker engine for those who have none: installed and started on Debian and Ubuntu. Standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from scripts.host import ROOT, SetupError, as_root, cache_dir, run, say
from utils.file_lock import file_lock

START_S = 60
"""How long a started engine may take to answer, and a stopped one to end."""
LAST_RESORT = ("--iptables=false", "--ip6tables=false", "--bridge=none")
"""Flags where the kernel gives no bridge: containers then have no network, which the sandbox does not need."""

DEFAULT_BRIDGE = Path("/sys/class/net/docker0")
"""With `--bridge=none` an engine removes it: where it is, it may be another engine's."""


def ensure_engine(python: Path) -> None:
    """Install and start a Docker engine where none answers and it can be had. Raises `SetupError`.

    `python`: an interpreter with the locked packages, to ask the engine with.
    """
    with file_lock(cache_dir() / "engine.lock", lambda: say("waiting for another set-up")):
        if _answers(python):
            return
        say("no Docker engine answers")
        if os.environ.get("DOCKER_HOST"):
            raise SetupError(f"Start the engine at DOCKER_HOST={os.environ['DOCKER_HOST']}, or unset that variable.")
        if sys.platform != "linux":
            raise SetupError("Install Docker Desktop (on Windows with WSL 2) and start it, then run this again.")
        if not _has_dockerd() and not shutil.which("apt-get"):
            raise SetupError("Install Docker with your distribution's packages and start it, then run this again.")
        state = "running" if _has_dockerd() else "installed (Debian's package docker.io)"
        prefix = as_root(f"Docker's engine is not {state}")
        if not (_start(python, prefix) or (not DEFAULT_BRIDGE.exists() and _start(python, prefix, *LAST_RESORT))):
            raise SetupError(f"Docker's engine did not start: {_last_line(_log())} (all of it: {_log()})")
    say("the Docker engine answers" + (" and stays on; `make stop-engine` stops it" if _running() else ""))


def stop_engine() -> None:
    """Stop the engine that the set-up started, and wait for its end; nothing where it started none."""
    pid = _running()
    if not pid:
        return
    say(f"stopping the Docker engine (pid {pid})")
    run(*as_root("The engine belongs to root"), "kill", str(pid))
    end = time.monotonic() + START_S
    while _running():
        if time.monotonic() > end:
            raise SetupError(f"The Docker engine (pid {pid}) does not end.")
        time.sleep(0.2)
    _pid_file().unlink(missing_ok=True)


def _log() -> Path:
    """Output of an engine that we started ourselves."""
    return cache_dir() / "dockerd.log"


def _pid_file() -> Path:
    """Process id of an engine that we started ourselves."""
    return cache_dir() / "dockerd.pid"


def _running(*names: str) -> int:
    """Process id of the engine that we started and that still runs, else 0."""
    names = names or ("dockerd",)
    try:
        pid = int(_pid_file().read_text("ascii"))
        name = Path(f"/proc/{pid}/comm").read_text("ascii").strip()
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return 0
    # `sh` becomes dockerd within a moment of writing its pid.
    return pid if name in names and state != "Z" else 0


def _answers(python: Path, *, quiet: bool = True) -> bool:
    command = [str(python), str(ROOT / "scripts/build_image.py"), "--ping", *(["--quiet"] if quiet else [])]
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode == 0


def _has_dockerd() -> bool:
    # sbin need not be on the user's path.
    return shutil.which("dockerd", path=os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin") is not None


def _start(python: Path, prefix: list[str], *flags: str) -> bool:
    """Start the engine and wait until it answers; False where it ended again."""
    if not _running():
        _pid_file().unlink(missing_ok=True)
        script = str(ROOT / "scripts/start_engine.sh")
        run(*prefix, "sh", script, str(_log()), str(_pid_file()), _group(), *flags)
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if _answers(python):
            return True
        if _pid_file().exists() and not _running("sh", "dockerd"):
            return False
        time.sleep(0.5)
    if not _answers(python, quiet=False) and not _pid_file().exists():
        raise SetupError("Docker's service was started, but does not answer you: the message stands above.")
    return False


def _group() -> str:
    """Group that may use an engine that we start: the user's own, where root starts it for a user."""
    if sys.platform == "win32" or os.geteuid() == 0:
        return "docker"
    import grp

    return grp.getgrgid(os.getgid()).gr_name


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text("utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][:300] if lines else "it says nothing"
