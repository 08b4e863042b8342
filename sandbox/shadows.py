"""Files of the workspace that are code, made by one block and imported or run by another."""

from __future__ import annotations

import ast
import contextlib
import os
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from sandbox.base import FileChange
from utils.image_recipe import packages

_IMPORT_NAMES = {
    "pillow": "PIL",
    "python-dateutil": "dateutil",
    "matplotlib-inline": "matplotlib_inline",
    "pyzmq": "zmq",
    "scikit-learn": "sklearn",
    "beautifulsoup4": "bs4",
    "pyyaml": "yaml",
    "opencv-python": "cv2",
}
"""Packages whose module has another name."""
_START_UP = ("sitecustomize", "usercustomize")


@cache
def known_modules() -> frozenset[str]:
    """Top-level modules of the standard library and of the image's packages."""
    installed = {_IMPORT_NAMES.get(name, re.sub(r"[-.]", "_", name)) for name in packages()}
    return frozenset({*sys.stdlib_module_names, *installed, *_START_UP})


def module_of(name: str) -> str:
    """The top-level module that a file of the workspace would be imported as, or as part of; empty where it is none.

    Code that was compiled before stands for its source: `__pycache__/report.cpython-311.pyc` is `report`.
    """
    top, slash, below = name.partition("/")
    if top == "__pycache__":
        return below.partition(".")[0]
    if slash:
        return top
    stem, dot, ending = top.partition(".")
    return stem if (dot and ending in ("py", "pyc", "so", "pth")) or ending.endswith(".so") else ""


def _taken_by(name: str) -> str:
    """The known module whose place this file takes; empty where it takes none's."""
    top, slash, below = name.partition("/")
    # A directory without this file gives way to the module of its name.
    if slash and top != "__pycache__" and not below.startswith("__init__."):
        return ""
    module = module_of(name)
    return module if module in known_modules() else ""


def imported(code: str) -> frozenset[str]:
    """Top-level modules that a Python block imports by name; none where it does not parse."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return frozenset(found)


_CODE = {"", "bash", "js", "lua", "mjs", "php", "pl", "pm", "py", "pyc", "r", "rb", "sh", "ts"}
"""Endings of files that a program could run."""
_BETWEEN_WORDS = re.compile(r"[\s;&|()<>'\"`=,]+")


def mentioned(code: str) -> frozenset[str]:
    """Names of the workspace that a block could run as code: as words, whatever the language."""
    words = _BETWEEN_WORDS.split(code)
    names = {posixpath.normpath(word.removeprefix("/workspace/")) for word in words if word}
    return frozenset(name for name in names if posixpath.splitext(name)[1][1:].lower() in _CODE)


@dataclass(frozen=True)
class Stayed:
    """What a block left in the workspace and did not come back: links, files over a limit, hidden ones."""

    names: tuple[str, ...] = ()
    more: int = 0
    """How many more there are, whose names were not told."""
    gone: tuple[str, ...] = ()
    """Names that are there no more."""


class Planted:
    """What earlier blocks have made, as far as a later one could import it."""

    def __init__(self) -> None:
        self._made: set[str] = set()
        self._stayed: set[str] = set()
        self._more = False

    def note(self, changes: Iterable[FileChange], stayed: Stayed = Stayed()) -> None:
        """Take in what a block has made, changed, deleted and left."""
        for change in changes:
            (self._made.discard if change.change == "deleted" else self._made.add)(change.path)
        self._stayed.difference_update(map(_perhaps_package, stayed.gone))
        self._stayed.update(map(_perhaps_package, stayed.names))
        self._more = self._more or stayed.more > 0

    def forget(self, names: Iterable[str]) -> None:
        """The user has deleted these."""
        self._made.difference_update(names)

    def forget_stayed(self) -> None:
        """The workspace is another one, which has only what had come back."""
        self._stayed.clear()
        self._more = False

    def warnings(self, language: str, code: str, own_name: str, work_dir: Path | None) -> tuple[str, ...]:
        """What a human should know before a block runs.

        `own_name`: the name that the block gives itself, or empty. `work_dir`: what lies there goes in.
        """
        told = self._imports(code, own_name, work_dir) if language == "python" else []
        names = mentioned(code) - {own_name}
        for name in sorted(self._made | self._stayed):
            if name in names:
                told.append(f"It names {_shown(name)}, code that an earlier block made or changed.")
        if self._more:
            told.append("Earlier blocks left more in the workspace than is known here: any of it could be imported.")
        return tuple(told)

    def _imports(self, code: str, own_name: str, work_dir: Path | None) -> list[str]:
        made = sorted(self._made | self._stayed)
        told = []
        if own_name and (module := _taken_by(own_name)):
            told.append(f"It is saved as {own_name}, which from then on takes the place of the module {module}.")
        for name in made:
            if module := _taken_by(name):
                told.append(f"{_shown(name)}, made by an earlier block, takes the place of the module {module}.")
        for name in _lying_in(work_dir) if work_dir else ():
            if name not in self._made and (module := _taken_by(name)):
                told.append(f"{_shown(name)}, in the work directory, takes the place of the module {module}.")
        wanted = imported(code) - known_modules()
        for name in made:
            if module_of(name) in wanted:
                told.append(f"It imports {_shown(name)}, which an earlier block made or changed.")
        return told


def _perhaps_package(name: str) -> str:
    # A link without an ending may lead to a directory.
    return name if "." in name or "/" in name else f"{name}/__init__.py"


_MAX_LISTED = 10_000


def _lying_in(work_dir: Path) -> Iterator[str]:
    """Names directly in a directory that could be imported; nothing where it is not there yet."""
    with contextlib.suppress(OSError), os.scandir(work_dir) as entries:
        for entry in islice(entries, _MAX_LISTED):
            if entry.name in known_modules():
                with contextlib.suppress(OSError), os.scandir(entry) as inside:
                    yield from (f"{entry.name}/{name.name}" for name in islice(inside, _MAX_LISTED))
            else:
                yield entry.name


def _shown(name: str) -> str:
    return name if name.isprintable() else ascii(name)[1:-1]
