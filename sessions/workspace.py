"""The files of a session's work directory: kept by content after a turn, brought back when the session goes on."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sessions.store import Store, StoredFile
from utils.errors import StoreError
from utils.settings import Settings


@dataclass(frozen=True)
class Restored:
    """What became of the files when a workspace was brought back; paths below the work directory."""

    written: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Files of the directory that differ from what was kept, and were left as they are."""
    missing: tuple[str, ...] = ()
    """Files that are gone and whose content was not kept, each with the reason."""


class Workspace:
    """The work directory of one session. Reads and writes files: call it in a thread, not on the event loop.

    `file_bytes` is the largest content that is kept, `total_bytes` the sum of all, `files_most` the number of files
    that are looked at, by name. Hidden files and links are passed over, as they are on their way into the sandbox.
    """

    def __init__(
        self,
        store: Store,
        session: str,
        work_dir: Path,
        *,
        file_bytes: int = 32 << 20,
        total_bytes: int = 256 << 20,
        files_most: int = 5000,
    ) -> None:
        self._store = store
        self._session = session
        self._work_dir = work_dir
        self._file_bytes = file_bytes
        self._total_bytes = total_bytes
        self._files_most = files_most
        self._seen: dict[str, tuple[tuple[int, ...], StoredFile]] = {}

    @classmethod
    def of(cls, store: Store, session: str, work_dir: Path, settings: Settings) -> Workspace:
        """The workspace of a session with the limits of the settings."""
        return cls(
            store,
            session,
            work_dir,
            file_bytes=settings.kept_file_mb << 20,
            total_bytes=settings.kept_files_mb << 20,
        )

    def save(self) -> tuple[StoredFile, ...]:
        """Keep what changed since the last call, and the list of all files. Raises `StoreError`."""
        files: list[StoredFile] = []
        room = self._total_bytes
        seen: dict[str, tuple[tuple[int, ...], StoredFile]] = {}
        for path, status in self._found():
            mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            former = self._seen.get(path)
            file = former[1] if former and former[0] == mark else self._keep(path, status, room)
            if file is None:
                continue
            room -= 0 if file.omitted else file.size
            seen[path] = (mark, file)
            files.append(file)
        if [file for _, file in self._seen.values()] != files or not self._seen:
            self._store.save_files(self._session, files)
        self._seen = seen
        return tuple(files)

    def restore(self, *, overwrite: bool) -> Restored:
        """Bring the kept files back. With `overwrite`, files that differ are replaced; else they are left as they are.

        Raises `StoreError` where the directory cannot be written.
        """
        written: list[str] = []
        kept: list[str] = []
        missing: list[str] = []
        for file in self._store.files(self._session):
            target = self._target(file.path)
            there = _digest_of(target)
            if there == file.sha256 and there:
                continue
            if there is not None and not overwrite:
                kept.append(file.path)
                continue
            data = None if file.omitted else self._store.content(self._session, file.sha256)
            if data is not None:
                self._write(target, data, file.mode)
                written.append(file.path)
            elif there is None:
                missing.append(f"{file.path}: {file.omitted or 'its content is not in the store'}")
            else:
                kept.append(file.path)
        return Restored(tuple(written), tuple(kept), tuple(missing))

    def _found(self) -> Iterator[tuple[str, os.stat_result]]:
        """Regular files below the work directory by path, hidden ones left out, no link followed."""
        count = 0
        for folder, folders, names in os.walk(self._work_dir):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(name for name in names if not name.startswith(".")):
                whole = Path(folder, name)
                try:
                    status = whole.lstat()
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode) and count < self._files_most:
                    count += 1
                    yield whole.relative_to(self._work_dir).as_posix(), status

    def _keep(self, path: str, status: os.stat_result, room: int) -> StoredFile | None:
        """Read one file into the store. None where it is gone, or cannot be read."""
        mode = stat.S_IMODE(status.st_mode)
        try:
            path.encode()
        except UnicodeEncodeError:
            return None
        if status.st_size > min(self._file_bytes, room):
            reason = f"larger than the {min(self._file_bytes, room):,} bytes that are kept"
            return StoredFile(path=path, size=status.st_size, sha256="", mode=mode, omitted=reason)
        try:
            descriptor = os.open(self._work_dir / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                data = file.read(self._file_bytes + 1)
        except OSError:
            return None
        if len(data) > self._file_bytes:
            return StoredFile(path=path, size=len(data), sha256="", mode=mode, omitted="it grew while it was read")
        kept = self._store.keep_content(self._session, data)
        return StoredFile(
            path=path,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest() if kept else "",
            mode=mode,
            omitted="" if kept else "it holds a secret",
        )

    def _target(self, path: str) -> Path:
        """Where a file belongs. Raises `StoreError` for a place outside the work directory."""
        parts = PurePosixPath(path).parts
        target = self._work_dir.joinpath(*parts)
        root = self._work_dir.resolve()
        if not parts or ".." in parts or path.startswith("/") or not target.parent.resolve().is_relative_to(root):
            raise StoreError(f"The file {path!r} of the session lies outside its work directory.", "It is not written.")
        return target

    def _write(self, target: Path, data: bytes, mode: int) -> None:
        """Put a file in place whole or not at all."""
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(prefix=".restore-", dir=target.parent)
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
                os.chmod(temporary, mode & 0o777)
                os.replace(temporary, target)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as error:
            raise StoreError(
                f"The file {target} cannot be brought back: {error.strerror}.", "Check the disk and its permissions."
            ) from error


def _digest_of(path: Path) -> str | None:
    """SHA-256 of a regular file; empty for anything else that stands there, None for nothing."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return ""
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while data := file.read(1 << 20):
                digest.update(data)
        return digest.hexdigest()
    except OSError:
        return None
