"""Special methods and properties that ask for themselves, and functions that hand themselves to ever more workers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from safety.python_program import Program
from safety.rules.loops import FORK_BOMB
from safety.rules.recursion import RECURSION
from safety.verdicts import Finding

_ASKS = {
    "__str__": "str",
    "__repr__": "repr",
    "__len__": "len",
    "__iter__": "iter",
    "__hash__": "hash",
    "__bool__": "bool",
    "__int__": "int",
    "__float__": "float",
    "__next__": "next",
    "__abs__": "abs",
}
_HANDS_ON = ("submit", "map", "apply_async", "Thread", "Process", "Timer", "start_new_thread", "call_soon", "imap")


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for node in program.nodes(ast.FunctionDef):
        if not isinstance(node, ast.FunctionDef):
            continue
        if isinstance(program.names.outer.get(id(node)), ast.ClassDef) and node.args.args and _asks_itself(node):
            yield RECURSION.at(node.lineno, f"{node.name} asks for itself without an end", node.col_offset + 1)
        elif _hands_itself_on(program, node):
            yield FORK_BOMB.at(node.lineno, f"{node.name} has itself run by ever more workers", node.col_offset + 1)


def _asks_itself(method: ast.FunctionDef) -> bool:
    own = method.args.args[0].arg
    branches = (ast.If, ast.Try, ast.While, ast.For, ast.IfExp)
    if any(isinstance(part, branches) for part in ast.walk(method)):
        return False
    decorators = [ast.unparse(decorator) for decorator in method.decorator_list]
    for part in ast.walk(method):
        whole = isinstance(part, ast.Name) and part.id == own
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.args:
            first = part.args[0]
            asked = isinstance(first, ast.Name) and first.id == own
            if asked and part.func.id == _ASKS.get(method.name):
                return True
            given = method.args.args[1].arg if len(method.args.args) > 1 else ""
            named = len(part.args) > 1 and isinstance(part.args[1], ast.Name) and part.args[1].id == given
            if (
                asked
                and named
                and {"getattr": "__getattr__", "setattr": "__setattr__"}.get(part.func.id) == method.name
            ):
                return True
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == own:
            loads = isinstance(part.ctx, ast.Load)
            if (loads and part.attr == method.name and "property" in decorators) or (
                not loads
                and (method.name == "__setattr__" or f"{method.name}.setter" in decorators)
                and (method.name == "__setattr__" or part.attr == method.name)
            ):
                return True
        elif isinstance(part, ast.FormattedValue) and method.name in ("__str__", "__format__"):
            if isinstance(part.value, ast.Name) and part.value.id == own and part.conversion == -1:
                return True
        elif whole and method.name == "__getattribute__":
            continue
    return False


def _hands_itself_on(program: Program, function: ast.FunctionDef) -> bool:
    """Whether a function, on every path, has itself started by a pool or a thread."""
    for statement in function.body:
        if isinstance(statement, (ast.If, ast.Try, ast.Return, ast.Raise, ast.While)):
            return False
        for part in ast.walk(statement):
            if not isinstance(part, ast.Call):
                continue
            name = getattr(part.func, "attr", getattr(part.func, "id", ""))
            given = [*part.args, *(word.value for word in part.keywords if word.arg == "target")]
            own = any(
                (isinstance(item, ast.Name) and item.id == function.name)
                or (isinstance(item, ast.Attribute) and item.attr == function.name)
                for item in given
            )
            if own and name in _HANDS_ON and name != "Timer":
                return True
    return False
