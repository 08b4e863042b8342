"""Values larger than the sandbox, and buffers that are overrun."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import MAX_TEXT, Local, as_text
from safety.rules.loops import ENDLESS, is_infinite, range_sizes
from safety.rules.rule import Rule
from safety.verdicts import Finding

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
        "a = []\nfor i in range(10000):\n    a.append(bytearray(10**6))",
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
MAX_BYTES = 2**30
"""An allocation from here on is flagged; the sandbox has a gibibyte or so by default."""

RULES = (HUGE, OVERRUN)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for call in program.calls:
        yield from _huge(program, call)
    yield from _allocations(program)
    yield from _overrun(program)
    yield from _doubles(program)
    yield from _piles(program)


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
        drawn = name.startswith("numpy.random.")
        by_size = not drawn or name.endswith(_DRAW_BY_SIZE)
        for value in call.argument(0 if by_size else -1, "shape", "size"):
            sizes.append(_product(value) * 8)
        if (drawn and name.endswith((".rand", ".randn"))) or name.startswith("torch."):
            sizes.append(_product(tuple(values[0] for values in call.args)) * 8)
    elif name in ("list", "tuple", "set", "sorted", "sum") and name != "sum":
        inner = call.node.args[0] if call.node.args else None
        sizes = [size * 8 for size in range_sizes(program, inner)]
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
        and is_infinite(program, call.node.args[0])
    ):
        yield ENDLESS.at(call.line, "collects something that never ends", call.column)


_DRAW_BY_SIZE = (".rand", ".randn", ".random", ".random_sample", ".standard_normal", ".bytes", ".permutation", ".ranf")
"""Those of numpy's draws whose first argument is a size, not a seed or a mean."""


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
                total *= max(list(range_sizes(program, generator.iter)) or [1])
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
            rounds = max(range_sizes(program, loop.iter), default=0) if isinstance(loop, ast.For) else 0
            text = any(isinstance(value, (str, bytes, tuple)) for value in program.values(node.target))
            if twice and text and (rounds >= 30 or isinstance(loop, ast.While)):
                yield HUGE.at(node.lineno, "doubles a value again and again", node.col_offset + 1)


def _piles(program: Program) -> Iterator[Finding]:
    """Loops that keep a large piece in each round."""
    for node in program.nodes(ast.For):
        rounds = max(range_sizes(program, node.iter), default=0) if isinstance(node, ast.For) else 0
        if rounds < 100 or not isinstance(node, ast.For):
            continue
        if rounds >= 10**6 and _writes_files(program, node):
            yield HUGE.at(node.lineno, "makes a file in each of very many rounds", node.col_offset + 1)
        for call in ast.walk(node):
            kept = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append"
            if (
                kept
                and isinstance(call, ast.Call)
                and call.args
                and rounds * _size(program, call.args[0]) >= MAX_BYTES * 4
            ):
                yield HUGE.at(call.lineno, "keeps more than the sandbox's memory", call.col_offset + 1)


def _writes_files(program: Program, loop: ast.AST) -> bool:
    inside = {id(node) for node in ast.walk(loop)}
    return any(
        id(call.node) in inside
        and call.name == "open"
        and any("w" in as_text(mode) for mode in call.argument(1, "mode"))
        for call in program.calls
    )


def _size(program: Program, expr: ast.expr) -> int:
    """Bytes that a piece made by repetition or of a given size takes; 8 for anything else."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
        numbers = [v for side in (expr.left, expr.right) for v in program.values(side) if isinstance(v, int)]
        lists = isinstance(expr.left, ast.List) or isinstance(expr.right, ast.List)
        return max(numbers, default=1) * (8 if lists else 1)
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id in ("bytearray", "bytes"):
        return max((value for arg in expr.args for value in program.values(arg) if isinstance(value, int)), default=8)
    if isinstance(expr, ast.Call) and any(isinstance(value, Local) for value in program.values(expr.func)):
        return 64
    shapes = [
        values for call in program.calls if call.node is expr and _SHAPED.match(call.name) for values in call.args
    ]
    return max((_product(value) * 8 for values in shapes for value in values), default=8)


_SHAPED = re.compile(r"^(?:numpy|torch)\.(?:zeros|ones|empty|full|eye|rand|randn|random\.rand\w*)$")


def _overrun(program: Program) -> Iterator[Finding]:
    for node in program.nodes(ast.For):
        if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name):
            continue
        ends = list(range_sizes(program, node.iter))
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
