"""What the calls of a Python program may give back, worked out without running it."""

from __future__ import annotations

import ast
import itertools
import posixpath
import warnings
from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property

from safety import python_folding as folding
from safety.python_held_names import HeldNames
from safety.python_operators import MAX_OPTIONS
from safety.python_values import HOLE, MAX_ITEMS, UNKNOWN, Local, Ref, Value, Values, as_text, ref

OWN = "own."
"""Begins the name of an instance of a class that the program defines."""


class CallResults(HeldNames):
    """All that the calls of one program may give back."""

    @abstractmethod
    def _attribute(self, bases: Values, name: str, depth: int) -> Iterable[Value]:
        """What an attribute of any of these may be."""

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
                if isinstance(receiver, tuple) and call.func.attr in ("pop", "popleft"):
                    # Which one it takes depends on what was done before: any of them.
                    found.extend((*receiver[:MAX_OPTIONS], UNKNOWN))
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
            return (Ref(OWN + node.name),)
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
        gathers = name in ("sorted", "reversed", "list", "tuple", "set", "iter")
        if gathers and given and isinstance(given[0], Ref) and given[0].name == "pathlib.Path()":
            return given[0]
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
        if name in ("os.walk", "os.fwalk") and given:
            return ((posixpath.join(as_text(given[0]), HOLE), (HOLE,), (HOLE,)),)
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
