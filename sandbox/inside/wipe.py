"""What a block must not leave for the next one: the temporary directories and System V memory."""

from __future__ import annotations

import os

from sandbox.inside import files, seccomp
from sandbox.inside.lean import suppress

_IPC_REMOVE = 0  # IPC_RMID of sys/ipc.h


def directories(paths: list[str], skeleton: str) -> None:
    """Empty the directories; the first of them, HOME, is then filled with links to what the image keeps for it.

    Raises `OSError` where something cannot be removed.
    """
    for path in paths:
        # It is a mount and no link; a block may have shut it.
        os.chmod(path, 0o755)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            files.make_plain(folder)
            files.empty(folder)
            os.utime(folder)
        finally:
            os.close(folder)
    if skeleton and os.path.isdir(skeleton):
        _link_tree(skeleton, paths[0])


def _link_tree(source: str, target: str) -> None:
    for folder, names, leaves in os.walk(source):
        inside = os.path.join(target, os.path.relpath(folder, source))
        for name in names:
            os.mkdir(os.path.join(inside, name), 0o755)
        for name in leaves:
            os.symlink(os.path.join(folder, name), os.path.join(inside, name))


def shared_memory() -> None:
    """Remove System V segments, semaphores and queues, which outlive their processes."""
    for name in ("shm", "sem", "msg"):
        with suppress(OSError), open(f"/proc/sysvipc/{name}") as file:
            for line in list(file)[1:]:
                key = int(line.split()[1])
                if name == "sem":
                    seccomp.libc.semctl(key, 0, _IPC_REMOVE)
                else:
                    getattr(seccomp.libc, f"{name}ctl")(key, _IPC_REMOVE, None)
