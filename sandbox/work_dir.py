"""The directory of the host where files come back: read and written without ever following a link."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.answers import plain
from sandbox.base import FileChange

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_MAX_DEPTH = 32

Signature = tuple[int, int, int]
"""Inode, size, time of the last change in nanoseconds."""


@dataclass(frozen=True)
class Limits:
    """What may go in."""

    size_bytes: int
    files: int


@dataclass
class _Incoming:
    folder: int
    temporary: str
    descriptor: int
    digest: hashlib._Hash
    size: int = 0


class WorkDir:
    """Keeps the workspace of a container and a directory of the host the same, between blocks."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self._limits = limits
        self._inside: dict[str, Signature] = {}
        self._ours: set[str] = set()
        self._incoming: dict[str, _Incoming] = {}

    @property
    def is_small(self) -> bool:
        """Whether looking through it is quicker than handing that to a thread."""
        return len(self._inside) < 100

    def beside(self) -> WorkDir:
        """The same directory for another container, which has nothing of it yet."""
        other = WorkDir(self.path, self._limits)
        other._ours = self._ours
        return other

    def forget(self) -> None:
        """The container is another: everything has to go in again."""
        self._inside.clear()
        self.abandon()

    # -- into the container

    def changes(self) -> tuple[list[str], list[str], list[str]]:
        """Names that must go in, names that are gone, and what is left out, with the reason."""
        found: dict[str, Signature] = {}
        left: list[str] = []
        room = self._limits.size_bytes
        for name, status, reason in _walk(self.path):
            if not reason and status.st_size > room:
                reason = f"over the limit of {self._limits.size_bytes >> 20} MiB for all files"
            if not reason and len(found) >= self._limits.files:
                reason = f"more than {self._limits.files} files"
            if reason:
                left.append(f"{plain(name)}: {reason}")
                continue
            room -= status.st_size
            found[name] = _signature(status)
        new = [name for name, signature in found.items() if self._inside.get(name) != signature]
        # What the user has changed is the user's from then on: no block deletes it here.
        self._ours.difference_update(name for name in new if name in self._inside)
        gone = [name for name in self._inside if name not in found]
        self._inside = found
        return new, gone, left

    def read(self, name: str, chunk_bytes: int) -> Iterator[tuple[bytes, bool, bool, int]]:
        """Pieces of a file as (bytes, is the first, is the last, time of change); nothing where it has gone."""
        try:
            descriptor = self._open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            self._inside.pop(name, None)
            return
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return
            # Not more than it had when it was weighed: it may be growing.
            room, first = status.st_size, True
            while True:
                data = file.read(min(chunk_bytes, room))
                room -= len(data)
                last = not data or room == 0
                yield data, first, last, status.st_mtime_ns
                if last:
                    return
                first = False

    # -- out of the container

    def receive(self, name: str, data: bytes, first: bool, last: bool) -> FileChange | None:
        """Take a piece of a file; the change when it is complete. Raises `OSError`, of one file alone."""
        if not name.isprintable() or "\\" in name:
            raise OSError(errno.EINVAL, "a name that another system could misread")
        return self._take(name, data, first, last)

    def _take(self, name: str, data: bytes, first: bool, last: bool) -> FileChange | None:
        try:
            if first:
                self._incoming[name] = self._begin(name)
            incoming = self._incoming[name]
            view = memoryview(data)
            while view:
                view = view[os.write(incoming.descriptor, view) :]
            incoming.digest.update(data)
            incoming.size += len(data)
            return self._finish(name, incoming) if last else None
        except OSError:
            self._drop(name)
            raise

    def _begin(self, name: str) -> _Incoming:
        parts = name.split("/")
        # Hidden ones never come, at any depth: a `.git` with hooks of its own would run on the host.
        if any(not part or part.startswith(".") or "\0" in part for part in parts):
            raise OSError(errno.EINVAL, "not a name below the work directory")
        if len(parts) > _MAX_DEPTH + 1:
            raise OSError(errno.EINVAL, f"more than {_MAX_DEPTH} directories deep")
        folder = self._folder(parts[:-1], create=True)
        try:
            temporary = f".{secrets.token_hex(8)}.part"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            descriptor = os.open(temporary, flags, 0o644, dir_fd=folder)
        except OSError:
            os.close(folder)
            raise
        return _Incoming(folder, temporary, descriptor, hashlib.sha256())

    def _finish(self, name: str, incoming: _Incoming) -> FileChange:
        base = name.rpartition("/")[2]
        existed = True
        try:
            status = os.stat(base, dir_fd=incoming.folder, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.ELOOP, "something that is not a file has this name on the host")
        except FileNotFoundError:
            existed = False
        os.replace(incoming.temporary, base, src_dir_fd=incoming.folder, dst_dir_fd=incoming.folder)
        self._inside[name] = _signature(os.fstat(incoming.descriptor))
        if not existed:
            self._ours.add(name)
        del self._incoming[name]
        os.close(incoming.descriptor)
        os.close(incoming.folder)
        return FileChange(name, incoming.size, incoming.digest.hexdigest(), "changed" if existed else "new")

    def _drop(self, name: str) -> None:
        incoming = self._incoming.pop(name, None)
        if incoming is not None:
            with contextlib.suppress(OSError):
                os.unlink(incoming.temporary, dir_fd=incoming.folder)
            os.close(incoming.descriptor)
            os.close(incoming.folder)

    def abandon(self) -> None:
        """Drop what has come only in part."""
        for name in list(self._incoming):
            self._drop(name)

    def delete(self, name: str) -> FileChange | None:
        """Delete a file that a block deleted, if a block had made it; None where it is the user's own and stays."""
        if name not in self._ours:
            return None
        self._ours.discard(name)
        self._inside.pop(name, None)
        parts = name.split("/")
        with contextlib.suppress(OSError):
            folder = self._folder(parts[:-1])
            try:
                os.unlink(parts[-1], dir_fd=folder)
            finally:
                os.close(folder)
        return FileChange(name, 0, "", "deleted")

    def holds(self, name: str) -> bool:
        """Whether it is known to have a file of this name."""
        return name in self._inside

    # -- from elsewhere on the host

    def adopt(self, paths: Iterable[Path]) -> list[str]:
        """Copy files and directories into it; returns what was left out, with the reason."""
        left: list[str] = []
        for path in paths:
            if path.name.startswith("."):
                left.append(f"{plain(path.name)}: hidden")
            elif path.is_symlink():
                left.append(f"{plain(path.name)}: a link")
            elif path.is_dir():
                for name, _, reason in _walk(path):
                    if reason:
                        left.append(f"{plain(path.name)}/{plain(name)}: {reason}")
                    else:
                        self._copy(path, name, f"{path.name}/{name}", left)
            else:
                self._copy(path.parent, path.name, path.name, left)
        return left

    def _copy(self, directory: Path, source: str, name: str, left: list[str]) -> None:
        try:
            descriptor = _open(directory, source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    left.append(f"{plain(name)}: not a regular file")
                elif status.st_size > self._limits.size_bytes:
                    left.append(f"{plain(name)}: over the limit of {self._limits.size_bytes >> 20} MiB for all files")
                elif not self._is_same(status, name):
                    self._take(name, b"", first=True, last=False)
                    # Not more than it had when it was weighed: it may be growing.
                    room = status.st_size
                    while room > 0 and (data := file.read(min(room, 1 << 20))):
                        room -= len(data)
                        self._take(name, data, first=False, last=False)
                    self._take(name, b"", first=False, last=True)
                    # It is the user's, and it is not inside yet.
                    self._ours.discard(name)
                    self._inside.pop(name, None)
        except OSError as error:
            self._drop(name)
            left.append(f"{plain(name)}: {error.strerror or error}")

    def _is_same(self, status: os.stat_result, name: str) -> bool:
        try:
            descriptor = self._open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            return os.path.samestat(os.fstat(descriptor), status)
        finally:
            os.close(descriptor)

    # -- without following links

    def _open(self, name: str, flags: int) -> int:
        return _open(self.path, name, flags)

    def _folder(self, parts: list[str], create: bool = False) -> int:
        return _open_folder(self.path, parts, create)


def _open(path: Path, name: str, flags: int) -> int:
    parts = name.split("/")
    folder = _open_folder(path, parts[:-1])
    try:
        return os.open(parts[-1], flags, dir_fd=folder)
    finally:
        os.close(folder)


def _open_folder(path: Path, parts: list[str], create: bool = False) -> int:
    # The directory itself may be a link: the user named it.
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts:
        try:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=descriptor)
            below = os.open(part, _FOLDER, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def _walk(path: Path) -> Iterator[tuple[str, os.stat_result, str]]:
    """Files below a directory, in order, with the reason why one cannot go in; hidden ones are passed over."""
    pending: list[list[str]] = [[]]
    while pending:
        parts = pending.pop()
        try:
            descriptor = _open_folder(path, parts)
        except OSError:
            if not parts:
                raise
            continue
        try:
            with os.scandir(descriptor) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
            for entry in listed:
                if entry.name.startswith("."):
                    continue
                name = "/".join([*parts, entry.name])
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if not stat.S_ISDIR(status.st_mode):
                    yield name, status, "" if stat.S_ISREG(status.st_mode) else "not a regular file"
                elif len(parts) >= _MAX_DEPTH:
                    yield name, status, f"more than {_MAX_DEPTH} directories deep"
                else:
                    pending.append([*parts, entry.name])
        finally:
            os.close(descriptor)


def _signature(status: os.stat_result) -> Signature:
    return (status.st_ino, status.st_size, status.st_mtime_ns)
