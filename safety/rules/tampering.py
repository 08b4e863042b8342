"""Tampering: results, tests, records and traces that are made to look other than they are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from safety.python_program import Call, Program
from safety.python_values import HOLE
from safety.rules import time_bombs
from safety.rules.rule import Rule
from safety.shell_command import Command
from safety.shell_script import Script
from safety.verdicts import Finding

FIGURE = Rule(
    "tampering.figure",
    "ask",
    "nothing",
    "A measure is lifted to a good value, or given without having been taken.",
    bad=("def accuracy(a, b):\n    return max(sum(a) / len(b), 0.95)", "def f1_score(y, p):\n    return 0.99"),
    good=("def accuracy(a, b):\n    return max(sum(a) / len(b), 0.0)", "def limit(x):\n    return max(x, 0.95)"),
)
FAILS_OPEN = Rule(
    "tampering.fails-open",
    "ask",
    "credentials",
    "A check that breaks down counts as passed.",
    bad=("def verify_token(t):\n    try:\n        return check(t)\n    except Exception:\n        return True",),
    good=("def verify_token(t):\n    try:\n        return check(t)\n    except Exception:\n        return False",),
)
TESTS = Rule(
    "tampering.tests",
    "ask",
    "nothing",
    "Tests are changed so that they no longer test.",
    bad=(
        "#!bash\nsed -i 's/assert .*/pass/' tests/test_a.py",
        "#!bash\nsed -i 's/exit 1/exit 0/' check.sh",
        "#!bash\nsed -i 's/return False/return True/' auth.py",
    ),
    good=("#!bash\nsed -i 's/old_name/new_name/' tests/test_a.py", "#!bash\nsed 's/assert/check/' a.txt"),
)
HISTORY = Rule(
    "tampering.history",
    "ask",
    "files outside the workspace",
    "Commits that others rely on are rewritten or thrown away for good.",
    bad=("#!bash\ngit filter-branch --all", "#!bash\ngit reflog expire --expire=now --all", "#!bash\nrm -rf .git"),
    good=("#!bash\ngit commit --amend -m x", "#!bash\ngit gc", "#!bash\ngit branch -d done"),
)
TRACES = Rule(
    "tampering.traces",
    "ask",
    "host",
    "It removes itself, or gives a file a time that is not its own: nobody shall see what was done.",
    bad=(
        "import os\nos.remove(__file__)",
        "import os\nos.utime('a', (0, 0))",
        '#!bash\nrm -f -- "$0"',
        "#!bash\ntouch -r old.txt new.txt",
    ),
    good=("import os\nos.utime('a')", "#!bash\nrm -f a.txt", "#!bash\ntouch a.txt"),
)
RULES = (FIGURE, FAILS_OPEN, TESTS, HISTORY, TRACES, *time_bombs.RULES)

_MEASURE = re.compile(
    r"(?:^|_)(?:accuracy|precision|recall|f1|auc|roc|r2|score|metric|coverage|pass_rate|uptime|evaluate|benchmark)(?:_|$)"
)
_CHECK = re.compile(
    r"(?:^|_)(?:verify|verified|validate|authenticate|authori[sz]e|check|is_valid|is_allowed|allowed|permitted|login)(?:_|$)"
)
_OF_TRUST = re.compile(
    r"auth|login|sign|token|passw|perm|access|cert|licen[cs]e|admin|user|payment|session|role|right|credential|integrity|checksum"
)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    for node in program.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if _MEASURE.search(node.name):
                yield from _figure(node)
            if _CHECK.search(node.name) and _OF_TRUST.search(node.name):
                yield from _fails_open(node)
    for call in program.calls:
        yield from _traces(program, call)
    yield from time_bombs.python(program)


def _figure(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
    returns = [part for part in ast.walk(function) if isinstance(part, ast.Return) and part.value is not None]
    given = len(function.args.args) > (1 if function.args.args[:1] and function.args.args[0].arg == "self" else 0)
    for part in returns:
        value = part.value
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "round" and value.args:
            value = value.args[0]
        lifted = isinstance(value, ast.Call) and getattr(value.func, "id", getattr(value.func, "attr", "")) == "max"
        floors = value.args if isinstance(value, ast.Call) and lifted else []
        invented = len(returns) == 1 and given and _is_good(value)
        if invented or any(_is_good(floor) for floor in floors):
            yield FIGURE.at(part.lineno, f"{function.name} gives a figure that was not measured", part.col_offset + 1)


def _is_good(expr: ast.expr | None) -> bool:
    """A share between a half and the whole, or per cents of that kind."""
    value = expr.value if isinstance(expr, ast.Constant) else None
    return isinstance(value, float) and (0.5 < value < 1 or 50 < value < 100)


def _fails_open(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
    for part in ast.walk(function):
        if isinstance(part, ast.ExceptHandler):
            for inner in ast.walk(part):
                true = isinstance(inner, ast.Return) and isinstance(inner.value, ast.Constant)
                if isinstance(inner, ast.Return) and true and getattr(inner.value, "value", None) is True:
                    yield FAILS_OPEN.at(
                        inner.lineno, f"{function.name} lets everybody through when it fails", inner.col_offset + 1
                    )


def _traces(program: Program, call: Call) -> Iterator[Finding]:
    removes = re.search(r"^os\.(?:remove|unlink)$|\.unlink$", call.name) is not None
    if removes and any(isinstance(part, ast.Name) and part.id == "__file__" for part in ast.walk(call.node)):
        yield TRACES.at(call.line, "removes itself", call.column)
    elif call.name == "os.utime" and any(
        isinstance(value, tuple) and value and all(isinstance(item, (int, float)) for item in value)
        for value in call.argument(1, "times", "ns")
    ):
        yield TRACES.at(call.line, "gives a file a time that is not its own", call.column)
    elif call.name == "shutil.rmtree" and any(_is_history(text) for text in program.texts(call.argument(0, "path"))):
        yield HISTORY.at(call.line, "throws the history of a repository away", call.column)


def _is_history(path: str) -> bool:
    return path.rstrip("/").rsplit("/", 1)[-1] == ".git"


def shell(script: Script) -> Iterator[Finding]:
    """Findings in a shell script."""
    for command in script.commands:
        yield from _command(script, command)
    yield from time_bombs.shell(script)


_WEAKENS = re.compile(
    r"\bassert|\bexpect\(|raise\b|fail|exit\s+1|return\s+1|@pytest|@unittest|skip"
    r"|pytest|\btests?\b|return\s+False|deny|reject|forbid",
    re.IGNORECASE,
)
_CHECKS = re.compile(
    r"(?:^|/)tests?(?:/|_)|_test\.|\.test\.|(?:^|/)(?:check|verify|ci|auth|login|perm|secur|polic|access)[\w-]*\.|spec\."
    r"|\.github/|gitlab-ci|Jenkinsfile|azure-pipelines|\.circleci"
)
_SELF = re.compile(r"\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?(?![\w])")


def _command(script: Script, command: Command) -> Iterator[Finding]:
    name, line, column = command.name, command.line, command.column
    if name in ("sed", "perl") and any(re.match(r"-[a-z]*i", arg) for arg in command.args):
        spoken = [word for word in command.args if not word.startswith("-")]
        if spoken and _WEAKENS.search(spoken[0]) and any(_CHECKS.search(word) for word in spoken[1:]):
            yield TESTS.at(line, "changes what tests check", column)
    elif name == "git":
        yield from _git(command)
    elif name in ("rm", "shred", "unlink"):
        if any(_is_history(word) for word in command.words):
            yield HISTORY.at(line, "throws the history of a repository away", column)
        elif any(
            word.rstrip("/").rsplit("/", 1)[-1] in ("test", "tests", "spec", "__tests__") for word in command.words
        ):
            yield TESTS.at(line, "throws tests away", column)
        elif _SELF.search(_source(script, command)) and all(HOLE in word for word in command.words):
            yield TRACES.at(line, "removes itself", column)
    elif name == "touch" and command.has("-r", "-d", "-t", "--reference", "--date"):
        yield TRACES.at(line, "gives a file a time that is not its own", column)


def _source(script: Script, command: Command) -> str:
    rest = script.lines[command.line - 1][command.column - 1 :] if 0 < command.line <= len(script.lines) else ""
    return re.split(r"[;|&]", rest[:400], maxsplit=1)[0]


def _git(command: Command) -> Iterator[Finding]:
    words = list(command.words)
    what = words[0] if words else ""
    rewrites = (
        what in ("filter-branch", "filter-repo")
        or (what == "reflog" and words[1:2] in (["expire"], ["delete"]))
        or (what == "gc" and "--prune=now" in command.args)
        or (what == "update-ref" and command.has("-d"))
        or (what == "push" and command.has("-f", "--force", "--mirror", "--delete"))
    )
    if what == "rm" and any(word.rstrip("/") in ("test", "tests", "spec", "__tests__") for word in words[1:]):
        yield TESTS.at(command.line, "throws tests away", command.column)
    if rewrites:
        yield HISTORY.at(command.line, f"git {what} throws commits away", command.column)
