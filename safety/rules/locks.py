"""Locks that two threads take in opposite orders, or one thread twice: both wait for ever."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from safety.python_program import Program
from safety.python_values import Ref
from safety.rules.rule import Rule
from safety.verdicts import Finding

DEADLOCK = Rule(
    "resources.deadlock",
    "ask",
    "resource exhaustion",
    "Two threads that take the same locks in opposite orders wait for each other for ever.",
    bad=(
        "import threading\na, b = threading.Lock(), threading.Lock()\ndef f():\n    with a:\n        with b:\n"
        "            pass\ndef g():\n    with b, a:\n        pass",
        "import threading\nm = threading.Lock()\ndef f():\n    m.acquire()\n    m.acquire()",
        "import threading\nm = threading.Lock()\nwith m:\n    with m:\n        print(1)",
    ),
    good=(
        "import threading\na, b = threading.Lock(), threading.Lock()\ndef f():\n    with a:\n        with b:\n"
        "            pass\ndef g():\n    with a, b:\n        pass",
        "import threading\nm = threading.RLock()\nwith m:\n    with m:\n        print(1)",
    ),
)
RULES = (DEADLOCK,)
_LOCKS = ("threading.Lock()", "multiprocessing.Lock()", "asyncio.Lock()", "_thread.allocate_lock()")
_KINDS = (*_LOCKS, "threading.RLock()", "multiprocessing.RLock()", "threading.Semaphore()")


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    if not any(call.name + "()" in _KINDS for call in program.calls):
        return
    orders: dict[tuple[str, str], int] = {}
    for outer, inner, line in _pairs(program):
        if outer == inner:
            yield DEADLOCK.at(line, f"takes {outer} while it holds it")
        orders.setdefault((outer, inner), line)
    for (outer, inner), line in orders.items():
        if outer < inner and (inner, outer) in orders:
            yield DEADLOCK.at(max(line, orders[inner, outer]), f"takes {outer} and {inner} in both orders")


def _pairs(program: Program) -> Iterator[tuple[str, str, int]]:
    """A lock that is held, one that is taken then, and where; twice the same one only where that waits."""
    for function in (program.tree, *program.nodes(ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(function, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _taken(program, function.body, [])


def _taken(program: Program, body: list[ast.stmt], held: list[str]) -> Iterator[tuple[str, str, int]]:
    own = list(held)
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        call = statement.value if isinstance(statement, ast.Expr) else None
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in ("acquire", "release")
        ):
            name = _lock(program, call.func.value)
            if name and call.func.attr == "acquire" and not call.args and not call.keywords:
                yield from (
                    (outer, name, statement.lineno)
                    for outer in own
                    if outer != name or _waits(program, call.func.value)
                )
                own.append(name)
            elif name in own:
                own.remove(name)
            continue
        inside = list(own)
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                name = _lock(program, item.context_expr)
                if name:
                    yield from (
                        (outer, name, statement.lineno)
                        for outer in inside
                        if outer != name or _waits(program, item.context_expr)
                    )
                    inside.append(name)
        for part in ("body", "orelse", "finalbody"):
            inner = getattr(statement, part, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                yield from _taken(program, inner, inside)


def _lock(program: Program, expr: ast.expr) -> str:
    """The name of a lock, or nothing."""
    known = any(isinstance(value, Ref) and value.name in _KINDS for value in program.values(expr))
    return ast.unparse(expr) if known and isinstance(expr, (ast.Name, ast.Attribute)) else ""


def _waits(program: Program, expr: ast.expr) -> bool:
    return any(isinstance(value, Ref) and value.name in _LOCKS for value in program.values(expr))
