"""Checks that do not check: open doors, patterns that let too much through or never end, numbers that wrap round."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import Table
from safety.rules.rule import Rule
from safety.verdicts import Finding

OPEN = Rule(
    "logic.open-door",
    "ask",
    "credentials",
    "A check of who somebody is lets everybody in, or compares with a secret that stands in the code.",
    bad=(
        "def is_admin(user):\n    return True",
        "def login(name, password):\n    return password == 'letmein'",
    ),
    good=(
        "def is_admin(user):\n    return user.role == 'admin'",
        "def is_prime(n):\n    return True",
        "def confirm(password, again):\n    return password == again",
    ),
)
DEFAULT = Rule(
    "logic.no-default",
    "ask",
    "nothing",
    "Rights or security are decided case by case, and for any other case nothing is decided.",
    bad=(
        "def level(role):\n    match role:\n        case 'admin':\n            return 9\n"
        "        case 'user':\n            return 1",
    ),
    good=(
        "def level(role):\n    match role:\n        case 'admin':\n            return 9\n"
        "        case _:\n            return 0",
        "def area(shape):\n    match shape:\n        case 'square':\n            return 4",
    ),
)
PATTERN = Rule(
    "logic.pattern",
    "ask",
    "nothing",
    "The pattern lets more through than it names, or can take for ever on a short text.",
    bad=(
        "import re\nre.match(r'^(a+)+$', 'aaaa')",
        "import re\ndef valid(ip):\n    return bool(re.match(r'\\d+.\\d+.\\d+.\\d+', ip))",
        "import re\nre.compile(r'([a-z]+)*@')",
    ),
    good=(
        "import re\nre.match(r'^(ab+)$', 'ab')",
        "import re\ndef valid(ip):\n    return bool(re.fullmatch(r'\\d+\\.\\d+', ip))",
        "import re\nre.findall(r'\\d+\\.?\\d*', 'a 1.5')",
    ),
)
WRAPS = Rule(
    "logic.wraps",
    "ask",
    "nothing",
    "The number does not fit into the type, and silently becomes another one.",
    bad=("import ctypes\nctypes.c_int8(200)", "import numpy as np\nnp.int8(300)"),
    good=("import ctypes\nctypes.c_uint8(200)", "import numpy as np\nnp.int8(100)"),
)
RULES = (OPEN, DEFAULT, PATTERN, WRAPS)

_GUARD = re.compile(
    r"^(?:_*is_?(?:admin|auth\w*|allowed|logged_?in|owner|permitted|valid_(?:user|token|login|session))|_*(?:check|has|verify|validate)_?(?:auth\w*"
    r"|admin|perm\w*|access|password|credentials?|login|token|user|rights?|role|session|signature|privileges?)"
    r"|_*(?:authenticate|authorize|authorise|login|log_in|sign_in)(?:_\w+)?)$",
    re.IGNORECASE,
)
_RIGHTS = re.compile(
    r"role|access|permi|privileg|security|auth|admin|right|clearance|credential|login|firewall|sensitiv", re.IGNORECASE
)
_SECRET = re.compile(r"passw|passwd|\bpw\b|\bpin\b|secret|token|api_?key|credential|passcode", re.IGNORECASE)
_LOOSE_DOT = re.compile(r"(?:\\d|\[0-9\])(?:\+|\*|\{\d+(?:,\d*)?\})?\)?\.\(?(?:\?:)?(?:\[0-9\]|\\d)")
_NESTED = re.compile(
    r"\((?:\?:)?(?:\\[wdsWDS]|\[[^\]\\]{1,40}\]|[\w.]|\([\w\[\]\-]+\))[+*](?:\\s[*?]|\s\?|\?)?\)(?:[+*]|\{\d+,\})|\((?:\?:)?(\w)\|\1\??\)[+*]"
)
_WIDTHS = re.compile(r"^(?:ctypes\.c_|numpy\.)(u?)int(8|16|32|64)$|^ctypes\.c_(u?)(byte|short|int)$")
_BITS = {"byte": 8, "short": 16, "int": 32}


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for node in program.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _GUARD.match(node.name):
            yield from _guard(program, node)
            yield from _backdoor(node)
    for match in program.nodes(ast.Match):
        if isinstance(match, ast.Match):
            yield from _match(program, match)
    for call in program.calls:
        if re.match(r"^(?:re|regex)\.(?:compile|match|search|fullmatch|findall|finditer|sub|split)$", call.name):
            yield from _pattern(call)
        elif _WIDTHS.match(call.name):
            yield from _wraps(call)


def _guard(program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
    body = [
        part
        for part in function.body
        if not (isinstance(part, ast.Expr) and isinstance(part.value, (ast.Constant, ast.Call)))
    ]
    only = body[0] if len(body) == 1 else None
    if isinstance(only, ast.Return) and isinstance(only.value, ast.Constant) and only.value.value is True:
        yield OPEN.at(function.lineno, f"{function.name} lets everybody in", function.col_offset + 1)
        return
    for node in ast.walk(function):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq):
            continue
        for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            name = getattr(side, "id", getattr(side, "attr", ""))
            tables = [value for part in ast.walk(other) if isinstance(part, ast.Name) for value in program.values(part)]
            if _SECRET.search(name) and any(isinstance(value, Table) and _holds_texts(value) for value in tables):
                yield OPEN.at(node.lineno, "compares with secrets that stand in the code", node.col_offset + 1)
                return
            known = any(isinstance(value, str) and 0 < len(value) < 60 for value in program.values(other))
            plain = isinstance(other, (ast.Constant, ast.Name))
            if _SECRET.search(name) and plain and known and not _is_parameter(function, other):
                yield OPEN.at(node.lineno, "compares with a secret that stands in the code", node.col_offset + 1)
                return


def _backdoor(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
    """`if headers.get("X-Debug") == "1": return True`."""
    for node in ast.walk(function):
        test = node.test if isinstance(node, ast.If) else None
        compares = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)
        if not isinstance(node, ast.If) or not isinstance(test, ast.Compare) or not compares:
            continue
        left, right = test.left, test.comparators[0]
        source = ast.unparse(left)
        lets_in = isinstance(node.body[0], ast.Return) and getattr(node.body[0].value, "value", None) is True
        sent = re.search(r"headers|cookies|\bargs\b|environ|getenv|query|params", source) is not None
        if lets_in and sent and isinstance(right, ast.Constant) and isinstance(right.value, str):
            yield OPEN.at(node.lineno, "lets in whoever sends a word that stands in the code", node.col_offset + 1)


def _holds_texts(table: Table) -> bool:
    return bool(table.items) and all(isinstance(value, str) for _, value in table.items)


def _is_parameter(function: ast.FunctionDef | ast.AsyncFunctionDef, expr: ast.expr) -> bool:
    return isinstance(expr, ast.Name) and any(argument.arg == expr.id for argument in function.args.args)


def _match(program: Program, match: ast.Match) -> Iterator[Finding]:
    for case in match.cases:
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None:
            return
    function = program.function(match)
    about = f"{getattr(function, 'name', '')} {ast.unparse(match.subject)}"
    if _RIGHTS.search(about):
        yield DEFAULT.at(match.lineno, "decides about rights with no default", match.col_offset + 1)


def _pattern(call: Call) -> Iterator[Finding]:
    for value in call.argument(0, "pattern"):
        if isinstance(value, str) and len(value) < 500:
            if _NESTED.search(value):
                yield PATTERN.at(
                    call.line, "a repeated part holds another repetition: it can take for ever", call.column
                )
            elif _LOOSE_DOT.search(value):
                yield PATTERN.at(call.line, "a dot between digits stands for any character", call.column)


def _wraps(call: Call) -> Iterator[Finding]:
    found = _WIDTHS.match(call.name)
    if found is None:
        return
    unsigned = bool(found[1] or found[3])
    bits = int(found[2]) if found[2] else _BITS[found[4]]
    low, high = (0, 2**bits) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    if any(isinstance(value, int) and not low <= value < high for value in call.argument(0, "value")):
        yield WRAPS.at(call.line, f"the number does not fit into {bits} bits", call.column)
