"""The workspace as the supervisor sees it: files put in, files that changed, what cannot leave.

No process of a block lives while any of this runs, so nothing changes underneath; links are never followed all the
same. Names are those of the file system, undecodable bytes kept as surrogates.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

from sandbox.inside import frames
from sandbox.inside.lean import suppress

MAX_DEPTH = 32
"""Directories below the workspace; deeper ones are named and left behind."""
NAMES_BYTES = 8 << 20
"""Size of all names in the workspace that are kept track of."""
GONE_BYTES = 2 << 20
"""Size of the names of deleted files that are told after one block, as JSON."""

Signature = tuple[int, int, int, int]
"""Inode, size, and the times of the last change to content and to inode, in nanoseconds."""


class TooManyNamesError(Exception):
    """The names in the workspace would fill the supervisor's memory."""


class Workspace:
    """The directory that files come from and go to."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._known: dict[str, Signature] = {}
        self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def put(self, name: str, data: bytes, first: bool, last: bool, mtime_ns: int = 0) -> None:
        """Write a piece of a file that comes from the host. Raises `OSError`."""
        folder = self._folder(name)
        try:
            base = name.rpartition("/")[2]
            if first:
                remove_entry(base, folder)
            flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | (os.O_CREAT | os.O_EXCL if first else 0)
            descriptor = os.open(base, flags, 0o644, dir_fd=folder)
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
                if last:
                    if mtime_ns:
                        os.utime(descriptor, ns=(mtime_ns, mtime_ns))
                    self._known[name] = _signature(os.fstat(descriptor))
            except OSError:
                os.unlink(base, dir_fd=folder)
                raise
            finally:
                os.close(descriptor)
        finally:
            os.close(folder)

    def remove(self, name: str) -> None:
        """Remove a file that is gone on the host, or that was ours for one block; nothing where it is not there."""
        self._known.pop(name, None)
        with suppress(OSError):
            make_plain(self._root)
            folder = self._folder(name)
            try:
                remove_entry(name.rpartition("/")[2], folder)
            finally:
                os.close(folder)

    def forget(self, name: str) -> None:
        """Count a file as new, so that it comes back to the host."""
        self._known.pop(name, None)

    def exists(self, name: str) -> bool:
        """Whether something, a dangling link included, has this name in the workspace itself."""
        try:
            os.stat(name, dir_fd=self._root, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _folder(self, name: str) -> int:
        descriptor = os.dup(self._root)
        for part in name.split("/")[:-1]:
            try:
                try:
                    below = _open_folder(part, descriptor)
                except OSError as error:
                    if error.errno in (errno.ELOOP, errno.ENOTDIR):
                        os.unlink(part, dir_fd=descriptor)
                    elif error.errno != errno.ENOENT:
                        raise
                    os.mkdir(part, 0o755, dir_fd=descriptor)
                    below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = below
        return descriptor

    def changes(self, left: list[tuple[str, str]]) -> tuple[list[tuple[str, int]], list[str]]:
        """New and changed files with their sizes, and the names of those that are gone; then all of it is known.

        Where more are gone than a frame can tell, the rest comes the next time. What cannot leave is added to `left`
        with the reason, once. Raises `TooManyNamesError`.
        """
        make_plain(self._root)
        seen: dict[str, Signature] = {}
        changed: list[tuple[str, int]] = []
        room = NAMES_BYTES
        for name, status, reason in _walk(self._root):
            room -= len(name)
            if room < 0:
                raise TooManyNamesError
            seen[name] = signature = _signature(status)
            if self._known.get(name) == signature:
                continue
            if reason:
                left.append((name, reason))
            else:
                changed.append((name, status.st_size))
        gone = [name for name in self._known if name not in seen]
        told = frames.fitting(gone, GONE_BYTES)
        # What is not told now counts as known until the next time.
        self._known = seen | {name: self._known[name] for name in gone[told:]}
        return changed, gone[:told]

    def read(self, name: str, size: int, chunk_bytes: int) -> Iterator[bytes]:
        """The pieces of a file, no more than `size` bytes: it may have grown since. Raises `OSError`."""
        folder = self._folder(name)
        try:
            base = name.rpartition("/")[2]
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            try:
                descriptor = os.open(base, flags, dir_fd=folder)
            except PermissionError:
                os.chmod(base, 0o644, dir_fd=folder)
                descriptor = os.open(base, flags, dir_fd=folder)
                self._known[name] = _signature(os.fstat(descriptor))
        finally:
            os.close(folder)
        try:
            while size > 0 and (data := os.read(descriptor, min(size, chunk_bytes))):
                size -= len(data)
                yield data
        finally:
            os.close(descriptor)


def _walk(root: int) -> Iterator[tuple[str, os.stat_result, str]]:
    """Everything but directories, with the reason why it cannot leave, if there is one."""
    pending: list[list[str]] = [[]]
    while pending:
        parts = pending.pop()
        descriptor = os.dup(root)
        try:
            for part in parts:
                below = _open_folder(part, descriptor)
                os.close(descriptor)
                descriptor = below
            with os.scandir(descriptor) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
            for entry in listed:
                name = "/".join([*parts, entry.name])
                status = entry.stat(follow_symlinks=False)
                reason = _reason(entry.name, status)
                if not stat.S_ISDIR(status.st_mode) or reason:
                    yield name, status, reason
                elif len(parts) >= MAX_DEPTH:
                    yield name, status, f"more than {MAX_DEPTH} directories deep"
                else:
                    pending.append([*parts, entry.name])
        finally:
            os.close(descriptor)


def _open_folder(name: str, folder: int) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except PermissionError:
        os.chmod(name, 0o755, dir_fd=folder)
        descriptor = os.open(name, flags, dir_fd=folder)
    # One that may be read and not searched opens all the same.
    if os.fstat(descriptor).st_mode & 0o700 != 0o700:
        os.chmod(descriptor, 0o755)
    return descriptor


def _reason(base: str, status: os.stat_result) -> str:
    if base.startswith("."):
        return "hidden"
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        return _KINDS.get(stat.S_IFMT(status.st_mode), "not a regular file")
    if not base.isprintable() or "\\" in base:
        return "the name has characters that another system could misread"
    return ""


_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def _signature(status: os.stat_result) -> Signature:
    # A block cannot set the inode's change time, so it cannot hide a change.
    if stat.S_ISDIR(status.st_mode):
        return (status.st_ino, 0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def remove_entry(name: str, folder: int) -> None:
    """Remove a file, link or whole directory; nothing where it is not there. Raises `OSError`."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except (IsADirectoryError, PermissionError):
        below = _open_folder(name, folder)
        try:
            empty(below)
        finally:
            os.close(below)
        os.rmdir(name, dir_fd=folder)


