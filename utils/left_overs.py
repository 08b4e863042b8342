"""Containers whose program died: each carries a label that names its owner, and goes once that owner is gone."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from utils.docker_engine import connect

OWNER_LABEL = "roundtable.owner"
"""Label of every container of ours; its value is `owner_label_value()` of the program that made it."""


@dataclass(frozen=True)
class _Owner:
    """A process, so named that neither another machine's nor a later one with the same pid is taken for it."""

    host: str
    boot: str
    namespace: str
    pid: int
    started: str

    def __str__(self) -> str:
        return f"{self.host} {self.boot} {self.namespace} {self.pid} {self.started}"


def owner_label_value() -> str:
    """Value of `OWNER_LABEL` for this process: host, boot, pid namespace, pid and start time."""
    return str(_here(os.getpid()))


def remove_left_overs() -> list[str]:
    """Kill and remove the containers of programs of this machine that are gone; returns their names.

    What belongs to another machine or pid namespace, or cannot be read, is left alone. Raises `SandboxError` when no
    engine answers.
    """
    from docker.errors import APIError

    client = connect()
    removed = []
    try:
        for container in client.api.containers(all=True, filters={"label": OWNER_LABEL}):
            value = str((container.get("Labels") or {}).get(OWNER_LABEL, ""))
            if not _is_gone(value, running=container.get("State") == "running"):
                continue
            name = str((container.get("Names") or [container["Id"][:12]])[0]).lstrip("/")
            try:
                client.api.remove_container(container["Id"], force=True, v=True)
            except APIError:  # another program was quicker, or it is going already
                continue
            removed.append(name)
    finally:
        client.close()
    return removed


def _is_gone(value: str, *, running: bool) -> bool:
    """Tell whether the owner that a label names is certainly gone."""
    owner = _parse(value)
    here = _here(0)
    if owner is None or owner.host != here.host:
        return False
    if owner.boot != here.boot:
        # An earlier boot's owner is gone; a container that runs all the same is not what it seems: left alone.
        return not running
    if owner.namespace != here.namespace:
        return False
    started = _start_time(owner.pid)
    return started is not None and started != owner.started


def _parse(value: str) -> _Owner | None:
    parts = value.split()
    if len(parts) != 5 or not parts[3].isdecimal() or int(parts[3]) < 1:
        return None
    return _Owner(parts[0], parts[1], parts[2], int(parts[3]), parts[4])


def _here(pid: int) -> _Owner:
    """A process of this machine; pid 0 names none, for the rest of the fields."""
    identity = platform.node() + "\0" + _read("/etc/machine-id")
    host = hashlib.sha256(identity.encode()).hexdigest()[:16]
    boot = _read("/proc/sys/kernel/random/boot_id") or "-"
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = "-"
    return _Owner(host, boot, namespace, pid, (_start_time(pid) if pid else None) or "-")


def _read(path: str) -> str:
    try:
        return Path(path).read_text("ascii", errors="replace").strip()
    except OSError:
        return ""


def _start_time(pid: int) -> str | None:
    """When a process started, "" when there is none, None when that cannot be told."""
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
        except FileNotFoundError:
            return "" if Path("/proc/self/stat").exists() else None
        except ProcessLookupError:
            return ""
        except OSError:
            return None
        # Fields after the name, which may hold blanks and brackets: state, ppid, ...; starttime is field 22 (proc(5)).
        fields = stat.rpartition(")")[2].split()
        return "" if fields[0] in {"Z", "X"} else fields[19]
    if sys.platform == "win32":
        return None
    return _start_time_by_ps(pid)


def _start_time_by_ps(pid: int) -> str | None:
    try:
        result = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)],
            capture_output=True, text=True, env={"LC_ALL": "C", "TZ": "UTC", "PATH": "/bin:/usr/bin"}, check=False,
        )  # fmt: skip
    except OSError:
        return None
    return "-".join(result.stdout.split())
