"""The file name that a block may give itself in its first line: `# filename: report.py`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sandbox.languages import Language

MAX_CODE_BYTES = 7 << 20
"""How long a block may be: it travels in one frame."""
_DIRECTIVE = re.compile(r"\s*filename:\s*(.*?)\s*$")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. +@=,-]{0,99}")
_MAX_DEPTH = 8


@dataclass(frozen=True)
class BlockFile:
    """Where a block's code is stored for its run."""

    name: str
    named: bool = False
    """The block chose the name: the file stays in the workspace and comes back."""
    refusal: str = ""
    """The block must not run: its name leads out of the workspace, or it is too long."""
    note: str = ""
    """The name was refused, and the block runs under another."""


def block_file(code: str, language: Language) -> BlockFile:
    """Read the first line of a block. A name that is not plain is never passed to a program."""
    if len(code) > MAX_CODE_BYTES // 4 and len(code.encode("utf-8", "surrogatepass")) > MAX_CODE_BYTES:
        return BlockFile(language.file, refusal=f"A block may be {MAX_CODE_BYTES >> 20} MiB long, not more")
    first = code.split("\n", 1)[0].rstrip("\r")
    if not first.startswith(language.comment):
        return BlockFile(language.file)
    match = _DIRECTIVE.match(first[len(language.comment) :])
    if match is None or not match[1]:
        return BlockFile(language.file)
    name = match[1].replace("\\", "/")
    parts = name.split("/")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in parts:
        return BlockFile(language.file, refusal="Filename is not in the workspace")
    if len(parts) <= _MAX_DEPTH and all(_PART.fullmatch(part) and part[-1] not in " ." for part in parts):
        return BlockFile(name, named=True)
    return BlockFile(language.file, note=f"the file name {match[1][:80]!r} was refused; it ran as {language.file}")
