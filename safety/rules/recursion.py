"""Functions that call themselves whatever their arguments are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from safety.python_program import Program
from safety.rules.rule import Rule
from safety.verdicts import Finding

RECURSION = Rule(
    "resources.endless-recursion",
    "ask",
    "resource exhaustion",
    "The function calls itself whatever its arguments are.",
    bad=("def f(n):\n    return f(n + 1)\nf(0)", "def a():\n    b()\ndef b():\n    a()\na()"),
    good=("def f(n):\n    return 1 if n < 2 else n * f(n - 1)", "def f(n):\n    if n:\n        f(n - 1)"),
)

RULES = (RECURSION,)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for made in program.nodes(ast.Assign):
        if (
            isinstance(made, ast.Assign)
            and isinstance(made.value, ast.Lambda)
            and isinstance(made.targets[0], ast.Name)
        ):
            name = made.targets[0].id
            if name in _unconditional(made.value.body, False):
                yield RECURSION.at(made.lineno, f"{name} calls itself without an end", made.col_offset + 1)
    for node in program.nodes(ast.FunctionDef):
        owner = program.names.outer.get(id(node))
        if not isinstance(node, ast.FunctionDef) or node.name != "__init__" or not isinstance(owner, ast.ClassDef):
            continue
        if any(_makes(statement, owner.name) for statement in node.body):
            yield RECURSION.at(node.lineno, f"each {owner.name} makes another without an end", node.col_offset + 1)
    yield from _runs_away(program)
    functions = {node.name: node for node in program.nodes(ast.FunctionDef) if isinstance(node, ast.FunctionDef)}
    edges: dict[str, set[str]] = {}
    for call in program.names.calls:
        function = program.function(call)
        if isinstance(function, ast.FunctionDef):
            edges.setdefault(function.name, set()).add(
                call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            )
    around = [
        name
        for name, called in edges.items()
        if name in called or any(name in edges.get(other, ()) for other in called)
    ]
    certain = {name: (functions[name], _certain_calls(functions[name])) for name in around if name in functions}
    for name, (node, called) in certain.items():
        if name in called or any(other != name and name in certain[other][1] for other in called if other in certain):
            if (id(node), name) in program.names.binds:
                continue
            if isinstance(program.function(node), ast.ClassDef) and name in called and not _calls_self(node, name):
                continue
            yield RECURSION.at(node.lineno, f"{name} calls itself without an end", node.col_offset + 1)


def _runs_away(program: Program) -> Iterator[Finding]:
    """`if n > 0: return f(n + 1)`: each call leads further from the end."""
    for branch in program.nodes(ast.If):
        function = program.function(branch)
        test = branch.test if isinstance(branch, ast.If) else None
        if (
            not isinstance(function, ast.FunctionDef)
            or not isinstance(test, ast.Compare)
            or not isinstance(branch, ast.If)
        ):
            continue
        away: type[ast.operator] | None = {ast.Gt: ast.Add, ast.GtE: ast.Add, ast.Lt: ast.Sub, ast.LtE: ast.Sub}.get(
            type(test.ops[0])
        )
        name = getattr(test.left, "id", "")
        if away is None or not name or not isinstance(test.comparators[0], ast.Constant):
            continue
        for call in (node for statement in branch.body for node in ast.walk(statement) if isinstance(node, ast.Call)):
            own = getattr(call.func, "id", "") == function.name
            given = next(
                (arg for arg in call.args if isinstance(arg, ast.BinOp) and getattr(arg.left, "id", "") == name), None
            )
            step = given.right.value if given is not None and isinstance(given.right, ast.Constant) else 0
            if own and given is not None and isinstance(given.op, away) and isinstance(step, int) and step > 0:
                yield RECURSION.at(
                    call.lineno, f"{function.name} goes further from its end each time", call.col_offset + 1
                )


def _makes(statement: ast.stmt, name: str) -> bool:
    if not isinstance(statement, (ast.Assign, ast.Expr, ast.AnnAssign)):
        return False
    return name in _unconditional(statement, False)


def _calls_self(node: ast.FunctionDef, name: str) -> bool:
    return any(
        isinstance(inner, ast.Call)
        and isinstance(inner.func, ast.Attribute)
        and inner.func.attr == name
        and isinstance(inner.func.value, ast.Name)
        and inner.func.value.id == "self"
        for inner in ast.walk(node)
    )


def _certain_calls(function: ast.FunctionDef) -> set[str]:
    """Names that a function calls on every path, before anything could end it."""
    found: set[str] = set()
    generator = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function))
    if generator or function.decorator_list:
        return found
    method = bool(function.args.args) and function.args.args[0].arg == "self"
    for statement in function.body:
        if isinstance(statement, (ast.If, ast.While, ast.For, ast.Try, ast.Match, ast.Raise, ast.With, ast.Assert)):
            if isinstance(statement, ast.With):
                continue
            if any(isinstance(node, (ast.Return, ast.Raise)) for node in ast.walk(statement)):
                return found
            continue
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        found |= _unconditional(statement, method)
        if isinstance(statement, ast.Return):
            return found
    return found


def _unconditional(statement: ast.AST, method: bool) -> set[str]:
    found: set[str] = set()
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(
            node, (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
        ):
            continue
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and not method:
                found.add(node.func.id)
            elif (
                method
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "self"
            ):
                found.add(node.func.attr)
        stack.extend(ast.iter_child_nodes(node))
    return found
