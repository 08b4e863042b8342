"""A Python program read without running it: its calls, and what their names and arguments may be."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from safety.clock import Clock
from safety.python_evaluator import Evaluator
from safety.python_values import (
    UNKNOWN,
    Ref,
    Table,
    Value,
    Values,
    words,
)

MAX_STEPS = 16_000
"""Evaluations for one program: past it the rest is unknown, and the program says so."""
_LEAVERS = words("input exit quit _exit get recv accept wait read readline")
_DECODES = re.compile(r"decode|decompress|decrypt|unhexlify|a2b_|fromhex|^marshal\.")


class BrokenSyntaxError(Exception):
    """The text is not a Python program."""


@dataclass(frozen=True)
class Call:
    """One call, with all that its callee and its arguments may be."""

    node: ast.Call
    name: str
    """Where the callee comes from: `os.system`, `requests.Session().get`; `?.kill` of something unknown."""
    receiver: Value
    args: tuple[Values, ...]
    keywords: dict[str, Values]

    @property
    def line(self) -> int:
        """From 1."""
        return self.node.lineno

    @property
    def column(self) -> int:
        """From 1."""
        return self.node.col_offset + 1

    def argument(self, place: int, *names: str) -> Values:
        """What the argument at a place, or of a name, may be; unknown where there is none."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return self.args[place] if 0 <= place < len(self.args) else (UNKNOWN,)

    def given(self, place: int, *names: str) -> bool:
        """Whether the argument is there."""
        return any(name in self.keywords for name in names) or 0 <= place < len(self.args)


class Program(Evaluator):
    """A parsed program. Raises `BrokenSyntaxError`."""

    def __init__(self, code: str, max_steps: int = MAX_STEPS, clock: Clock | None = None) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise BrokenSyntaxError(str(error).replace("<unknown>, ", "") or type(error).__name__) from error
        self.code = code
        super().__init__(tree, max_steps, clock or Clock())

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Every call, once for each thing that the callee may be."""
        found: list[Call] = []
        for count, node in enumerate(self.names.calls):
            if count % 64 == 0 and self.clock.is_over:
                self.steps = self.max_steps + 1
                break
            found.extend(self._call(node))
        return tuple(found)

    @cached_property
    def decodes(self) -> bool:
        """Whether anything is decoded, decompressed or decrypted."""
        return any(_DECODES.search(call.name) for call in self.calls)

    @cached_property
    def leaving_functions(self) -> frozenset[str]:
        """Names of the block's functions that may raise, wait for something, or end the program."""
        names: set[str] = set()
        for kind in (ast.Raise, ast.Await, ast.Call):
            for node in self.names.nodes.get(kind, ()):
                if isinstance(node, ast.Call):
                    last = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                    if last not in _LEAVERS:
                        continue
                at: ast.AST | None = node
                while at is not None:
                    if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        names.add(at.name)
                    at = self.parent(at)
        return frozenset(names)

    @cached_property
    def environ_names(self) -> frozenset[str]:
        """The names that may stand for `os.environ`."""
        names = {
            name for (_, name), binds in self.names.binds.items() for bind in binds if bind.value == Ref("os.environ")
        }
        for node in self.names.nodes.get(ast.Assign, ()):
            assert isinstance(node, ast.Assign)
            if isinstance(node.value, ast.Attribute) and node.value.attr == "environ":
                names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        return frozenset(names)

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """The nodes of these kinds, in the order of the text for each kind."""
        for kind in kinds:
            yield from self.names.nodes.get(kind, ())

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around this one."""
        return self.names.parents.get(id(node))

    def _call(self, node: ast.Call) -> Iterator[Call]:
        args = tuple(self.values(argument) for argument in node.args)
        keywords = {word.arg: self.values(word.value) for word in node.keywords if word.arg}
        for word in node.keywords:
            if word.arg is None:
                for value in self.values(word.value):
                    if isinstance(value, Table):
                        keywords.update({str(key): (item,) for key, item in value.items})
        seen: set[str] = set()
        receivers = self.values(node.func.value) if isinstance(node.func, ast.Attribute) else (UNKNOWN,)
        for callee in self.values(node.func):
            if isinstance(callee, Ref) and callee.name not in seen:
                seen.add(callee.name)
                text = next(
                    (value for value in receivers if isinstance(value, Ref) and value.text is not None), receivers[0]
                )
                yield Call(node, callee.name, text, args, keywords)
        if not seen and isinstance(node.func, ast.Attribute):
            yield Call(node, "?." + node.func.attr, receivers[0], args, keywords)
