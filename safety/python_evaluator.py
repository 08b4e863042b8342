"""What the expressions of a Python program may be, worked out without running it."""

from __future__ import annotations

import ast
import itertools
import warnings
from collections.abc import Iterable, Iterator
from functools import cached_property

from safety import python_folding as folding
from safety.clock import Clock
from safety.python_names import Bind, Function, Names, Scope
from safety.python_operators import MAX_OPTIONS, capped, distinct, negate, operate, path_attribute, slice_of, take_step
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
_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)
_OWN = "own."


class Evaluator:
    """All that the expressions of one program may be, within a number of steps and a time."""

    def __init__(self, tree: ast.Module, max_steps: int, clock: Clock) -> None:
        self.tree, self.clock = tree, clock
        self.max_steps, self._written_out = max_steps, 0
        self.names = Names(tree)
        self.steps = 0
        self._memo: dict[int, Values] = {}
        self._draft: dict[int, Values] = {}
        self._draft_names: dict[tuple[int, str], tuple[Values, set[tuple[int, str]]]] = {}
        self._names: dict[tuple[int, str], Values] = {}
        self._partial: dict[tuple[int, str], list[Value]] = {}
        self._leans_on: set[tuple[int, str]] = set()
        self._busy: set[int] = set()

    @property
    def exhausted(self) -> bool:
        """Whether the program was too tangled to be followed to its end."""
        return self.steps > self.max_steps

    def function(self, node: ast.AST) -> Scope:
        """The function, class or module that a node stands in."""
        return self.names.scopes.get(id(node), self.tree)

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

    def _name(self, name: str, scope: Scope, depth: int) -> Values:
        found = self.names.lookup(name, scope)
        if found is None:
            constant = folding.CONSTANTS.get(name)
            if constant is not None:
                return (constant,)
            if name in _BUILTINS:
                return (Ref(canonical(name)),)
            return tuple(ref(f"{module}.{name}") for module in self.names.stars) or (UNKNOWN,)
        where, binds = found
        return self._bound((where, name), binds, depth)

    def _bound(self, key: tuple[int, str], binds: list[Bind], depth: int) -> Values:
        if key in self._names:
            return self._names[key]
        if key in self._draft_names:
            found, leans_on = self._draft_names[key]
            self._leans_on |= leans_on
            return found
        if key in self._partial:
            self._leans_on.add(key)
            return tuple(self._partial[key][:MAX_OPTIONS]) or (UNKNOWN,)
        collected = self._partial[key] = []
        outer, self._leans_on = self._leans_on, set()
        try:
            for bind in binds[: MAX_OPTIONS * 2]:
                collected.extend(self._bind_values(bind, depth))
                if bind.grows:
                    collected.append(UNKNOWN)
            if len(binds) > MAX_OPTIONS * 2:
                collected.append(UNKNOWN)
        finally:
            del self._partial[key]
            self._leans_on.discard(key)
        found = distinct(collected)
        if not self._leans_on or not self._partial:
            self._names[key] = found
        else:
            self._draft_names[key] = (found, set(self._leans_on))
        if not self._partial:
            self._draft.clear()
            self._draft_names.clear()
        self._leans_on |= outer
        return found

    def _bind_values(self, bind: Bind, depth: int) -> Values:
        if bind.parameter is not None:
            return self._parameter(*bind.parameter, depth=depth)
        if bind.expr is None:
            return (bind.value,)
        values = self.values(bind.expr, None, depth)
        for step in bind.steps:
            values = distinct(taken for value in values for taken in take_step(value, step))
        return values

    def _parameter(self, function: Function, place: int, name: str, depth: int) -> Values:
        """What the calls in the block give to a parameter, and its default."""
        found: list[Value] = []
        owner = self.names.outer.get(id(function))
        method = isinstance(owner, ast.ClassDef)
        own = "" if isinstance(function, ast.Lambda) else function.name
        if method and place == 0:
            return (UNKNOWN,)
        calls = [
            call
            for alias in (own, *self.names.aliases.get(own, ()))
            for call in self.names.calls_by_name.get(alias, ())
        ]
        if own == "__init__" and isinstance(owner, ast.ClassDef):
            calls += self.names.calls_by_name.get(owner.name, [])
        if len(calls) > 24:
            found.append(UNKNOWN)
        for call in calls[:24]:
            shift = place - 1 if method else place
            given = next((word.value for word in call.keywords if word.arg == name), None)
            if given is None and 0 <= shift < len(call.args) and name not in ("*", "**"):
                given = call.args[shift]
            if given is not None and not isinstance(given, ast.Starred):
                found.extend(self.values(given, None, depth))
            elif name == "*":
                found.append(tuple(self.values(argument, None, depth)[0] for argument in call.args[max(0, shift) :]))
        found.extend(self._handed_over(own, place, depth))
        found.extend(self._default(function, place, name, depth))
        return distinct(found)

    def _handed_over(self, own: str, place: int, depth: int) -> Iterator[Value]:
        """`Thread(target=f, args=(x,))`, `pool.submit(f, x)`, `map(f, xs)`."""
        for name in ("Thread", "Process", "Timer"):
            for call in self.names.calls_by_name.get(name, ())[:8]:
                words = {word.arg: word.value for word in call.keywords}
                target, args = words.get("target"), words.get("args")
                if isinstance(target, ast.Name) and target.id == own and args is not None:
                    for value in self.values(args, None, depth):
                        yield from take_step(value, place)
        for name in ("submit", "map", "apply_async", "run_in_executor", "partial", "imap"):
            for call in self.names.calls_by_name.get(name, ())[:8]:
                first = call.args[0] if call.args else None
                if isinstance(first, ast.Name) and first.id == own and len(call.args) > place + 1:
                    for value in self.values(call.args[place + 1], None, depth):
                        if "map" in name:
                            yield from take_step(value, "iter")
                        else:
                            yield value

    def _default(self, function: Function, place: int, name: str, depth: int) -> Values:
        arguments = function.args
        if place < 0:
            for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
                if argument.arg == name and default is not None:
                    return self.values(default, None, depth)
            return ()
        at = place - (len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults))
        return self.values(arguments.defaults[at], None, depth) if 0 <= at < len(arguments.defaults) else ()

    def _attribute(self, bases: Values, name: str, depth: int) -> Iterable[Value]:
        for base in bases:
            if isinstance(base, Ref) and not base.name.startswith(_OWN):
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

    def _result(self, call: ast.Call, local: dict[str, Value] | None, depth: int) -> Iterable[Value]:
        arguments = self._arguments(call, local, depth)
        keywords = {word.arg: self.values(word.value, local, depth)[0] for word in call.keywords if word.arg}
        found: list[Value] = []
        if isinstance(call.func, ast.Attribute):
            for receiver in self.values(call.func.value, local, depth):
                for given in arguments:
                    value = folding.method(receiver, call.func.attr, given, keywords)
                    if value is not None:
                        found.append(value)
        if found:
            return found
        for callee in self.values(call.func, local, depth):
            if isinstance(callee, Local):
                found.extend(self._returned(callee, arguments, depth))
            elif isinstance(callee, Ref):
                found.extend(self._called(callee, call, given, keywords, depth) for given in arguments)
        return found

    def _arguments(self, call: ast.Call, local: dict[str, Value] | None, depth: int) -> list[tuple[Value, ...]]:
        each: list[Values] = []
        for argument in call.args[:64]:
            values = self.values(argument, local, depth)
            if isinstance(argument, ast.Starred) and isinstance(values[0], tuple):
                each.extend((item,) for item in values[0])
            else:
                each.append(values)
        chosen = list(itertools.islice(itertools.product(*each), MAX_OPTIONS * 2 + 1))
        if len(chosen) > MAX_OPTIONS * 2:
            chosen[-1] = (UNKNOWN,) * len(each)
        return chosen

    def _returned(self, callee: Local, arguments: list[tuple[Value, ...]], depth: int) -> Iterable[Value]:
        node = callee.node
        if isinstance(node, ast.ClassDef):
            return (Ref(_OWN + node.name),)
        if isinstance(node, ast.Lambda):
            names = [argument.arg for argument in node.args.args]
            return self.values(node.body, dict(zip(names, arguments[0], strict=False)) if arguments else None, depth)
        found: list[Value] = []
        returns = self._returns.get(id(node), [])
        if len(returns) > MAX_OPTIONS * 2:
            found.append(UNKNOWN)
        for returned in returns[: MAX_OPTIONS * 2]:
            if returned.value is not None:
                found.extend(self.values(returned.value, None, depth))
        return found

    @cached_property
    def _returns(self) -> dict[int, list[ast.Return]]:
        by_function: dict[int, list[ast.Return]] = {}
        for node in self.names.nodes.get(ast.Return, ()):
            assert isinstance(node, ast.Return)
            by_function.setdefault(id(self.function(node)), []).append(node)
        return by_function

    def _called(
        self, callee: Ref, call: ast.Call, given: tuple[Value, ...], keywords: dict[str, Value], depth: int
    ) -> Value:
        name = callee.name
        if name in ("__import__", "importlib.import_module", "import_module") and given:
            return ref(as_text(given[0])) if HOLE not in as_text(given[0]) else UNKNOWN
        if name == "getattr" and len(given) >= 2 and isinstance(given[1], str):
            if isinstance(given[0], Ref):
                return next(iter(self._attribute((given[0],), given[1], depth)), UNKNOWN)
            return Ref("?." + given[1])
        if name in ("operator.attrgetter", "operator.methodcaller", "functools.partial") and given:
            return given[0] if name == "functools.partial" else UNKNOWN
        if name == "vars" and given and isinstance(given[0], Ref):
            return ref(given[0].name + ".__dict__")
        if name in ("eval", "ast.literal_eval") and given and isinstance(given[0], str) and HOLE not in given[0]:
            return self._inner_expression(given[0], depth)
        if name == "zip" and all(isinstance(item, (tuple, str)) for item in given) and given:
            return tuple(zip(*given, strict=False))
        if name == "enumerate" and given and isinstance(given[0], (tuple, str)):
            return tuple(enumerate(given[0]))
        if (
            name == "map"
            and len(given) == 2
            and isinstance(given[0], Ref)
            and isinstance(given[1], (tuple, bytes, str))
        ):
            mapped = tuple(folding.call(given[0].name, (item,)) for item in list(given[1])[:MAX_ITEMS])
            return tuple(UNKNOWN if item is None else item for item in mapped)
        if callee.text is not None and name.startswith("pathlib.Path()."):
            step = name.rsplit(".", 1)[1]
            if step in folding.PATH_STEPS or step in ("iterdir", "glob", "rglob"):
                return Ref("pathlib.Path()", folding.join((callee.text, *given)) if step == "joinpath" else callee.text)
        if name == "open" and given:
            return Ref("open()", as_text(given[0]))
        if name in ("os.environ.get", "os.getenv", "os.environ.pop") and given and given[0] in ("HOME", "USERPROFILE"):
            return "~"
        folded = folding.call(name, given)
        return folded if folded is not None else ref(name + "()")

    def _inner_expression(self, text: str, depth: int) -> Value:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                inner = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return UNKNOWN
        # Kept, so that no later node gets its identity.
        self._inner.append(inner)
        return self.values(inner, {}, depth)[0]

    @cached_property
    def _inner(self) -> list[ast.expr]:
        return []


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
