"""One process of a block: started fresh, with limits of its own, and everything swept away after it."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource

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

    def __init__(self, file_size_bytes: int, open_files: int, message_queues: bool = True) -> None:
        self._values = [
            (resource.RLIMIT_FSIZE, file_size_bytes),
            (resource.RLIMIT_NOFILE, open_files),
            (resource.RLIMIT_CORE, 0),
        ]
        if message_queues:
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
    """What every process of a block gets: variables, limits, filter."""

    def __init__(self, env: dict[str, str], limits: Limits, block_filter: seccomp.Filter) -> None:
        self.env = env
        self.limits = limits
        self.filter = block_filter
        self._found: dict[tuple[str, str], str] = {}

    def find(self, command: str) -> str:
        """Path of a command, looked for once. Raises `FileNotFoundError`."""
        path = self.env["PATH"]
        if (path, command) not in self._found:
            for folder in path.split(":"):
                file = os.path.join(folder, command)
                if os.path.isfile(file) and os.access(file, os.X_OK):
                    self._found[path, command] = file
                    break
            else:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return self._found[path, command]


def start(argv: list[str], world: World, directory: str, extra: int | None = None, stdin: int | None = None) -> Child:
    """Start a program in a session of its own. A program that is not there ends with 127 and says so.

    `extra`: a descriptor that it finds at 3. `stdin`: its standard input, which is empty without it.
    """
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(argv, world, directory, [stdin, out_write, err_write, *([] if extra is None else [extra])])
    os.close(out_write)
    os.close(err_write)
    for descriptor in (out_read, err_read):
        os.set_blocking(descriptor, False)
    return Child(pid, out_read, err_read)


def _become(argv: list[str], world: World, directory: str, descriptors: list[int | None]) -> None:
    try:
        # First out of the way of 0 to 3, which are about to be overwritten.
        sources = [
            os.open("/dev/null", os.O_RDONLY) if source is None else fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, 10)
            for source in descriptors
        ]
        for target, source in enumerate(sources):
            os.dup2(source, target)
        restrict(world.limits, world.filter)
        os.chdir(directory)
        try:
            os.execve(world.find(argv[0]), argv, world.env)
        except OSError as error:
            os.write(2, f"cannot start {argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def restrict(limits: Limits, block_filter: seccomp.Filter) -> None:
    """Turn this process, a child of the supervisor, into one that a block may have."""
    os.setsid()
    # Without this the next line's file belongs to root, and the kernel would kill the supervisor before the block.
    set_dumpable(True)
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    for number in _IGNORED:
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    os.umask(0o022)
    limits.apply()
    block_filter.install()


def kill_alone(pid: int) -> bool:
    """Kill this process without waiting for its end; says whether no other one is beside it. `sweep` must follow."""
    # Killed before the others are looked for: from here on it can start none.
    os.kill(pid, signal.SIGKILL)
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
