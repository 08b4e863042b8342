"""Loops without an end, and loops that start processes without an end."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import Local, Ref
from safety.rules.counters import is_stuck, refills
from safety.rules.rule import Rule
from safety.verdicts import Finding

FORK_BOMB = Rule(
    "resources.fork-bomb",
    "deny",
    "resource exhaustion",
    "Each process starts more of its kind until none is left for others.",
    bad=("import os\nwhile True:\n    os.fork()", "#!bash\n:(){ :|:& };:", "#!bash\nf() { f & f & }\nf"),
    good=("import os\npid = os.fork()", "#!bash\nf() { echo; }\nf &"),
)
ENDLESS = Rule(
    "resources.endless-loop",
    "ask",
    "resource exhaustion",
    "The loop has no way out; it ends at the time limit.",
    bad=(
        "while True:\n    pass",
        "x = []\nwhile 1:\n    x.append('a' * 10)",
        "for _ in iter(int, 1):\n    pass",
        "import time\nwhile True:\n    time.sleep(1)",
        "i = 0\nwhile i < 10:\n    i -= 1",
        "q = [1]\nwhile q:\n    q.append(q.pop() + 1)",
        "def g():\n    while True:\n        yield 1\nlist(g())",
        "#!bash\ni=0\nwhile [ $i -lt 5 ]; do i=$((i-1)); done",
        "#!bash\nwhile true; do echo x; done",
    ),
    good=(
        "while True:\n    if input() == 'q':\n        break",
        "def f():\n    while True:\n        yield 1",
        "n = 3\nwhile n:\n    n -= 1",
        "i = 0\nwhile 10 > i:\n    i += 1",
        "#!bash\ni=0\nwhile [ $i -lt 5 ]; do i=$((i+1)); done",
        "#!bash\nwhile true; do break; done",
    ),
)
RULES = (FORK_BOMB, ENDLESS)

_BLOCKING = re.compile(
    r"^(?:input$|sys\.exit|exit$|quit$|os\._exit|os\.abort|os\.exec|select\."
    r"|signal\.pause|pygame\.|curses\.|turtle\.|readline)"
    r"|\.(?:get|recv|recvfrom|accept|wait|join|readline|read|poll|select|result|acquire|next|__next__"
    r"|popleft|getch|get_event|listen|consume|task_done|update|mainloop|tick|waitKey|send"
    r"|get_nowait|throw|parse_args)$"
)
_ENDS = re.compile(r"^(?:sys\.exit|exit$|quit$|os\._exit|os\.abort|os\.exec)|parse_args$")
_FORKERS = re.compile(
    r"^(?:os\.fork|os\.forkpty|multiprocessing\.(?:Process|Pool)(?:\(\)\.start)?"
    r"|threading\.Thread(?:\(\)\.start)?|subprocess\.Popen|_thread\.start_new_thread|os\.spawn\w+)$"
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    calls: dict[int, list[Call]] = {}
    for call in program.calls:
        calls.setdefault(id(call.node), []).append(call)
    for call in program.calls:
        if call.name == "signal.pause":
            yield ENDLESS.at(call.line, "waits for a signal that nobody sends", call.column)
    for node in program.nodes(ast.While, ast.For):
        if isinstance(node, ast.While) and _always(program, node.test):
            yield from _loop(program, node, calls)
        elif isinstance(node, ast.While) and (is_stuck(program, node) or refills(node)):
            yield from _loop(program, node, calls, stuck=True)
        elif isinstance(node, ast.For):
            rounds = max(range_sizes(program, node.iter), default=0)
            if is_infinite(program, node.iter) or _feeds_itself(node) or rounds >= 10**9:
                yield from _loop(program, node, calls)
            elif rounds >= 50 and _forks(node, calls):
                yield FORK_BOMB.at(node.lineno, "forks again and again", node.col_offset + 1)


def _always(program: Program, test: ast.expr) -> bool:
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.left, ast.Constant)
        and isinstance(test.comparators[0], ast.Constant)
    ):
        try:
            return bool(ast.literal_eval(test.left) == ast.literal_eval(test.comparators[0])) is isinstance(
                test.ops[0], ast.Eq
            )
        except ValueError:
            return False
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.GtE) and ast.unparse(test.comparators[0]) == "0":
        return isinstance(test.left, ast.Call) and getattr(test.left.func, "id", "") in ("len", "abs")
    return (
        isinstance(test, ast.UnaryOp)
        and isinstance(test.op, ast.Not)
        and isinstance(test.operand, ast.Constant)
        and not test.operand.value
    )


def _feeds_itself(loop: ast.For) -> bool:
    """Whether each round adds to the list that the loop goes through."""
    if not isinstance(loop.iter, ast.Name):
        return False
    statements = [node.value for node in loop.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("append", "extend", "insert")
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == loop.iter.id
        for call in statements
    )


def _forks(loop: ast.For, calls: dict[int, list[Call]]) -> bool:
    return any(
        call.name in ("os.fork", "os.forkpty")
        for node in ast.walk(loop)
        if isinstance(node, ast.Call)
        for call in calls.get(id(node), ())
    )


def is_infinite(program: Program, source: ast.expr) -> bool:
    """Whether going through the source never ends."""
    for value in program.values(source):
        if isinstance(value, Ref) and value.name in ("itertools.count()", "itertools.cycle()"):
            return True
    if (
        isinstance(source, ast.Call)
        and isinstance(source.func, ast.Name)
        and source.func.id == "iter"
        and len(source.args) == 2
    ):
        return isinstance(source.args[0], ast.Name) and source.args[0].id in ("int", "str", "list", "dict", "float")
    if isinstance(source, ast.Call) and any(
        isinstance(value, Local) and _never_runs_dry(value.node) for value in program.values(source.func)
    ):
        return True
    if isinstance(source, ast.Call) and getattr(source.func, "attr", getattr(source.func, "id", "")) == "repeat":
        return len(source.args) == 1 and any(
            isinstance(value, Ref) and value.name == "itertools.repeat()" for value in program.values(source)
        )
    return False


def _never_runs_dry(function: ast.AST) -> bool:
    """Whether a generator of the block yields without an end."""
    if not isinstance(function, ast.FunctionDef):
        return False
    inside = list(ast.walk(function))
    if any(isinstance(node, (ast.Break, ast.Return, ast.Raise)) for node in inside):
        return False
    return any(
        isinstance(statement, ast.While)
        and isinstance(statement.test, ast.Constant)
        and bool(statement.test.value)
        and any(isinstance(node, ast.Yield) for node in ast.walk(statement))
        for statement in function.body
    )


def _loop(
    program: Program, loop: ast.While | ast.For, calls: dict[int, list[Call]], stuck: bool = False
) -> Iterator[Finding]:
    """Findings of a loop whose condition does not end it; `stuck` where waiting for others cannot help."""
    leaves, waits, forks, raises = False, False, False, False
    stack: list[tuple[ast.AST, bool]] = [(child, True) for child in loop.body]
    while stack:
        node, own = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)) or (isinstance(node, ast.Break) and own):
            leaves = True
        if isinstance(node, ast.Raise):
            raises = True
        if isinstance(node, ast.Call):
            names = [call.name for call in calls.get(id(node), ())]
            forks = forks or any(_FORKERS.match(name) for name in names)
            waiting = _ENDS if stuck else _BLOCKING
            waits = waits or any(waiting.search(name) for name in names) or _may_leave(program, node)
            raises = raises or any(
                not stuck and name in ("next", "?.pop", "?.remove", "?.index", "?.popleft") for name in names
            )
        inner = own and not isinstance(node, (ast.While, ast.For))
        # A `break` in the `else` of an inner loop is the outer one's.
        after = {id(child) for child in getattr(node, "orelse", ())} if isinstance(node, (ast.While, ast.For)) else ()
        stack.extend((child, inner or (own and id(child) in after)) for child in ast.iter_child_nodes(node))
    if leaves or _in_daemon(program, loop):
        return
    if forks and not waits:
        yield FORK_BOMB.at(loop.lineno, "starts processes or threads without an end", loop.col_offset + 1)
    elif not waits and not raises and not _caught(program, loop):
        yield ENDLESS.at(loop.lineno, "a loop with no way out", loop.col_offset + 1)


def _in_daemon(program: Program, loop: ast.AST) -> bool:
    """Whether the loop is the work of a thread that ends with the program."""
    function = program.function(loop)
    for call in program.names.calls_by_name.get("Thread", ()):
        words = {word.arg: word.value for word in call.keywords}
        target, daemon = words.get("target"), words.get("daemon")
        own = getattr(target, "attr", getattr(target, "id", ""))
        if isinstance(daemon, ast.Constant) and daemon.value is True and own == getattr(function, "name", None):
            return True
    return False


def _caught(program: Program, loop: ast.AST) -> bool:
    """Whether an error inside may end the loop on purpose."""
    at = program.parent(loop)
    while at is not None and not isinstance(at, (ast.FunctionDef, ast.Module)):
        if isinstance(at, ast.Try):
            kinds = {ast.unparse(handler.type) for handler in at.handlers if handler.type is not None}
            return bool(kinds - {"KeyboardInterrupt", "MemoryError", "Exception", "BaseException"})
        at = program.parent(at)
    return False


def _may_leave(program: Program, call: ast.Call) -> bool:
    """Whether a function of the block that is called may end the program, or waits for something."""
    name = (
        call.func.id
        if isinstance(call.func, ast.Name)
        else call.func.attr
        if isinstance(call.func, ast.Attribute)
        else ""
    )
    return name in program.leaving_functions


def range_sizes(program: Program, expr: ast.expr | None) -> Iterator[int]:
    """The ends that a `range` may have."""
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "range" and expr.args:
        end = expr.args[min(1, len(expr.args) - 1)]
        if isinstance(end, ast.Name) and _is_counted(program, end):
            return
        for value in program.values(end):
            if isinstance(value, int):
                yield value


def _is_counted(program: Program, name: ast.Name) -> bool:
    """Whether a loop around it gives a name its value there: what else it held before does not count."""
    at = program.parent(name)
    while at is not None and not isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
        inner, at = at, program.parent(at)
        if isinstance(at, ast.For) and inner is not at.iter and getattr(at.target, "id", "") == name.id:
            return True
    return False
