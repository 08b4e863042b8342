"""What a container says, looked at before it is used: each kind of frame has its fields, each field its type and range.

A MAC tells that the supervisor wrote a frame. This holds where the supervisor itself is somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.inside import frames
from sandbox.inside.files_out import MAX_LEFT

_MAX_CHARS = 500
_MAX_COUNT = 1 << 63

Check = Callable[[Any], bool]


def plain(text: str) -> str:
    """A text of a container in one line for a human: control characters escaped, no longer than 500 characters."""
    text = text[:_MAX_CHARS]
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def checked(kind: int, fields: Any) -> dict[str, Any]:
    """The fields of a frame, those for a human made plain. Raises `ValueError` where they are not what they must be."""
    wanted = _FIELDS.get(kind)
    if wanted is None or not isinstance(fields, dict):
        raise ValueError(f"a frame of kind {kind} that is none of its own")
    for name, check in wanted.items():
        if name not in fields or not check(fields[name]):
            raise ValueError(f"a frame of kind {kind} with no proper {name!r}")
    if kind == frames.READY:
        # What is missing counts as a broken promise, and so does what is nonsense.
        known = {name: fields[name] for name, check in _FACTS.items() if name in fields and check(fields[name])}
        return {name: plain(fact) if isinstance(fact, str) else fact for name, fact in known.items()}
    if kind == frames.FAULT:
        return {"message": plain(fields["message"])}
    if kind == frames.DONE:
        return fields | {
            "left": [(name, plain(reason)) for name, reason in fields["left"]],
            "notes": [plain(note) for note in fields["notes"]],
            "spoilt": plain(fields["spoilt"]),
        }
    return fields


def _number(least: int, most: int) -> Check:
    # Not `isinstance`: True is no number.
    return lambda value: type(value) is int and least <= value <= most


def _list_of(check: Check, most: int = _MAX_COUNT) -> Check:
    return lambda value: isinstance(value, list) and len(value) <= most and all(map(check, value))


def _like(pattern: str) -> Check:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_duration(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < _MAX_COUNT


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(len(row) == 3 if _numbers(row) else False for row in value.values())


_count = _number(0, _MAX_COUNT)
_numbers = _list_of(_count)
_texts = _list_of(_is_text)

_FIELDS: Mapping[int, Mapping[str, Check]] = {
    frames.READY: {"commands": _texts, "python": _like(r"\d\.\d{1,3}"), "machine": _like(r"\w{1,32}")},
    frames.OUTPUT: {"stream": _number(1, 2)},
    frames.CUT: {"dropped": _count},
    frames.FILE: {"path": _is_text, "first": _is_bool, "last": _is_bool},
    frames.DONE: {
        "id": _count,
        "exit_code": _number(0, 255),
        "signal": _number(0, 64),
        "why": _like("(?:timeout|cancel)?"),
        "oom": _is_bool,
        "dropped": _count,
        "duration_s": _is_duration,
        "gone": _texts,
        "left": _list_of(_is_pair, MAX_LEFT),
        "left_more": _count,
        "notes": _list_of(_is_text, 100),
        "spoilt": _is_text,
    },
    frames.FAULT: {"message": _is_text},
    frames.IDLE: {"warm": _is_bool},
}
_FACTS: Mapping[str, Check] = {
    **_FIELDS[frames.READY],
    **dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), _count),
    **dict.fromkeys(("NoNewPrivs", "Seccomp", "pid", "memory_bytes", "pids"), _count),
    **dict.fromkeys(("root_mount", "writable", "interfaces"), _texts),
    "ids": _numbers,
    "root_read_only": _is_bool,
    "docker_socket": _is_bool,
    "tmpfs": _is_table,
    "libc": _like(r"[ -~]{0,100}"),
    "restricted": lambda value: _is_bool(value) or _is_text(value),
}