def make_plain(folder: int) -> None:
    """Take from a directory what a block may have put on it: modes, attributes, a list of rights for new files."""
    os.chmod(folder, 0o755)
    for name in os.listxattr(folder):
        os.removexattr(folder, name)


def empty(folder: int) -> None:
    """Remove all that a directory holds, whatever its depth and modes.

    A directory that is not empty is moved up and emptied in its turn: so there is no recursion for a block to exhaust
    and no path that grows too long.
    """
    os.chmod(folder, 0o755)
    moved = 0
    while True:
        with os.scandir(folder) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        if not names:
            return
        for name, is_directory in names:
            if not is_directory:
                os.unlink(name, dir_fd=folder)
                continue
            with suppress(OSError):
                os.rmdir(name, dir_fd=folder)
                continue
            below = _open_folder(name, folder)
            try:
                os.chmod(below, 0o755)
                moved = _lift(below, folder, moved)
            finally:
                os.close(below)
            os.rmdir(name, dir_fd=folder)


def _lift(source: int, target: int, moved: int) -> int:
    with os.scandir(source) as entries:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_directory in names:
        if not is_directory:
            os.unlink(name, dir_fd=source)
            continue
        # To be moved, a directory must be writable itself: its parent entry changes.
        os.close(_writable(name, source))
        while True:
            moved += 1
            try:
                os.rename(name, f".lifted-{moved}", src_dir_fd=source, dst_dir_fd=target)
                break
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
    return moved


def _writable(name: str, folder: int) -> int:
    descriptor = _open_folder(name, folder)
    os.chmod(descriptor, 0o755)
    return descriptor
