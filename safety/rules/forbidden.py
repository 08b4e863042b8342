"""Modules that the user forbids: every import of one is denied, the plain one and those by a function."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from safety import notebook
from safety.python_program import BrokenSyntaxError, Program
from safety.python_values import as_text
from safety.rules import inner
from safety.rules.rule import Rule
from safety.shell_script import Script
from safety.verdicts import Finding

FORBIDDEN = Rule(
    "packages.forbidden",
    "deny",
    "packages",
    "sandbox.yaml forbids this module.",
    bad=(),
)
_MAX_INNER = 3
_IMPORTS = frozenset({"__import__", "importlib.import_module", "importlib.__import__", "runpy.run_module"})


def findings(language: str, code: str, modules: Collection[str]) -> tuple[Finding, ...]:
    """What a block imports of the modules that are forbidden, their submodules included, at its lines. Never raises."""
    try:
        return tuple(_findings(language, code, modules, 0))
    except (RecursionError, MemoryError):
        return (FORBIDDEN.at(0, "nested too deep to see what it imports"),)


def _findings(language: str, code: str, modules: Collection[str], level: int) -> Iterator[Finding]:
    if language == "python":
        cells = notebook.split(code)
        plain, shell = cells if cells is not None else (code, ())
        for line, command in shell:
            for finding in _findings("bash", command, modules, level + 1):
                yield finding.model_copy(update={"line": line})
        try:
            program = Program(plain)
        except BrokenSyntaxError:
            return
        yield from _imports(program, modules)
        pieces = inner.python(program)
    elif language in ("bash", "sh"):
        script = Script(code)
        for command_ in script.commands:
            if "-m" in command_.args[:-1]:
                yield from _at([command_.args[command_.args.index("-m") + 1]], modules, command_.line)
        pieces = inner.shell(script)
    else:
        return
    for piece in pieces if level < _MAX_INNER else ():
        for finding in _findings(piece.language, piece.code, modules, level + 1):
            yield finding.model_copy(update={"line": piece.line, "column": 0})


def _imports(program: Program, modules: Collection[str]) -> Iterator[Finding]:
    for node in ast.walk(program.tree):
        if isinstance(node, ast.Import):
            yield from _at([alias.name for alias in node.names], modules, node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from _at([node.module, *(f"{node.module}.{a.name}" for a in node.names)], modules, node.lineno)
    for call in program.calls:
        if call.name in _IMPORTS:
            names = [
                as_text(value) for value in call.argument(0, "name", "mod_name") if isinstance(value, (str, bytes))
            ]
            yield from _at(names, modules, call.line)


def _at(names: Collection[str], modules: Collection[str], line: int) -> Iterator[Finding]:
    for name in names:
        for module in modules:
            if name == module or name.startswith(f"{module}."):
                yield FORBIDDEN.at(line, f"imports {module}, which sandbox.yaml forbids")
                return
