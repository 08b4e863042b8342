"""What operators, loops and attributes make of values that are known."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable, Iterator

from safety import python_folding as folding
from safety.python_names import Step
from safety.python_values import (
    HOLE,
    MAX_ITEMS,
    MAX_TEXT,
    UNKNOWN,
    Ref,
    Table,
    Value,
    Values,
    as_text,
    ref,
)

MAX_OPTIONS = 12
"""Values that are followed for one expression."""


def distinct(values: Iterable[Value]) -> Values:
    """Each value once; where there are too many, the last says that there are others."""
    out: list[Value] = []
    for value in values:
        if len(out) >= MAX_OPTIONS:
            return (*out, UNKNOWN)
        if not any(value == known and type(value) is type(known) for known in out):
            out.append(value)
    return tuple(out) or (UNKNOWN,)


def capped(values: Iterable[Value], most: int = MAX_OPTIONS * 2) -> Iterator[Value]:
    """The first values, and an unknown one where there are others."""
    for count, value in enumerate(values):
        if count >= most:
            yield UNKNOWN
            return
        yield value


def slice_of(value: Value) -> Value:
    """A slice of something that is not known in full."""
    return value if isinstance(value, Ref) else UNKNOWN


def take_step(value: Value, step: Step) -> Iterable[Value]:
    """What one step of an unpacking or a loop takes out of a value."""
    if step == "enter":
        if isinstance(value, Ref) and value.name.startswith("tempfile.TemporaryDirectory"):
            return ("/tmp/made",)
        return (value,)
    if step == "iter":
        if isinstance(value, (tuple, str, bytes)):
            return value or (UNKNOWN,)
        if isinstance(value, Table):
            return tuple(key for key, _ in value.items) or (UNKNOWN,)
        if isinstance(value, Ref) and value.text is not None and value.name == "pathlib.Path()":
            return (Ref(value.name, posixpath.join(value.text, HOLE)),)
        return (ref(value.name + "[]"),) if isinstance(value, Ref) else (UNKNOWN,)
    if step == "rest":
        return (UNKNOWN,)
    return (folding.item(value, step),)


def path_attribute(base: Ref, name: str) -> Iterable[Value]:
    """`parent`, `name` and the like of a path object."""
    text = base.text or ""
    if name == "parent":
        yield Ref(base.name, posixpath.dirname(text.rstrip("/")) or ".")
    elif name in ("name", "stem", "suffix"):
        whole = posixpath.basename(text)
        yield {"name": whole, "stem": posixpath.splitext(whole)[0], "suffix": posixpath.splitext(whole)[1]}[name]
    else:
        value = ref(f"{base.name}.{name}", base.text)
        yield value


def negate(op: ast.unaryop, value: Value) -> Value:
    """A unary operator on a value."""
    if isinstance(value, (int, float)):
        if isinstance(op, ast.USub):
            return -value
        if isinstance(op, ast.Invert) and isinstance(value, int):
            return ~value
        if isinstance(op, ast.Not):
            return not value
    return UNKNOWN


def operate(op: ast.operator, left: Value, right: Value) -> Value:
    """A binary operator on two values."""
    if isinstance(op, ast.Div) and isinstance(left, Ref) and left.text is not None:
        return Ref("pathlib.Path()", folding.join((left.text, right)))
    if isinstance(op, ast.Div) and isinstance(right, Ref) and right.text is not None:
        return Ref("pathlib.Path()", folding.join((left, right.text)))
    if isinstance(op, ast.Add) and isinstance(left, tuple) and isinstance(right, tuple):
        return (left + right)[:MAX_ITEMS]
    if isinstance(op, ast.Add) and (isinstance(left, (str, bytes)) or isinstance(right, (str, bytes))):
        if isinstance(left, bytes) and isinstance(right, bytes):
            return (left + right)[:MAX_TEXT]
        return (as_text(left) + as_text(right))[:MAX_TEXT]
    if isinstance(op, ast.Mod) and isinstance(left, str):
        return _percent(left, right)
    if isinstance(op, ast.Mult):
        for thing, times in ((left, right), (right, left)):
            if isinstance(thing, (str, bytes, tuple)) and isinstance(times, int):
                return thing * min(
                    times,
                    MAX_ITEMS // max(1, len(thing)) if not isinstance(thing, str) else MAX_TEXT // max(1, len(thing)),
                )
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _number(op, left, right)
    return UNKNOWN


def _percent(left: str, right: Value) -> Value:
    out: list[str] = []
    given = list(right) if isinstance(right, tuple) else [right]
    parts = left.replace("%%", "\0").split("%")
    out.append(parts[0])
    for count, part in enumerate(parts[1:]):
        known = as_text(given[count]) if count < len(given) else HOLE
        out.append(known + part.lstrip("0123456789.-+ #")[1:])
    return "".join(out).replace("\0", "%")[:MAX_TEXT]


def _number(op: ast.operator, left: float, right: float) -> Value:
    try:
        if isinstance(op, ast.Add):
            return left + right
        if isinstance(op, ast.Sub):
            return left - right
        if isinstance(op, ast.Mult):
            return left * right if max(abs(left), abs(right)) < 10**400 else UNKNOWN
        if isinstance(op, ast.FloorDiv):
            return left // right
        if isinstance(op, ast.Div):
            return left / right
        if isinstance(op, ast.Mod):
            return left % right
        if isinstance(op, ast.Pow) and abs(right) < 400 and abs(left) < 10**6:
            result: Value = left**right if not isinstance(left**right, complex) else UNKNOWN
            return result
        if isinstance(left, int) and isinstance(right, int):
            if isinstance(op, ast.LShift) and 0 <= right < 512:
                return left << right
            if isinstance(op, ast.RShift) and right >= 0:
                return left >> right
            if isinstance(op, ast.BitXor):
                return left ^ right
            if isinstance(op, ast.BitOr):
                return left | right
            if isinstance(op, ast.BitAnd):
                return left & right
    except (ArithmeticError, ValueError, OverflowError):
        return UNKNOWN
    return UNKNOWN
