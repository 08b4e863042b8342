"""Resource exhaustion: what takes memory, processes, disk or time without an end."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import MAX_TEXT, Ref
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
        "#!bash\nwhile true; do echo x; done",
    ),
    good=(
        "while True:\n    if input() == 'q':\n        break",
        "def f():\n    while True:\n        yield 1",
        "n = 3\nwhile n:\n    n -= 1",
        "#!bash\nwhile true; do break; done",
    ),
)
RECURSION = Rule(
    "resources.endless-recursion",
    "ask",
    "resource exhaustion",
    "The function calls itself whatever its arguments are.",
    bad=("def f(n):\n    return f(n + 1)\nf(0)", "def a():\n    b()\ndef b():\n    a()\na()"),
    good=("def f(n):\n    return 1 if n < 2 else n * f(n - 1)", "def f(n):\n    if n:\n        f(n - 1)"),
)
HUGE = Rule(
    "resources.huge",
    "ask",
    "resource exhaustion",
    "It asks for more memory, disk or work than the sandbox has.",
    bad=(
        "x = 'a' * 10**11",
        "x = bytearray(1 << 36)",
        "import numpy as np\nnp.zeros((10**6, 10**6))",
        "l = list(range(10**11))",
        "#!bash\nfallocate -l 100G f",
        "#!bash\nyes > f",
    ),
    good=("x = [0] * 1000", "for i in range(10**12):\n    break", "#!bash\nhead -c 10 /dev/zero > f"),
)
OVERRUN = Rule(
    "resources.overrun",
    "ask",
    "resource exhaustion",
    "It writes past the end of a buffer of a fixed size.",
    bad=(
        "b = bytearray(8)\nfor i in range(100):\n    b[i] = 1",
        "import struct\nb = bytearray(2)\nstruct.pack_into('<10s', b, 0, b'x' * 10)",
    ),
    good=("b = bytearray(8)\nfor i in range(8):\n    b[i] = 1",),
)
RULES = (FORK_BOMB, ENDLESS, RECURSION, HUGE, OVERRUN)

MAX_BYTES = 2**30
"""An allocation from here on is flagged; the sandbox has a gibibyte or so by default."""
_BLOCKING = re.compile(
    r"^(?:input$|sys\.exit|exit$|quit$|os\._exit|os\.abort|os\.exec|time\.sleep|asyncio\.sleep|select\."
    r"|signal\.pause|pygame\.|curses\.|turtle\.|readline)"
    r"|\.(?:get|recv|recvfrom|accept|wait|join|readline|read|poll|select|result|acquire|next|__next__"
    r"|popleft|getch|get_event|run_pending|sleep|listen|consume|task_done|update|mainloop|tick|waitKey|send"
    r"|get_nowait|throw|parse_args)$"
)
_FORKERS = re.compile(
    r"^(?:os\.fork|os\.forkpty|multiprocessing\.(?:Process|Pool)(?:\(\)\.start)?"
    r"|threading\.Thread(?:\(\)\.start)?|subprocess\.Popen|_thread\.start_new_thread|os\.spawn\w+)$"
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    by_line: dict[int, list[Call]] = {}
    for call in program.calls:
        by_line.setdefault(id(call.node), []).append(call)
        yield from _huge(program, call)
    for node in program.nodes(ast.While, ast.For):
        if isinstance(node, ast.While) and (_always(program, node.test) or _stuck(program, node)):
            yield from _loop(program, node, by_line)
        elif isinstance(node, ast.For):
            rounds = max(_range_sizes(program, node.iter), default=0)
            if _infinite(program, node.iter) or _feeds_itself(node) or rounds >= 10**9:
                yield from _loop(program, node, by_line)
            elif rounds >= 50 and _forks(node, by_line):
                yield FORK_BOMB.at(node.lineno, "forks again and again", node.col_offset + 1)
    yield from _recursion(program)
    yield from _allocations(program)
    yield from _overrun(program)
    yield from _doubles(program)


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
    return (
        isinstance(test, ast.UnaryOp)
        and isinstance(test.op, ast.Not)
        and isinstance(test.operand, ast.Constant)
        and not test.operand.value
    )


def _stuck(program: Program, loop: ast.While) -> bool:
    """Whether nothing in the loop can make its condition false, or each round makes it truer."""
    tested = list(ast.walk(loop.test))
    if not all(
        isinstance(
            node,
            (
                ast.Compare,
                ast.Name,
                ast.Constant,
                ast.cmpop,
                ast.expr_context,
                ast.BoolOp,
                ast.boolop,
                ast.UnaryOp,
                ast.unaryop,
            ),
        )
        for node in tested
    ):
        return False
    names = {node.id for node in tested if isinstance(node, ast.Name)}
    shared = {
        name
        for node in program.nodes(ast.Global, ast.Nonlocal)
        if isinstance(node, (ast.Global, ast.Nonlocal))
        for name in node.names
    }
    if not names or names & shared:
        return False
    known = [value for node in tested if isinstance(node, ast.Name) for value in program.values(node)]
    grows = (
        isinstance(loop.test, ast.Compare)
        and len(loop.test.ops) == 1
        and isinstance(loop.test.left, ast.Name)
        and isinstance(loop.test.ops[0], (ast.Gt, ast.GtE))
    )
    grows = grows and isinstance(getattr(loop.test, "comparators", [None])[0], ast.Constant)
    changed = False
    for node in ast.walk(loop):
        if (
            isinstance(node, ast.Call)
            and any(isinstance(arg, ast.Name) and arg.id in names for arg in node.args)
            and not isinstance(node.func, ast.Name)
        ):
            return False
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in names
        ):
            return False
        if isinstance(node, ast.Delete):
            return False
        if isinstance(node, (ast.Name, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            target = node.id if isinstance(node, ast.Name) else getattr(node.value, "id", "")
            if target in names:
                parent = program.parent(node)
                up = (
                    isinstance(parent, ast.AugAssign)
                    and isinstance(parent.op, ast.Add)
                    and isinstance(parent.value, ast.Constant)
                    and isinstance(parent.value.value, int)
                    and parent.value.value > 0
                )
                changed = True
                grows = grows and up
    return grows if changed else all(isinstance(value, (int, str, bool)) or value is None for value in known)


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


def _infinite(program: Program, source: ast.expr) -> bool:
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
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and source.func.attr == "repeat":
        return len(source.args) == 1 and any(
            isinstance(value, Ref) and value.name == "itertools.repeat()" for value in program.values(source)
        )
    return False


def _loop(program: Program, loop: ast.While | ast.For, calls: dict[int, list[Call]]) -> Iterator[Finding]:
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
            waits = waits or any(_BLOCKING.search(name) for name in names) or _may_leave(program, node)
            raises = raises or any(name in ("next", "?.pop", "?.remove", "?.index", "?.popleft") for name in names)
        inner = own and not isinstance(node, (ast.While, ast.For))
        stack.extend((child, inner) for child in ast.iter_child_nodes(node))
    if leaves:
        return
    if forks and not waits:
        yield FORK_BOMB.at(loop.lineno, "starts processes or threads without an end", loop.col_offset + 1)
    elif not waits and not raises and not _caught(program, loop):
        yield ENDLESS.at(loop.lineno, "a loop with no way out", loop.col_offset + 1)


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


def _recursion(program: Program) -> Iterator[Finding]:
    for made in program.nodes(ast.Assign):
        if (
            isinstance(made, ast.Assign)
            and isinstance(made.value, ast.Lambda)
            and isinstance(made.targets[0], ast.Name)
        ):
            name = made.targets[0].id
            if name in _unconditional(made.value.body, False):
                yield RECURSION.at(made.lineno, f"{name} calls itself without an end", made.col_offset + 1)
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


def _huge(program: Program, call: Call) -> Iterator[Finding]:
    name = call.name
    sizes: list[int] = []
    if name in (
        "bytearray",
        "bytes",
        "os.urandom",
        "ctypes.create_string_buffer",
        "random.randbytes",
        "secrets.token_bytes",
        "os.truncate",
        "os.posix_fallocate",
    ):
        sizes = [value for value in (*call.argument(0), *call.argument(1)) if isinstance(value, int)]
    elif re.match(
        r"^numpy\.(?:zeros|ones|empty|full|arange|identity|eye|random\.\w+)$|^torch\.(?:zeros|ones|empty|rand|randn)$",
        name,
    ):
        for value in (*call.argument(0, "shape", "size"),):
            sizes.append(_product(value) * 8)
        if "random" in name or name.startswith("torch."):
            sizes.append(_product(tuple(values[0] for values in call.args)) * 8)
    elif name in ("list", "tuple", "set", "sorted", "sum") and name != "sum":
        inner = call.node.args[0] if call.node.args else None
        sizes = [size * 8 for size in _range_sizes(program, inner)]
    elif name.endswith((".truncate", ".seek")) and "open()" in name:
        sizes = [value for value in call.argument(0) if isinstance(value, int)]
    elif name == "math.factorial":
        sizes = [value * 1000 for value in call.argument(0) if isinstance(value, int)]
    elif name == "itertools.permutations":
        sizes = []
    if any(size >= MAX_BYTES for size in sizes):
        yield HUGE.at(call.line, "asks for more than the sandbox has", call.column)
    if (
        name in ("list", "tuple", "set", "sum", "sorted", "max", "min")
        and call.node.args
        and _infinite(program, call.node.args[0])
    ):
        yield ENDLESS.at(call.line, "collects something that never ends", call.column)


def _product(value: object) -> int:
    if isinstance(value, bool):
        return 1
    if isinstance(value, int):
        return max(0, value)
    if isinstance(value, tuple):
        total = 1
        for item in value:
            total *= item if isinstance(item, int) else 1
        return max(0, total)
    return 0


def _range_sizes(program: Program, expr: ast.expr | None) -> Iterator[int]:
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "range" and expr.args:
        for value in program.values(expr.args[min(1, len(expr.args) - 1)]):
            if isinstance(value, int):
                yield value


def _allocations(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.BinOp, ast.ListComp):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for thing, times in ((node.left, node.right), (node.right, node.left)):
                lengths = [len(value) for value in program.values(thing) if isinstance(value, (str, bytes, tuple))]
                numbers = [
                    value for value in program.values(times) if isinstance(value, int) and not isinstance(value, bool)
                ]
                unit = 8 if isinstance(thing, (ast.List, ast.Tuple)) else 1
                if lengths and numbers and max(lengths) * max(numbers) * unit >= MAX_BYTES:
                    yield HUGE.at(node.lineno, "makes a value larger than the sandbox's memory", node.col_offset + 1)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            powers = [value for value in program.values(node.right) if isinstance(value, (int, float))]
            if any(power >= 10**8 for power in powers) and not isinstance(program.parent(node), (ast.BinOp, ast.Call)):
                yield HUGE.at(node.lineno, "works out a number that never fits", node.col_offset + 1)
        elif isinstance(node, ast.ListComp):
            total = 8 * _repeats(program, node.elt)
            for generator in node.generators:
                total *= max(list(_range_sizes(program, generator.iter)) or [1])
            if total >= MAX_BYTES * 4:
                yield HUGE.at(node.lineno, "makes a list larger than the sandbox's memory", node.col_offset + 1)


def _repeats(program: Program, expr: ast.expr) -> int:
    """How many items `[x] * n` makes."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
        numbers = [
            value for side in (expr.left, expr.right) for value in program.values(side) if isinstance(value, int)
        ]
        if isinstance(expr.left, ast.List) or isinstance(expr.right, ast.List):
            return max(1, *numbers, 1)
    return 1


