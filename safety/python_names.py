"""Which expressions each name of a program may be bound to, scope by scope."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field

from safety.python_values import Local, Ref, Value, canonical

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Step = int | str
_MARKS = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
_SCOPES = {ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda}
_BINDING = _SCOPES | {
    ast.Call,
    ast.Assign,
    ast.AnnAssign,
    ast.NamedExpr,
    ast.AugAssign,
    ast.For,
    ast.AsyncFor,
    ast.comprehension,
    ast.withitem,
    ast.Import,
    ast.ImportFrom,
}
_OPTION_MAKERS = ("add_argument", "add_option", "option", "argument")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Bind:
    """One way in which a name gets its value: an expression and the steps into it, or a value."""

    expr: ast.expr | None = None
    steps: tuple[Step, ...] = ()
    """An index, `iter` for an element, `enter` for what a `with` gives."""
    value: Value = None
    parameter: tuple[Function, int, str] | None = None
    """The function, place (-1 for keyword only) and name of a parameter."""
    grows: bool = False
    """Added to in a loop: it may hold more than can be told."""


@dataclass
class Names:
    """The names of one program."""

    tree: ast.Module
    binds: dict[tuple[int, str], list[Bind]] = field(default_factory=lambda: defaultdict(list))
    attributes: dict[str, list[Bind]] = field(default_factory=lambda: defaultdict(list))
    """By the attribute's name alone: of `self`, of classes, of any object."""
    items: dict[str, list[Bind]] = field(default_factory=lambda: defaultdict(list))
    parents: dict[int, ast.AST] = field(default_factory=dict)
    scopes: dict[int, Scope] = field(default_factory=dict)
    outer: dict[int, Scope] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    calls: list[ast.Call] = field(default_factory=list)
    calls_by_name: dict[str, list[ast.Call]] = field(default_factory=lambda: defaultdict(list))
    aliases: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Other names under which a function is called: of parameters that it is handed to, and plain assignments."""
    options: dict[str, list[Bind]] = field(default_factory=lambda: defaultdict(list))
    """The defaults of the options of a command line."""
    nodes: dict[type[ast.AST], list[ast.AST]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        stack: list[tuple[ast.AST, Scope]] = [(self.tree, self.tree)]
        nodes, scopes, parents = self.nodes, self.scopes, self.parents
        while stack:
            node, scope = stack.pop()
            kind = type(node)
            nodes[kind].append(node)
            scopes[id(node)] = scope
            inner = scope
            if kind in _SCOPES and isinstance(node, (ast.ClassDef, *FUNCTIONS)):
                self.outer[id(node)] = scope
                inner = node
            if kind in _BINDING:
                self._bind(node, scope)
            for name in reversed(node._fields):
                value = getattr(node, name, None)
                if isinstance(value, list):
                    for child in reversed(value):
                        if isinstance(child, ast.AST) and not isinstance(child, _MARKS):
                            parents[id(child)] = node
                            stack.append((child, inner))
                elif isinstance(value, ast.AST) and not isinstance(value, _MARKS):
                    parents[id(value)] = node
                    stack.append((value, inner))
        shared = {name for found in nodes.get(ast.Global, ()) if isinstance(found, ast.Global) for name in found.names}

        for (scope_id, name), binds in list(self.binds.items()):
            # Declared global somewhere: what any scope binds to it, the module may hold.
            if name in shared and scope_id != id(self.tree):
                self.binds[id(self.tree), name].extend(binds)
        self._find_aliases()

    def _find_aliases(self) -> None:
        functions: dict[str, Function] = {}
        for kind in (ast.FunctionDef, ast.AsyncFunctionDef):
            for node in self.nodes.get(kind, ()):
                assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                functions[node.name] = node
        for call in self.calls:
            called = functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
            if called is not None:
                for place, argument in enumerate(call.args[: len(called.args.args)]):
                    if isinstance(argument, ast.Name) and argument.id in functions:
                        self.aliases[argument.id].append(called.args.args[place].arg)
        for node in self.nodes.get(ast.Assign, ()):
            assert isinstance(node, ast.Assign)
            if (
                isinstance(node.value, ast.Name)
                and node.value.id in functions
                and isinstance(node.targets[0], ast.Name)
            ):
                self.aliases[node.value.id].append(node.targets[0].id)

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Call):
            self.calls.append(node)
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            name = node.func.attr if isinstance(node.func, ast.Attribute) else name
            self.calls_by_name[name].append(node)
            if name in _OPTION_MAKERS:
                self._option(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                grows = (
                    isinstance(target, ast.Name)
                    and isinstance(node.value, (ast.BinOp, ast.JoinedStr, ast.Call))
                    and self._in_loop(node)
                )
                grows = grows and any(
                    isinstance(part, ast.Name) and part.id == getattr(target, "id", "") for part in ast.walk(node.value)
                )
                self._target(target, node.value, (), scope, grows)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            if node.value is not None:
                self._target(node.target, node.value, (), scope)
        elif isinstance(node, ast.AugAssign):
            joined = ast.BinOp(left=node.target, op=node.op, right=node.value)
            ast.copy_location(joined, node)
            self._target(node.target, joined, (), scope, self._in_loop(node))
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._target(node.target, node.iter, ("iter",), scope)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._target(node.optional_vars, node.context_expr, ("enter",), scope)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node, scope)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bind = Bind(value=Local(node))
            self.binds[id(scope), node.name].append(bind)
            if isinstance(scope, ast.ClassDef):
                self.attributes[node.name].append(bind)
        if isinstance(node, FUNCTIONS):
            self._parameters(node)

    def _option(self, call: ast.Call) -> None:
        """The default of an option of a command line: `add_argument("--name", default=...)`."""
        words = {word.arg: word.value for word in call.keywords}
        if "default" not in words:
            return
        flags = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        named = words.get("dest")
        long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
        name = str(named.value) if isinstance(named, ast.Constant) else long.lstrip("-").replace("-", "_")
        self.options[name].append(Bind(words["default"]))

    def _parameters(self, node: Function) -> None:
        places = [*node.args.posonlyargs, *node.args.args]
        for place, argument in enumerate(places):
            self.binds[id(node), argument.arg].append(Bind(parameter=(node, place, argument.arg)))
        for argument in node.args.kwonlyargs:
            self.binds[id(node), argument.arg].append(Bind(parameter=(node, -1, argument.arg)))
        if node.args.vararg:
            self.binds[id(node), node.args.vararg.arg].append(Bind(parameter=(node, len(places), "*")))
        if node.args.kwarg:
            self.binds[id(node), node.args.kwarg.arg].append(Bind(parameter=(node, -1, "**")))

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        module = "" if isinstance(node, ast.Import) else "." * node.level + (node.module or "")
        for alias in node.names:
            if isinstance(node, ast.Import):
                bound = alias.asname or alias.name.split(".", 1)[0]
                value = Ref(canonical(alias.name if alias.asname else bound))
            elif alias.name == "*":
                self.stars.append(module)
                continue
            else:
                bound = alias.asname or alias.name
                value = Ref(canonical(f"{module}.{alias.name}"))
            self.binds[id(scope), bound].append(Bind(value=value))

    def _in_loop(self, node: ast.AST) -> bool:
        at = self.parents.get(id(node))
        while at is not None and not isinstance(at, (ast.For, ast.AsyncFor, ast.While)):
            at = self.parents.get(id(at))
        return at is not None

    def _target(
        self, target: ast.expr, expr: ast.expr, steps: tuple[Step, ...], scope: Scope, grows: bool = False
    ) -> None:
        if isinstance(target, ast.Name):
            bind = Bind(expr, steps, grows=grows)
            self.binds[id(scope), target.id].append(bind)
            if isinstance(scope, ast.ClassDef):
                self.attributes[target.id].append(bind)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for place, item in enumerate(target.elts):
                self._target(item, expr, (*steps, place), scope)
        elif isinstance(target, ast.Attribute):
            self.attributes[target.attr].append(Bind(expr, steps, grows=grows))
        elif isinstance(target, ast.Starred):
            self._target(target.value, expr, (*steps[:-1], "rest"), scope)
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            self.items[str(target.slice.value)].append(Bind(expr, steps))

    def lookup(self, name: str, scope: Scope) -> tuple[int, list[Bind]] | None:
        """The scope (its identity) and the bindings that a name has where it is read, if any."""
        at: Scope | None = scope
        first = True
        while at is not None:
            binds = self.binds.get((id(at), name))
            if binds and (first or not isinstance(at, ast.ClassDef)):
                return id(at), binds
            first = False
            at = self.outer.get(id(at))
        return None
