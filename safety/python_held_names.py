"""What the names of a Python program may hold: what is assigned, given to parameters, and handed over."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator

from safety import python_folding as folding
from safety.clock import Clock
from safety.python_names import Bind, Function, Names, Scope
from safety.python_operators import MAX_OPTIONS, distinct, take_step
from safety.python_values import UNKNOWN, Ref, Value, Values, canonical, ref

_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)


class HeldNames(ABC):
    """All that the names of one program may hold."""

    def __init__(self, tree: ast.Module, max_steps: int, clock: Clock) -> None:
        self.tree, self.clock = tree, clock
        self.max_steps = max_steps
        self.names = Names(tree)
        self.steps = 0
        self._draft: dict[int, Values] = {}
        self._draft_names: dict[tuple[int, str], tuple[Values, set[tuple[int, str]]]] = {}
        self._names: dict[tuple[int, str], Values] = {}
        self._partial: dict[tuple[int, str], list[Value]] = {}
        self._leans_on: set[tuple[int, str]] = set()

    @abstractmethod
    def values(self, expr: ast.expr, local: dict[str, Value] | None = None, depth: int = 0) -> Values:
        """All that an expression may be."""

    def function(self, node: ast.AST) -> Scope:
        """The function, class or module that a node stands in."""
        return self.names.scopes.get(id(node), self.tree)

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
        for option in self.names.options.get(name, ()) if not isinstance(function, ast.Lambda) else ():
            # `@click.option("--name", default=...)`
            if option.expr is not None and getattr(function, "decorator_list", None):
                return self.values(option.expr, None, depth)
        if place < 0:
            for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
                if argument.arg == name and default is not None:
                    return self.values(default, None, depth)
            return ()
        at = place - (len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults))
        return self.values(arguments.defaults[at], None, depth) if 0 <= at < len(arguments.defaults) else ()