def _doubles(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.AugAssign):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            twice = (
                isinstance(node.op, ast.Add) and isinstance(node.value, ast.Name) and node.value.id == node.target.id
            )
            twice = twice or (isinstance(node.op, ast.Mult) and isinstance(node.value, ast.Constant))
            loop = program.parent(node)
            rounds = max(_range_sizes(program, loop.iter), default=0) if isinstance(loop, ast.For) else 0
            text = any(isinstance(value, (str, bytes, tuple)) for value in program.values(node.target))
            if twice and text and (rounds >= 30 or isinstance(loop, ast.While)):
                yield HUGE.at(node.lineno, "doubles a value again and again", node.col_offset + 1)


def _overrun(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.For):
        if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name):
            continue
        ends = list(_range_sizes(program, node.iter))
        if not ends:
            continue
        inside = list(ast.walk(node))
        if any(isinstance(inner, (ast.If, ast.Break, ast.Try)) for inner in inside):
            continue
        for inner in inside:
            if (
                isinstance(inner, ast.Subscript)
                and isinstance(inner.ctx, ast.Store)
                and isinstance(inner.slice, ast.Name)
                and inner.slice.id == node.target.id
            ):
                sizes = [
                    len(value)
                    for value in program.values(inner.value)
                    if isinstance(value, (bytes, tuple)) and len(value) not in (0, MAX_TEXT)
                ]
                if sizes and max(ends) > max(sizes):
                    yield OVERRUN.at(
                        inner.lineno, f"writes {max(ends)} items into a buffer of {max(sizes)}", inner.col_offset + 1
                    )
    for call in program.calls:
        if call.name == "struct.pack_into":
            room = [len(value) for value in call.argument(1) if isinstance(value, bytes)]
            wanted = [len(value) for values in call.args[3:] for value in values if isinstance(value, bytes)]
            if room and wanted and max(wanted) > max(room):
                yield OVERRUN.at(call.line, f"packs {max(wanted)} bytes into a buffer of {max(room)}", call.column)
