"""One process of a block: started fresh, with limits of its own, and everything swept away after it."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
from typing import Any

from sandbox.inside import seccomp
from sandbox.inside.lean import signal, suppress

_PR_SET_DUMPABLE = 4
_IGNORED = (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGHUP)


def set_dumpable(value: bool) -> None:
    """Open or shut /proc/PID/mem, /proc/PID/fd and ptrace of this process to other processes of the user."""
    if seccomp.libc.prctl(_PR_SET_DUMPABLE, int(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) refused")


def ignore_signals() -> None:
    """Make this process deaf to what other processes of the container could send it.

    The kernel keeps from the first process of a container what it has no handler for; these have one in Python.
    """
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)


class Limits:
    """What a block's process may use; the memory, the processes and the disk are the container's to limit."""

    def __init__(self, file_size_bytes: int, open_files: int, processes: int = 0) -> None:
        """`processes`: only for gVisor, which counts those of its own kernel; elsewhere the container's limit holds."""
        self._values = [
            (resource.RLIMIT_FSIZE, file_size_bytes),
            (resource.RLIMIT_NOFILE, open_files),
            (resource.RLIMIT_CORE, 0),
        ]
        if processes:
            self._values.append((resource.RLIMIT_NPROC, processes))
        else:
            # POSIX message queues would outlive the block. gVisor has none, and refuses the limit.
            self._values.append((resource.RLIMIT_MSGQUEUE, 0))

    def apply(self) -> None:
        """Set them on this process, for good."""
        for name, value in self._values:
            hard = resource.getrlimit(name)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(name, (value, value))


class Child:
    """A process that was started, and the two pipes that its output comes through."""

    def __init__(self, pid: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.pipes = {stdout: 1, stderr: 2}
        """Descriptor -> 1 for standard output, 2 for standard error."""
        self.end: int | None = None
        """Descriptor on which the process tells its exit code when only the kernel's part of its end is left."""

    def close(self) -> None:
        """Close our ends of the pipes."""
        for descriptor in [*self.pipes, *([] if self.end is None else [self.end])]:
            os.close(descriptor)
        self.pipes, self.end = {}, None


class World:
    """What every process of a block gets: variables, and all that it inherits from the supervisor.

    The supervisor lives under the limits and the filter of the blocks itself, so that none of its own code has to run
    between the start of a process and that of its program: a copy of the supervisor would take longer to make, and to
    be thrown away again, than a small program runs.
    """

    def __init__(
        self, env: dict[str, str], limits: Limits, block_filter: seccomp.Filter, score: OutOfMemoryScore
    ) -> None:
        self.env = env
        self._found: dict[tuple[str, str], str] = {}
        self._limits = limits
        self._filter = block_filter
        self._score = score

    def restrict(self) -> None:
        """Put this process under what all are to inherit, for good. Raises `OSError`."""
        os.umask(0o022)
        self._limits.apply()
        self._filter.install()

    def _find(self, command: str) -> str:
        """Path of a command, looked for once. Raises `FileNotFoundError`."""
        path = self.env["PATH"]
        if (path, command) not in self._found:
            # Not in a relative one: it would be looked for in the workspace.
            for folder in (part for part in path.split(":") if part.startswith("/")):
                file = os.path.join(folder, command)
                if os.path.isfile(file) and os.access(file, os.X_OK):
                    self._found[path, command] = file
                    break
            else:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return self._found[path, command]

    def start(self, argv: list[str], directory: str, extra: int | None = None) -> Child:
        """Start a program in a session of its own, with nothing to read. Raises `OSError`.

        `extra`: a descriptor that it finds at 3.
        """
        program = argv[0] if "/" in argv[0] else self._find(argv[0])
        os.chdir(directory)
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, out_write, 1),
            (os.POSIX_SPAWN_DUP2, err_write, 2),
        ]
        if extra is not None:
            actions.append((os.POSIX_SPAWN_DUP2, extra, 3))
        try:
            with self._score:
                pid = os.posix_spawn(program, argv, self.env, file_actions=actions, setsid=True, setsigdef=_IGNORED)
        except OSError:
            os.close(out_read)
            os.close(err_read)
            raise
        finally:
            os.close(out_write)
            os.close(err_write)
        for descriptor in (out_read, err_read):
            os.set_blocking(descriptor, False)
        return Child(pid, out_read, err_read)


class OutOfMemoryScore:
    """Who is killed first for want of memory: what is started within the context, and never the supervisor.

    To be made before the supervisor is shut to other processes, which shuts the file to it too.
    """

    def __init__(self) -> None:
        self._file = os.open("/proc/self/oom_score_adj", os.O_RDWR)
        self._own = os.pread(self._file, 32, 0)

    def __enter__(self) -> None:
        os.pwrite(self._file, b"1000", 0)

    def __exit__(self, *_: object) -> None:
        os.pwrite(self._file, self._own, 0)


def kill_alone(pid: int) -> bool:
    """Kill all without waiting for their end; says whether there is none beside this one. `sweep` must follow."""
    # Killed before they are looked for, and all at once: from here on none can start another, whose number might lie
    # where the list has been read already.
    os.kill(-1, signal.SIGKILL)
    return not {name for name in os.listdir("/proc") if name.isdigit()} - {"1", str(pid)}


def sweep() -> dict[int, int]:
    """Kill every other process of the container and wait until none is left. Returns the wait status of each."""
    ended: dict[int, int] = {}
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            return ended
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, 0)
                ended[pid] = status


def reap() -> dict[int, int]:
    """Wait status of each child that has ended by now, the orphans of the block among them."""
    ended: dict[int, int] = {}
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = status
    return ended
