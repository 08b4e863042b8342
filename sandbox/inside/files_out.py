"""What a block leaves in the workspace, sent to the host within the limits; what stays behind is named."""

from __future__ import annotations

from typing import Any

from sandbox.inside import frames
from sandbox.inside.files import Workspace
from sandbox.inside.link import Link

Left = list[tuple[str, str]]
"""Names that stay behind, each with the reason."""

MAX_LEFT = 1000
"""Names that are told of what stays behind; the rest is counted."""
LEFT_BYTES = 1 << 20
"""Size of those names with their reasons, as JSON: a frame has a limit."""


class FilesOut:
    """The files of one block on their way to the host."""

    def __init__(self, link: Link, workspace: Workspace, config: dict[str, Any]) -> None:
        self._link = link
        self._workspace = workspace
        self._each: int = config["file_out_bytes"]
        self._room: int = config["files_out_bytes"]
        self._limit: int = config["files_out"]
        self._left: Left = []

    def send(self, left: Left) -> dict[str, Any]:
        """Send what the block made or changed. Returns what the host is told beside it.

        `left`: what was refused on its way in.
        """
        self._left = left
        changed, gone = self._workspace.changes(left)
        count = 0
        for name, size in changed:
            reason = self._refusal(size, count)
            if reason:
                left.append((name, reason))
            else:
                self._room -= size
                count += 1
                self._send_file(name, size)
        kept = min(MAX_LEFT, frames.fitting(left, LEFT_BYTES))
        return {"gone": gone, "left": left[:kept], "left_more": len(left) - kept}

    def _refusal(self, size: int, count: int) -> str:
        if size > self._each:
            return f"{size} bytes, over the limit of {self._each} for one file"
        if size > self._room:
            return f"{size} bytes, over what is left of the limit for one block"
        return f"more than {self._limit} files" if count >= self._limit else ""

    def _send_file(self, name: str, size: int) -> None:
        first = True
        try:
            for data in self._workspace.read(name, size, frames.CHUNK_BYTES):
                self._link.send(frames.FILE, {"path": name, "first": first, "last": False}, data)
                first = False
        except OSError as error:
            # Tried again after the next block: a lease of a kernel's may have been in the way.
            self._workspace.forget(name)
            self._left.append((name, error.strerror or "unreadable"))
            return
        self._link.send(frames.FILE, {"path": name, "first": first, "last": True})
