"""What the container is from inside, told to the host, which compares it with what was promised."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from typing import Any

from sandbox.inside import seccomp
from sandbox.inside.lean import suppress

_IOPRIO_GET = {"x86_64": 252, "aarch64": 31}
_RLIMITS = [value for name, value in vars(resource).items() if name.startswith("RLIMIT_")]


def report(commands: list[str], writable: list[str]) -> dict[str, Any]:
    """Facts by name; what could not be read is left out, which the host counts as a broken promise."""
    facts: dict[str, Any] = {}
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":", 1) for line in file)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if name in status:
            facts[name] = int(status[name], 16)
    for name in ("NoNewPrivs", "Seccomp"):
        if name in status:
            facts[name] = int(status[name])
    facts["ids"] = [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), *os.getgroups()]
    facts["pid"] = os.getpid()
    facts["root_read_only"] = bool(os.statvfs("/").f_flag & os.ST_RDONLY)
    facts["root_mount"] = _root_options()
    facts["writable"] = _other_writable_mounts(writable)
    facts["tmpfs"] = {path: _tmpfs(path) for path in writable}
    facts["interfaces"] = sorted(os.listdir("/sys/class/net")) if os.path.isdir("/sys/class/net") else _interfaces()
    facts["memory_bytes"] = _number("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max")
    facts["pids"] = _number("/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max")
    facts["docker_socket"] = any(os.path.exists(path) for path in ("/var/run/docker.sock", "/run/docker.sock"))
    facts["python"] = f"{sys.version_info[0]}.{sys.version_info[1]}"
    facts["machine"] = os.uname().machine
    with suppress(OSError, ValueError):
        facts["libc"] = os.confstr("CS_GNU_LIBC_VERSION")
    facts["commands"] = [name for name in commands if _is_there(name)]
    return facts


def _is_there(command: str) -> bool:
    # shutil's takes 2 ms to import.
    return any(os.access(os.path.join(folder, command), os.X_OK) for folder in os.get_exec_path())


def _other_writable_mounts(expected: list[str]) -> list[str]:
    found = []
    with open("/proc/self/mounts") as file:
        for line in file:
            path, kind = line.split(" ")[1:3]
            # Message queues cannot be made: a block's limit for them is 0.
            if kind not in ("mqueue", "devpts", "proc") and path not in expected and os.access(path, os.W_OK):
                found.append(path)
    return [path for path in found if path not in _DEVICES]


def _root_options() -> list[str]:
    with open("/proc/self/mounts") as file:
        return [option for line in file if line.split(" ")[1] == "/" for option in line.split(" ")[3].split(",")]


_DEVICES = ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/latency_stats", "/proc/sched_debug")
"""Masked by /dev/null, which everybody may write."""


def _tmpfs(path: str) -> list[int]:
    status = os.statvfs(path)
    return [status.f_blocks * status.f_frsize, status.f_files, int(os.access(path, os.W_OK))]


def _interfaces() -> list[str]:
    with open("/proc/net/dev") as file:
        return sorted(line.split(":")[0].strip() for line in file if ":" in line)


def _number(*paths: str) -> int:
    for path in paths:
        with suppress(OSError, ValueError), open(path) as file:
            return int(file.read())
    return 0


class OomKills:
    """The kernel's count of the processes of this container that it has killed for want of memory."""

    def __init__(self) -> None:
        self._file: int | None = None
        for path in ("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"):
            with suppress(OSError):
                # Kept open: to find it takes longer than to read it.
                self._file = os.open(path, os.O_RDONLY)
                break

    def count(self) -> int:
        """So many by now."""
        if self._file is not None:
            for line in os.pread(self._file, 4096, 0).splitlines():
                if line.startswith(b"oom_kill "):
                    return int(line.split()[1])
        return 0


def own_state() -> list[Any]:
    """What a block could try to change about the supervisor: limits, affinity, niceness, scheduling."""
    state: list[Any] = [resource.getrlimit(name) for name in _RLIMITS]
    state.append(sorted(os.sched_getaffinity(0)))
    state.append(os.getpriority(os.PRIO_PROCESS, 0))
    state.append(os.sched_getscheduler(0))
    number = _IOPRIO_GET.get(os.uname().machine)
    if number is not None:
        state.append(seccomp.libc.syscall(ctypes.c_long(number), 1, 0))
    return state
