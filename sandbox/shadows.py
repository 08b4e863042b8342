"""Files of the workspace that a Python block would import in place of the module that their name stands for."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from functools import cache

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
    """The top-level module that a file of the workspace would be imported as; empty where it is none."""
    top, below, _ = name.partition("/")
    if not below:
        stem, dot, ending = top.partition(".")
        return stem if (dot and ending in ("py", "pyc", "so", "pth")) or ending.endswith(".so") else ""
    return top


def shadowing(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the names that take the place of a known module."""
    return tuple(sorted(name for name in names if module_of(name) in known_modules()))


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


def warnings(code: str, own_name: str, made: Iterable[str]) -> tuple[str, ...]:
    """What a human should know before a Python block runs.

    `own_name`: the name that the block gives itself, or empty. `made`: files that earlier blocks made or changed.
    """
    made = sorted(made)
    told = []
    if own_name and shadowing([own_name]):
        told.append(
            f"It is saved as {own_name}, which from then on takes the place of the module {module_of(own_name)}."
        )
    for name in shadowing(made):
        told.append(f"{name}, made by an earlier block, takes the place of the module {module_of(name)}.")
    wanted = imported(code) - known_modules()
    for name in made:
        if module_of(name) in wanted:
            told.append(f"It imports {name}, which an earlier block made or changed.")
    return tuple(told)
