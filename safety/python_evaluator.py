"""What the expressions of a Python program may be, worked out without running it."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable

from safety import python_folding as folding
from safety.clock import Clock
from safety.python_call_results import OWN, CallResults
from safety.python_operators import MAX_OPTIONS, capped, distinct, negate, operate, path_attribute, slice_of
from safety.python_values import (
    HOLE,
    MAX_ITEMS,
    MAX_TEXT,
    UNKNOWN,
    Local,
    Ref,
    Table,
    Unknown,
    Value,
    Values,
    as_text,
    canonical,
    ref,
)

MAX_WRITTEN_OUT = 3_000
"""Elements of comprehensions that are worked out one by one, for one program."""
MAX_DEPTH = 100


class Evaluator(CallResults):
    """All that the expressions of one program may be, within a number of steps and a time."""

    def __init__(self, tree: ast.Module, max_steps: int, clock: Clock) -> None:
        super().__init__(tree, max_steps, clock)
        self._written_out = 0
        self._memo: dict[int, Values] = {}
        self._busy: set[int] = set()

    @property
    def exhausted(self) -> bool:
        """Whether the program was too tangled to be followed to its end."""
        return self.steps > self.max_steps

    def values(self, expr: ast.expr, local: dict[str, Value] | None = None, depth: int = 0) -> Values:
        """All that an expression may be."""
        if local is None:
            if isinstance(expr, ast.Constant):
                return self._evaluate(expr, None, depth)
            known = self._memo.get(id(expr)) or self._draft.get(id(expr))
            if known is not None:
                return known
            if isinstance(expr, ast.Name) and not self.exhausted:
                self.steps += 1
                if self.steps % 64 == 0 and self.clock.is_over:
                    self.steps = self.max_steps + 1
                return self._name(expr.id, self.names.scopes.get(id(expr), self.tree), depth)
        self.steps += 1
        if self.steps % 64 == 0 and self.clock.is_over:
            self.steps = self.max_steps + 1
        if depth > MAX_DEPTH:
            self.steps = self.max_steps + 1
        if self.exhausted or id(expr) in self._busy:
            return (UNKNOWN,)
        outer, self._leans_on = self._leans_on, set()
        self._busy.add(id(expr))
        try:
            found = distinct(self._evaluate(expr, local, depth + 1))
        except RecursionError:
            self.steps = self.max_steps + 1
            found = (UNKNOWN,)
        finally:
            self._busy.discard(id(expr))
        if local is None:
            # What leans on a name that is still being worked out holds only until that is done.
            (self._draft if self._leans_on else self._memo)[id(expr)] = found
        self._leans_on |= outer
        return found

    def texts(self, values: Values) -> tuple[str, ...]:
        """The values as texts, holes for what is not known."""
        return tuple(as_text(value) for value in values)

    def _evaluate(self, expr: ast.expr, local: dict[str, Value] | None, depth: int) -> Values:
        if isinstance(expr, ast.Constant):
            return (expr.value if isinstance(expr.value, (str, bytes, int, float)) or expr.value is None else UNKNOWN,)
        if isinstance(expr, ast.Name):
            if local is not None and expr.id in local:
                return (local[expr.id],)
            return self._name(expr.id, self.names.scopes.get(id(expr), self.tree), depth)
        if isinstance(expr, ast.Attribute):
            return tuple(self._attribute(self.values(expr.value, local, depth), expr.attr, depth))
        if isinstance(expr, ast.Call):
            return tuple(self._result(expr, local, depth))
        if isinstance(expr, ast.JoinedStr):
            parts = [self._piece(part, local, depth) for part in expr.values]
            return tuple(capped("".join(texts)[:MAX_TEXT] for texts in itertools.product(*parts)))
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
            return self._sum(expr, local, depth)
        if isinstance(expr, ast.BinOp):
            pairs = itertools.product(self.values(expr.left, local, depth), self.values(expr.right, local, depth))
            return tuple(capped((operate(expr.op, left, right) for left, right in pairs), MAX_OPTIONS * 4))
        if isinstance(expr, (ast.Tuple, ast.List, ast.Set)):
            items = [self.values(item, local, depth) for item in expr.elts[:MAX_ITEMS]]
            options = itertools.product(*items) if len(items) < 12 else iter([tuple(values[0] for values in items)])
            return tuple(capped(tuple(option) for option in options))
        if isinstance(expr, ast.Dict):
            pairs_ = zip(expr.keys[:MAX_ITEMS], expr.values[:MAX_ITEMS], strict=True)
            return (
                Table(
                    tuple((self.values(k, local, depth)[0], self.values(v, local, depth)[0]) for k, v in pairs_ if k)
                ),
            )
        if isinstance(expr, ast.IfExp):
            return (*self.values(expr.body, local, depth), *self.values(expr.orelse, local, depth))
        if isinstance(expr, ast.BoolOp):
            return tuple(value for item in expr.values for value in self.values(item, local, depth))
        if isinstance(expr, ast.Subscript):
            return tuple(self._subscript(expr, local, depth))
        if isinstance(expr, ast.UnaryOp):
            return tuple(negate(expr.op, value) for value in self.values(expr.operand, local, depth))
        if isinstance(expr, (ast.Starred, ast.Await, ast.NamedExpr)):
            return self.values(expr.value, local, depth)
        if isinstance(expr, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._comprehension(expr, local, depth)
        if isinstance(expr, ast.Lambda):
            return (Local(expr),)
        return (UNKNOWN,)

    def _sum(self, expr: ast.BinOp, local: dict[str, Value] | None, depth: int) -> Values:
        """A chain of `+`, without going deeper for each of them."""
        parts: list[ast.expr] = []
        at: ast.expr = expr
        while isinstance(at, ast.BinOp) and isinstance(at.op, ast.Add):
            parts.append(at.right)
            at = at.left
        total = self.values(at, local, depth)
        for part in reversed(parts):
            pairs = itertools.product(total, self.values(part, local, depth))
            total = distinct(capped((operate(expr.op, left, right) for left, right in pairs), MAX_OPTIONS * 4))
        return total

    def _piece(self, part: ast.expr, local: dict[str, Value] | None, depth: int) -> tuple[str, ...]:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        return tuple(as_text(value) for value in self.values(inner, local, depth))

    def _attribute(self, bases: Values, name: str, depth: int) -> Iterable[Value]:
        for base in bases:
            options = self.names.options.get(name) if isinstance(base, Ref) and _OPTIONS.search(base.name) else None
            if options:
                yield from self._bound((0, "--" + name), options, depth)
            elif isinstance(base, Ref) and not base.name.startswith(OWN):
                whole = canonical(f"{base.name}.{name}")
                if base.text is not None:
                    yield from path_attribute(base, name)
                elif whole in folding.CONSTANTS:
                    yield folding.CONSTANTS[whole]
                else:
                    yield ref(whole)
            elif isinstance(base, (Unknown, Ref, Local)):
                binds = self.names.attributes.get(name)
                if binds:
                    yield from self._bound((0, "." + name), binds, depth)
                else:
                    yield Ref("?." + name)
            elif isinstance(base, (str, bytes)) and HOLE in as_text(base):
                yield Ref("?." + name)

    def _subscript(self, expr: ast.Subscript, local: dict[str, Value] | None, depth: int) -> Iterable[Value]:
        bases = self.values(expr.value, local, depth)
        if isinstance(expr.slice, ast.Slice):
            given = [expr.slice.lower, expr.slice.upper, expr.slice.step]
            ends = [self.values(end, local, depth)[0] if end else None for end in given]
            numbers = [end if isinstance(end, int) else None for end in ends]
            if numbers != ends or numbers[2] == 0:
                return (UNKNOWN,)
            cut = slice(numbers[0], numbers[1], numbers[2])
            return tuple(base[cut] if isinstance(base, (str, bytes, tuple)) else slice_of(base) for base in bases)
        found: list[Value] = []
        for base, index in itertools.product(bases, self.values(expr.slice, local, depth)):
            if isinstance(base, Ref) and isinstance(index, str) and base.name in _MODULE_TABLES:
                found.extend(self._from_module_table(base.name, index, depth))
            else:
                found.append(folding.item(base, index))
        if isinstance(expr.slice, ast.Constant) and all(isinstance(value, Unknown) for value in found):
            binds = self.names.items.get(str(expr.slice.value))
            if binds:
                found.extend(self._bound((0, f"[{expr.slice.value!r}]"), binds, depth))
        return found

    def _from_module_table(self, table: str, key: str, depth: int) -> Iterable[Value]:
        if table == "sys.modules":
            return (ref(key),)
        if table in ("globals()", "locals()", "vars()"):
            return self._name(key, self.tree, depth)
        return (ref(table.removesuffix(".__dict__").removeprefix("vars(").rstrip(")") + "." + key),)

    def _comprehension(
        self, expr: ast.ListComp | ast.GeneratorExp | ast.SetComp, local: dict[str, Value] | None, depth: int
    ) -> Values:
        first = expr.generators[0]
        source = self.values(first.iter, local, depth)[0]
        items: tuple[Value, ...] | None = None
        if isinstance(source, (str, tuple, bytes)):
            items = tuple(source)
        if items is None or len(expr.generators) > 1 or self._written_out + len(items) > MAX_WRITTEN_OUT or first.ifs:
            return (UNKNOWN,)
        self._written_out += len(items)
        out: list[Value] = []
        for item in items:
            names = dict(local or {})
            if isinstance(first.target, ast.Name):
                names[first.target.id] = item
            elif (
                isinstance(first.target, ast.Tuple) and isinstance(item, tuple) and len(item) == len(first.target.elts)
            ):
                names.update({t.id: v for t, v in zip(first.target.elts, item, strict=True) if isinstance(t, ast.Name)})
            else:
                return (UNKNOWN,)
            out.append(self.values(expr.elt, names, depth)[0])
        return (tuple(out),)


_OPTIONS = re.compile(r"parse_(?:known_|intermixed_)?args\(\)(?:\[0\])?$")
_MODULE_TABLES = (
    "sys.modules",
    "globals()",
    "locals()",
    "vars()",
    "os.__dict__",
    "subprocess.__dict__",
    "builtins.__dict__",
    "__builtins__",
    "__builtins__.__dict__",
    "__dict__",
)
