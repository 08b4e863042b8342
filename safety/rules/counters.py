"""Loops whose condition never comes to its end: what each round does to the names in it."""

from __future__ import annotations

import ast
from typing import Literal

from safety.python_program import Program
from safety.python_values import Ref

Move = Literal["up", "down", "other"]
_PLAIN = (
    ast.Compare,
    ast.Name,
    ast.Constant,
    ast.cmpop,
    ast.expr_context,
    ast.BoolOp,
    ast.boolop,
    ast.UnaryOp,
    ast.unaryop,
)
_NUMBERS = ("time.time()", "time.monotonic()", "time.perf_counter()", "int()", "float()", "len()", "input()", "str()")


def is_stuck(program: Program, loop: ast.While) -> bool:
    """Whether nothing in the loop can make its condition false, or each round leads further away from it."""
    tested = list(ast.walk(loop.test))
    names = {node.id: node for node in tested if isinstance(node, ast.Name)}
    if not names or not all(isinstance(node, _PLAIN) for node in tested) or names.keys() & _shared(program):
        return False
    fixed = all(_is_scalar(value) for node in names.values() for value in program.values(node))
    moves: dict[str, set[Move]] = {}
    for node in ast.walk(loop):
        if isinstance(node, ast.Delete) or (isinstance(node, ast.Call) and not fixed and _may_change(node, names)):
            return False
        if isinstance(node, (ast.Name, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            target = node.id if isinstance(node, ast.Name) else getattr(node.value, "id", "")
            if target in names:
                moves.setdefault(target, set()).add(_move(program.parent(node), target))
    return _leads_away(program, loop, moves) if moves else fixed


def refills(loop: ast.While) -> bool:
    """Whether each round puts at least as much into what the loop empties as it takes out."""
    emptied = _emptied(loop.test)
    if emptied is None:
        return False
    taken = put = 0
    for statement in loop.body:
        certain = isinstance(statement, (ast.Expr, ast.Assign))
        for node in ast.walk(statement):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if ast.unparse(node.func.value) == emptied:
                takes = node.func.attr in ("get", "get_nowait", "pop", "popleft", "clear", "remove")
                if takes and not certain:
                    return False  # when that happens cannot be told
                taken += takes
                put += certain and node.func.attr in ("put", "put_nowait", "append", "appendleft")
    leaves = any(isinstance(node, (ast.Break, ast.Return, ast.Raise)) for node in ast.walk(loop))
    return put > 0 and put >= taken and not leaves


def _emptied(test: ast.expr) -> str | None:
    """The name of the container whose emptiness ends the loop."""
    if isinstance(test, ast.Name):
        return test.id
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Call):
        func = test.operand.func
        return ast.unparse(func.value) if isinstance(func, ast.Attribute) and func.attr == "empty" else None
    call = test
    if isinstance(test, ast.Compare):
        if not isinstance(test.ops[0], (ast.Gt, ast.NotEq)) or ast.unparse(test.comparators[0]) != "0":
            return None
        call = test.left
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "len" and call.args:
        return ast.unparse(call.args[0])
    return None


def _shared(program: Program) -> set[str]:
    """Names that some other function may set."""
    return {
        name
        for node in program.nodes(ast.Global, ast.Nonlocal)
        if isinstance(node, (ast.Global, ast.Nonlocal))
        for name in node.names
    }


def _is_scalar(value: object) -> bool:
    if isinstance(value, Ref):
        return value.name in _NUMBERS
    return isinstance(value, (int, float, str, bool)) or value is None


def _may_change(call: ast.Call, names: dict[str, ast.Name]) -> bool:
    """Whether a method of one of the names is called, or it is handed to a method."""
    if not isinstance(call.func, ast.Attribute):
        return False
    given = [*call.args, call.func.value]
    return any(isinstance(item, ast.Name) and item.id in names for item in given)


def _move(statement: ast.AST | None, name: str) -> Move:
    if isinstance(statement, ast.AugAssign):
        return _direction(ast.BinOp(ast.Name(name), statement.op, statement.value), name)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return _direction(statement.value, name)
    return "other"


def _direction(expr: ast.expr, name: str) -> Move:
    if isinstance(expr, ast.IfExp):
        first = _direction(expr.body, name)
        return first if first == _direction(expr.orelse, name) else "other"
    if not isinstance(expr, ast.BinOp) or not isinstance(expr.left, ast.Name) or expr.left.id != name:
        return "other"
    by = expr.right.value if isinstance(expr.right, ast.Constant) else None
    if not isinstance(by, (int, float)) or by <= 0:
        return "other"
    if isinstance(expr.op, ast.Add) or (isinstance(expr.op, ast.Mult) and by > 1):
        return "up"
    return "down" if isinstance(expr.op, ast.Sub) else "other"


def _leads_away(program: Program, loop: ast.While, moves: dict[str, set[Move]]) -> bool:
    test = loop.test
    if isinstance(test, ast.Name):
        test = ast.Compare(test, [ast.NotEq()], [ast.Constant(0)])
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or len(moves) != 1:
        return False
    left, op, right = test.left, test.ops[0], test.comparators[0]
    if isinstance(left, ast.Constant) and isinstance(right, ast.Name):
        left, op, right = right, _mirrored(op), left
    if not isinstance(left, ast.Name) or left.id not in moves or len(moves[left.id]) != 1:
        return False
    (way,) = moves[left.id]
    if isinstance(op, (ast.Lt, ast.LtE)):
        return way == "down"
    if isinstance(op, (ast.Gt, ast.GtE)):
        return way == "up"
    if isinstance(op, ast.NotEq) and isinstance(right, ast.Constant) and isinstance(right.value, float):
        return way != "other" and any(
            isinstance(part, ast.Constant) and isinstance(part.value, float)
            for part in ast.walk(ast.Module(loop.body, []))
        )
    if not isinstance(op, ast.NotEq) or not isinstance(right, ast.Constant) or not isinstance(right.value, int):
        return False
    starts = [value for value in _starts(program, left) if isinstance(value, int)]
    starts += [value for value in program.values(left) if type(value) is int and not starts]
    by = _stride(loop, left.id)
    if by > 1 and starts and all((start - right.value) % by for start in starts):
        return way != "other"
    beyond = [start > right.value if way == "up" else start < right.value for start in starts]
    return way != "other" and bool(starts) and all(beyond)


def _stride(loop: ast.While, name: str) -> int:
    """By how much each round moves a name, where that is one number; else 0."""
    moved = [
        node.value.value
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign)
        and getattr(node.target, "id", "") == name
        and isinstance(node.value, ast.Constant)
    ]
    return moved[0] if len(moved) == 1 and isinstance(moved[0], int) else 0


def _mirrored(op: ast.cmpop) -> ast.cmpop:
    turned: dict[type[ast.cmpop], type[ast.cmpop]] = {
        ast.Lt: ast.Gt,
        ast.LtE: ast.GtE,
        ast.Gt: ast.Lt,
        ast.GtE: ast.LtE,
    }
    return turned[type(op)]() if type(op) in turned else op


def _starts(program: Program, name: ast.Name) -> list[object]:
    """What a name is set to by plain assignments of a constant."""
    found = program.names.lookup(name.id, program.function(name))
    binds = found[1] if found else []
    return [bind.expr.value for bind in binds if isinstance(bind.expr, ast.Constant)]
