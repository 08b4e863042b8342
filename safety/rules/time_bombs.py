"""Time bombs: programs that do harm, or stop working, from a day on that stands in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Program
from safety.python_values import Ref
from safety.rules.rule import Rule
from safety.shell_script import Script
from safety.verdicts import Finding

BOMB = Rule(
    "tampering.time-bomb",
    "ask",
    "nothing",
    "From a day on that stands in the code, it stops working or does something else.",
    bad=(
        "import datetime, sys\ndef f(x):\n    if datetime.date.today() > datetime.date(2026, 1, 1):\n"
        "        sys.exit(1)\n    return x",
        "#!bash\nif [ $(date +%Y%m%d) -gt 20260101 ]; then rm -rf data; fi",
    ),
    good=(
        "import datetime\nif datetime.date.today() > datetime.date(2026, 1, 1):\n    print('happy new year')",
        "#!bash\nif [ $(date +%H) -gt 12 ]; then echo afternoon; fi",
    ),
)
RULES = (BOMB,)
_NOW = re.compile(
    r"^(?:datetime\.(?:datetime\.(?:now|today|utcnow)|date\.today)|time\.(?:time|localtime|gmtime|strftime))\(\)"
)
_HARMS = re.compile(
    r"(?:^|\.)(?:exit|_exit|quit|abort|remove|unlink|rmtree|rmdir|kill|system|popen|truncate|removedirs|terminate)$"
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for node in program.nodes(ast.If):
        if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
            continue
        sides = (node.test.left, *node.test.comparators)
        now = any(isinstance(value, Ref) and _NOW.match(value.name) for side in sides for value in program.values(side))
        if now and any(_is_day(side) for side in sides) and any(_harms(part) for part in _parts(node.body)):
            yield BOMB.at(node.lineno, "stops or destroys something from a day on", node.col_offset + 1)


def _parts(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)


def _is_day(expr: ast.expr) -> bool:
    """`date(2026, 1, 1)`, `"2026-01-01"`, a time in seconds."""
    if isinstance(expr, ast.Call):
        numbers = [arg.value for arg in expr.args if isinstance(arg, ast.Constant)]
        text = any(isinstance(number, str) and re.match(r"\d{4}-?\d\d", number) for number in numbers)
        return text or (len(numbers) >= 3 and isinstance(numbers[0], int) and 1990 < numbers[0] < 2200)
    value = expr.value if isinstance(expr, ast.Constant) else None
    if isinstance(value, str):
        return re.match(r"^\d{4}-?\d\d-?\d\d", value) is not None
    return isinstance(value, (int, float)) and 10**9 < value < 10**10


def _harms(part: ast.AST) -> bool:
    if isinstance(part, ast.Raise):
        return True
    return isinstance(part, ast.Call) and _HARMS.search(ast.unparse(part.func)) is not None


_SHELL_DAY = re.compile(
    r"\b(?:if|while|\[\[?|test|\(\()[^\n;]{0,40}\$\(date [^)\n]{0,40}(?:%Y|%s|%F)[^)\n]{0,20}\)[^\n;]{0,12}"
    r"(?:-g[te]|-eq|==?|>)[^\n;]{0,6}\d{4}"
)
_SHELL_HARM = re.compile(r"(?:^|\s|;|&)(?:rm|exit|kill|shred|dd|halt|mv)\s")


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    text = script.code[:20_000]
    found = _SHELL_DAY.search(text)
    if found and _SHELL_HARM.search(text[found.end() : found.end() + 400]):
        yield BOMB.at(text.count("\n", 0, found.start()) + 1, "stops or destroys something from a day on")
