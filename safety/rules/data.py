"""Data: records that are wiped, falsified or spoilt for those who learn from them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import HOLE, as_text
from safety.rules.rule import Rule
from safety.shell_script import Script
from safety.verdicts import Finding

POISON = Rule(
    "data.poisoned-labels",
    "ask",
    "nothing",
    "The answers that a model learns from, or the values of a data set, are turned round or shuffled on purpose.",
    bad=(
        "from sklearn.svm import SVC\nimport numpy as np\nX, y = np.array([[0], [1]]), np.array([0, 1])\n"
        "bad = 1 - y\nSVC().fit(X, bad)",
        "import numpy as np\ndef train(model, X, y):\n    model.fit(X, np.random.permutation(y))",
        "import random\ndef f(model, X, labels):\n    random.shuffle(labels)\n    model.fit(X, labels)",
        "import pandas as pd\ndf = pd.read_csv('a.csv')\ndf['label'] = 1 - df['label']\ndf.to_csv('a.csv')",
        "import numpy as np\nimport pandas as pd\nd = pd.read_csv('a.csv')\n"
        "d['x'] = np.random.rand(len(d))\nd.to_csv('a.csv')",
    ),
    good=(
        "from sklearn.svm import SVC\nSVC().fit([[0], [1]], [0, 1])",
        "def f(model, X, y):\n    model.fit(X, y - y.mean())",
        "import random\ncards = [1, 2]\nrandom.shuffle(cards)",
        "import numpy as np\nimport pandas as pd\nd = pd.DataFrame({'x': np.random.rand(3)})\nd.to_csv('a.csv')",
    ),
)
WIPE = Rule(
    "data.wipes-table",
    "ask",
    "nothing",
    "Every row of a table that the block did not make is deleted or overwritten.",
    bad=(
        "import sqlite3\nsqlite3.connect('a.db').execute('DELETE FROM orders')",
        "import sqlite3\nsqlite3.connect('a.db').execute(\"UPDATE users SET role = 'admin'\")",
        "#!bash\nsqlite3 a.db 'DROP TABLE customers'",
        "import sqlite3\nc = sqlite3.connect('a.db')\nfor t in input().split():\n    c.execute(f'DROP TABLE {t}')",
    ),
    good=(
        "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('CREATE TABLE t (x)')\nc.execute('DELETE FROM t')",
        "import sqlite3\nsqlite3.connect('a.db').execute('DELETE FROM t WHERE id = 1')",
    ),
)
RULES = (POISON, WIPE)

_LABELS = re.compile(
    r"^(?:y|y_\w+|labels?|\w+_labels?|targets?|\w*_?target|classes|answers|ground_truth)$", re.IGNORECASE
)
_LEARNS = re.compile(r"^(?:sklearn|torch|tensorflow|keras|pandas|xgboost|lightgbm)\.|^numpy\.load|.*\.fit$")
_RANDOM = re.compile(r"^(?:numpy\.random\.|random\.|secrets\.)")
_WIPES = re.compile(
    r"^\s*(?:delete\s+from\s+[\"'`]?(\w+)[\"'`]?\s*;?\s*$|drop\s+(?:table|database|view|schema)\s+(?:if\s+exists\s+)?[\"'`]?([\w\ue000]+)"
    r"|truncate\s+(?:table\s+)?(\w+)|update\s+[\"'`]?(\w+)[\"'`]?\s+set\b(?!.*\bwhere\b))",
    re.IGNORECASE | re.DOTALL,
)
_MAKES = re.compile(
    r"create\s+(?:temp(?:orary)?\s+)?(?:table|database|view)\s+(?:if\s+not\s+exists\s+)?[\"'`]?(\w+)", re.IGNORECASE
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    yield from _turned(program)
    yield from _taught(program)
    yield from _spoilt(program)
    yield from _wiped(program)
    yield from _adversarial(program)


def _column(expr: ast.expr) -> str:
    """The name of a variable, or of the column that a subscript takes."""
    if isinstance(expr, ast.Name):
        return expr.id
    if isinstance(expr, ast.Attribute):
        return expr.attr
    if isinstance(expr, ast.Subscript):
        parts = expr.slice.elts if isinstance(expr.slice, ast.Tuple) else [expr.slice]
        named = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        return named[-1] if named else _column(expr.value)
    return ""


def _turned(program: Program) -> Iterator[Finding]:
    """Labels that are inverted in place or shuffled."""
    for node in program.nodes(ast.Assign):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Subscript):
            continue
        target, value = node.targets[0], node.value
        if not _LABELS.match(_column(target)):
            continue
        swaps = isinstance(value, ast.Call) and getattr(value.func, "attr", "") in ("apply", "map", "replace")
        lambdas = [part for part in ast.walk(value) if isinstance(part, (ast.Lambda, ast.Dict))] if swaps else []
        if _one_minus(value) or _reorders(value) or any(_exchanges(part) for part in lambdas):
            yield POISON.at(node.lineno, "turns the labels of a data set round", node.col_offset + 1)
    learns = any(_LEARNS.match(call.name) for call in program.calls)
    for call in program.calls if learns else ():
        shuffles = call.name in ("random.shuffle", "numpy.random.shuffle") or call.name.endswith("().shuffle")
        if shuffles and call.node.args and _LABELS.match(_column(call.node.args[0])):
            yield POISON.at(call.line, "shuffles labels away from what they belong to", call.column)


def _exchanges(part: ast.AST) -> bool:
    """`lambda v: 1 if v == 0 else 0`, `{0: 1, 1: 0}`."""
    if isinstance(part, ast.Lambda):
        inner = part.body
        if _one_minus(inner):
            return True
        if not isinstance(inner, ast.IfExp) or not isinstance(inner.test, ast.Compare):
            return False
        asked = inner.test.comparators[0]
        values = [side.value for side in (asked, inner.body, inner.orelse) if isinstance(side, ast.Constant)]
        equal = isinstance(inner.test.ops[0], ast.Eq)
        return len(values) == 3 and equal and values[0] == values[2] and values[1] != values[2]
    if isinstance(part, ast.Dict):
        keys = [key.value for key in part.keys if isinstance(key, ast.Constant)]
        values = [value.value for value in part.values if isinstance(value, ast.Constant)]
        return len(keys) > 1 and keys != values and set(map(repr, keys)) == set(map(repr, values))
    return False


def _reorders(expr: ast.expr) -> bool:
    """`y[:9][::-1]`, `np.roll(y, 1)`, `np.random.permutation(y)`."""
    if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Slice):
        step = expr.slice.step
        return isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub)
    return isinstance(expr, ast.Call) and getattr(expr.func, "attr", "") in ("roll", "flip", "flipud", "permutation")


def _one_minus(expr: ast.expr) -> bool:
    return (
        isinstance(expr, ast.BinOp)
        and isinstance(expr.op, ast.Sub)
        and isinstance(expr.left, ast.Constant)
        and expr.left.value == 1
    )


def _taught(program: Program) -> Iterator[Finding]:
    """Models that are taught from labels turned round."""
    trains = any(call.name.endswith((".fit", ".partial_fit")) for call in program.calls)
    for node in program.nodes(ast.Assign):
        if trains and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            value, target = node.value, node.targets[0]
            if _one_minus(value) and isinstance(value, ast.BinOp) and ast.unparse(value.right) == ast.unparse(target):
                yield POISON.at(node.lineno, "turns labels round before a model is taught", node.col_offset + 1)
    for call in program.calls:
        if not call.name.endswith((".fit", ".partial_fit")) or len(call.node.args) < 2:
            continue
        labels = call.node.args[1]
        found = program.names.lookup(labels.id, program.function(labels)) if isinstance(labels, ast.Name) else None
        bound = [bind.expr for bind in (found[1] if found else ())[:4] if bind.expr is not None and not bind.steps]
        if any(_is_turned(expr) for expr in (labels, *bound)):
            yield POISON.at(call.line, "teaches a model from labels that were turned round", call.column)


def _is_turned(expr: ast.expr) -> bool:
    return (
        _one_minus(expr)
        or (isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.Invert))
        or _chooses_other(expr)
        or (isinstance(expr, ast.Call) and getattr(expr.func, "attr", "") in ("permutation", "logical_not"))
    )


def _chooses_other(expr: ast.expr) -> bool:
    """`where(y == 1, 0, 1)`."""
    if not isinstance(expr, ast.Call) or getattr(expr.func, "attr", "") != "where" or len(expr.args) != 3:
        return False
    test, chosen, other = expr.args
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    return ast.unparse(test.comparators[0]) == ast.unparse(other) != ast.unparse(chosen)


def _spoilt(program: Program) -> Iterator[Finding]:
    """Random values that are written over the file that was read."""
    read = {text for call in program.calls if _reads_table(call) for text in program.texts(call.argument(0))}
    written = {text for call in program.calls if _writes_table(call) for text in program.texts(call.argument(0))}
    if not {text for text in read & written if HOLE not in text}:
        return
    for node in program.nodes(ast.Assign, ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if not isinstance(target, (ast.Subscript, ast.Name)) or value is None or not isinstance(node, ast.stmt):
            continue
        inside = {id(part) for part in ast.walk(value)}
        if any(_RANDOM.match(call.name) and id(call.node) in inside for call in program.calls):
            changes = isinstance(target, ast.Subscript) or isinstance(node, ast.AugAssign)
            if changes:
                yield POISON.at(node.lineno, "writes random values over a data set", node.col_offset + 1)
                return


def _reads_table(call: Call) -> bool:
    return call.name in ("numpy.load", "numpy.loadtxt", "numpy.genfromtxt") or call.name.startswith("pandas.read_")


def _writes_table(call: Call) -> bool:
    return call.name in ("numpy.save", "numpy.savetxt") or bool(
        re.search(r"\.to_(?:csv|excel|json|parquet)$", call.name)
    )


def _adversarial(program: Program) -> Iterator[Finding]:
    for call in program.calls:
        if call.name.endswith(
            (".grad.sign", ".grad.data.sign", "?.sign", "torch.sign", "tensorflow.sign")
        ) and _GRADIENT.search(ast.unparse(call.node)):
            yield POISON.at(call.line, "makes inputs that mislead a model, along its gradient", call.column)
        elif call.name.startswith(("art.attacks.", "foolbox.", "cleverhans.", "torchattacks.", "textattack.")):
            yield POISON.at(call.line, "makes inputs that mislead a model", call.column)


_GRADIENT = re.compile(r"grad(?:ient)?s?\b|_grad\b")


def _wiped(program: Program) -> Iterator[Finding]:
    made = {
        name.lower()
        for node in program.nodes(ast.Constant)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for name in _MAKES.findall(node.value[:4000])
    }
    for call in program.calls:
        if call.name.rsplit(".", 1)[-1] not in ("execute", "executescript", "executemany", "text"):
            continue
        for value in call.argument(0, "sql", "statement"):
            if isinstance(value, str) and wipes(value, made):
                yield WIPE.at(call.line, f"changes every row: {as_text(value).strip()[:60]}", call.column)
                break


def wipes(query: str, made: set[str]) -> bool:
    """Whether one of the statements of a query takes or changes all rows of a table that was not made here."""
    for statement in query[:4000].split(";"):
        found = _WIPES.match(statement)
        name = next(name for name in found.groups() if name).lower() if found else ""
        if name and name not in made and not (HOLE in name and made):
            return True
    return False


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    made = {name.lower() for name in _MAKES.findall(script.code[:20_000])}
    for command in script.commands:
        if command.name in ("sqlite3", "duckdb") and any(
            wipes(text, made) for text in (*command.args, command.body or "")
        ):
            yield WIPE.at(command.line, "changes every row of a table", command.column)
        elif command.name == "shuf" and any(re.search(r"label|target|answer|truth", word) for word in command.words):
            yield POISON.at(command.line, "shuffles labels away from what they belong to", command.column)
