"""What an expression may stand for, as far as it can be told without running it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

HOLE = "\ue000"
"""Stands in a text for a part that is known only at run time."""

MAX_TEXT = 32768
MAX_ITEMS = 2048
MAX_NAME = 160


@dataclass(frozen=True)
class Ref:
    """Something known by where it comes from: `os.system`, `requests.get().text`."""

    name: str
    text: str | None = None
    """The path that a path object or an open file holds."""


@dataclass(frozen=True)
class Local:
    """A function or class that the block defines."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


@dataclass(frozen=True)
class Table:
    """A dictionary with known keys."""

    items: tuple[tuple[Value, Value], ...]


@dataclass(frozen=True)
class Unknown:
    """Known only at run time."""


Value = str | bytes | int | float | None | tuple["Value", ...] | Ref | Local | Table | Unknown
Values = tuple[Value, ...]
"""All that an expression may be, not empty."""

UNKNOWN = Unknown()

_SAME = {
    "posix": "os",
    "nt": "os",
    "posixpath": "os.path",
    "ntpath": "os.path",
    "io.open": "open",
    "_io.open": "open",
    "codecs.open": "open",
    "os.fdopen": "open",
    "pathlib.PosixPath": "pathlib.Path",
    "pathlib.PurePath": "pathlib.Path",
    "pathlib.PurePosixPath": "pathlib.Path",
    "pathlib.WindowsPath": "pathlib.Path",
    "os.path.os": "os",
    "shutil.os": "os",
    "subprocess.os": "os",
    "tempfile._os": "os",
    "_socket": "socket",
    "cPickle": "pickle",
    "_pickle": "pickle",
    "_posixsubprocess": "subprocess",
    "urllib2": "urllib.request",
    "six.moves.urllib": "urllib",
    "os.sys": "sys",
    "os.abc": "abc",
    "importlib.__import__": "__import__",
    "sys.modules.get": "__import__",
    "multiprocess": "multiprocessing",
    "simplejson": "json",
    "ruamel.yaml": "yaml",
    "psutil.Process.kill": "psutil.Process().kill",
}
_ROOT = re.compile(r"^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)?")


def words(text: str) -> frozenset[str]:
    """The words of a list that is easier to read as one."""
    return frozenset(text.split())


def canonical(name: str) -> str:
    """One name for what the standard library offers under several."""
    for prefix in ("builtins.", "__builtins__.", "__builtin__."):
        if name.startswith(prefix):
            name = name[len(prefix) :]
    found = _ROOT.match(name)
    if not found:
        return name
    two = found.group()
    if two in _SAME:
        return _SAME[two] + name[len(two) :]
    one = two.split(".", 1)[0]
    return _SAME[one] + name[len(one) :] if one in _SAME else name


def ref(name: str, text: str | None = None) -> Value:
    """A reference under its one name; unknown where the name grows out of hand."""
    return Ref(canonical(name), text) if len(name) <= MAX_NAME else UNKNOWN


def as_text(value: Value) -> str:
    """The value as text, with a hole for what is not known."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Ref):
        return HOLE if value.text is None else value.text
    if isinstance(value, (bool, int, float)) or value is None:
        return str(value) if not isinstance(value, int) or value.bit_length() < 4096 else HOLE
    return HOLE


def is_known(value: Value) -> bool:
    """Whether nothing of the value is left to run time."""
    if isinstance(value, str):
        return HOLE not in value
    if isinstance(value, tuple):
        return all(is_known(item) for item in value)
    return not isinstance(value, (Unknown, Ref, Local, Table))
