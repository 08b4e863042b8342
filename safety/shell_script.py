"""A shell script read without running it: its commands, and what their words may be."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from tree_sitter import Language, Node, Parser, Tree

from safety import shell_folding as folding
from safety.clock import Clock
from safety.python_values import HOLE, words

MAX_OPTIONS = 6
"""Values that are followed for one word."""
MAX_STEPS = 20_000
MAX_DEPTH = 40
MAX_NODES = 60_000
_FUNCTION = "function_definition"


@cache
def _language() -> Language:
    import tree_sitter_bash

    return Language(tree_sitter_bash.language())


@dataclass(frozen=True)
class Command:
    """One simple command, its wrappers (`sudo`, `env`, `xargs`) taken off into commands of their own."""

    name: str
    """Without the directory of the system's own programs; a hole where it is known only at run time."""
    args: tuple[str, ...]
    line: int
    column: int
    redirects: tuple[tuple[str, str], ...] = ()
    """Operator and target: `>>`, `~/.bashrc`."""
    assigns: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    """What a here-document or here-string gives to its standard input."""
    before: Command | None = None
    """What is piped into it."""
    loops: tuple[str, ...] = ()
    """Kinds of the loops around it, innermost first; `endless` for `while true`."""
    function: str = ""
    """The function that it stands in."""
    background: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments that are not options."""
        return tuple(arg for arg in self.args if not arg.startswith("-") or arg == "-")

    def has(self, *options: str) -> bool:
        """Whether one of the options is there; short ones also in a bundle (`-rf`)."""
        for option in options:
            for arg in self.args:
                if arg == option or arg.startswith(option + "="):
                    return True
                if len(option) == 2 and arg.startswith("-") and not arg.startswith("--") and option[1] in arg[1:]:
                    return True
        return False


@dataclass
class Script:
    """A parsed script."""

    code: str
    clock: Clock = field(default_factory=Clock)
    commands: list[Command] = field(default_factory=list)
    broken: bool = False
    """The text, or a part of it, does not parse."""
    assigned: list[tuple[str, int, int]] = field(default_factory=list)
    """Name, line and column of each variable that is set."""
    read_variables: list[tuple[str, int, int]] = field(default_factory=list)
    """Name, line and column of each variable that is read."""
    indirect: list[tuple[str, int, int]] = field(default_factory=list)
    """Names that are read through another variable: `${!name}`."""
    spread: list[tuple[str, int, int]] = field(default_factory=list)
    """Words that a `for` goes through."""
    functions: dict[str, Node] = field(default_factory=dict)
    loops: list[Node] = field(default_factory=list)
    """The `while` and `until` loops."""
    steps: int = 0

    def __post_init__(self) -> None:
        # The grammar knows `${x:i}` and not `${x:$i}`, which means the same; lengths stay.
        self._bytes = _SUBSTRING.sub(r"\1 ", self.code).encode("utf-8", "replace")
        tree = self._parse()
        self._values: dict[str, list[Node | str]] = defaultdict(list)
        self._calls: dict[str, list[Node]] = defaultdict(list)
        self._memo: dict[tuple[int, str], tuple[str, ...]] = {}
        self._busy: set[str] = set()
        self._pipes: dict[tuple[int, int], tuple[int, int]] = {}
        if tree is None:
            self.steps, self.broken = MAX_STEPS + 1, True
            return
        nodes = list(itertools.islice(_walk(tree.root_node), MAX_NODES))
        self.broken = tree.root_node.has_error or len(nodes) >= MAX_NODES
        for node in nodes:
            self._collect(node)
        for node in nodes:
            if node.type in ("command", "declaration_command", "unset_command") and not _in_test(node):
                self.commands.extend(self._commands(node))
            elif node.type == "redirected_statement" and _is_compound(node.child_by_field_name("body")):
                self.commands.append(
                    Command("", (), node.start_point[0] + 1, node.start_point[1] + 1, self._redirects(node))
                )
            elif node.type == "for_statement":
                for value in node.children_by_field_name("value"):
                    at = value.start_point
                    self.spread.extend((word, at[0] + 1, at[1] + 1) for word in self.words(value))
            if self.clock.is_over:
                self.steps = MAX_STEPS + 1
                break
        self._link_pipes()

    def _parse(self) -> Tree | None:
        """The tree, or None where that would take too long: the parser is slow on what is broken."""
        # The grammar's scanner reads past its tables for characters beyond ASCII, now and then with a segmentation
        # fault. To the shell they are letters like any other: it gets letters in their place, lengths stay.
        plain = self._bytes.translate(_LETTERS)

        def piece(offset: int, _: object) -> bytes:
            return plain[offset : offset + 4096]

        tree: Tree | None = Parser(_language()).parse(piece, progress_callback=lambda *_: self.clock.is_over)
        return tree

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the script."""
        return self.code.splitlines()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all commands."""
        return frozenset(command.name for command in self.commands)

    @property
    def exhausted(self) -> bool:
        """Whether the script was too tangled to be followed to its end."""
        return self.steps > MAX_STEPS

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self._bytes[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _collect(self, node: Node) -> None:
        if node.type == "variable_assignment":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if name is not None:
                self._values[self.text(name)].append(value if value is not None else "")
                self.assigned.append((self.text(name), node.start_point[0] + 1, node.start_point[1] + 1))
        elif node.type == "simple_expansion":
            self.read_variables.append((self.text(node)[1:], node.start_point[0] + 1, node.start_point[1] + 1))
        elif node.type == "expansion":
            inner = next((child for child in node.named_children if child.type == "variable_name"), None)
            if inner is not None:
                self.read_variables.append((self.text(inner), node.start_point[0] + 1, node.start_point[1] + 1))
        elif node.type == "for_statement":
            variable = node.child_by_field_name("variable")
            for value in node.children_by_field_name("value"):
                if variable is not None:
                    self._values[self.text(variable)].append(value)
        elif node.type in ("while_statement", "c_style_for_statement"):
            self.loops.append(node)
        elif node.type == _FUNCTION:
            name = node.child_by_field_name("name")
            if name is not None:
                self.functions[self.text(name)] = node
        elif node.type == "command" and (called := node.child_by_field_name("name")) is not None:
            self._calls[self.text(called)].append(node)
            if self.text(called) in ("read", "mapfile", "readarray", "getopts"):
                for word in node.named_children[1:]:
                    self._values[self.text(word)].append(HOLE)

    def is_assigned(self, name: str) -> bool:
        """Whether the script itself sets a variable."""
        return name in self._values

    def _link_pipes(self) -> None:
        """Tell each command of a pipeline what is piped into it."""
        last: dict[tuple[int, int], Command] = {}
        for at, command in enumerate(self.commands):
            before = self._pipes.get((command.line, command.column))
            if before is not None:
                self.commands[at] = command = replace(command, before=last.get(before))
            last[command.line, command.column] = command

    def _commands(self, node: Node) -> Iterator[Command]:
        line, column = node.start_point[0] + 1, node.start_point[1] + 1
        loops, function, background = _around(node, self)
        assigns: list[tuple[str, str]] = []
        options: list[tuple[tuple[str, ...], ...]] = []
        for child in node.named_children if node.type == "command" else node.children:
            if child.type == "variable_assignment":
                key, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                known = self.words(value)[0] if value is not None else ""
                assigns.append((self.text(key) if key is not None else "", known))
            elif child.type not in ("file_redirect", "heredoc_redirect", "herestring_redirect", "comment"):
                options.append(self._fields(child))
        redirects = self._redirects(node)
        body = self._body(node)
        self._note_pipe(node)
        for chosen in itertools.islice(itertools.product(*options), MAX_OPTIONS):
            words = tuple(word for fields in chosen for word in fields)
            name, args = (words[0], words[1:]) if words else ("", ())
            plain = Command(
                _bare(name), args, line, column, redirects, tuple(assigns), body, None, loops, function, background
            )
            yield from folding.unwrap(plain)

    def _note_pipe(self, node: Node) -> None:
        at, parent = node, node.parent
        if parent is not None and parent.type == "redirected_statement":
            at, parent = parent, parent.parent
        if parent is None or parent.type != "pipeline":
            return
        before = at.prev_named_sibling
        if before is not None and before.type == "redirected_statement":
            before = before.child_by_field_name("body")
        if before is not None:
            self._pipes[node.start_point[0] + 1, node.start_point[1] + 1] = (
                before.start_point[0] + 1,
                before.start_point[1] + 1,
            )

    def _redirects(self, node: Node) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        for holder in (node, node.parent):
            if holder is None or (holder is not node and holder.type != "redirected_statement"):
                continue
            # `cat <<END > file`: the grammar puts the second redirect inside the first.
            inner = [part for child in holder.children if child.type == "heredoc_redirect" for part in child.children]
            for child in (*holder.children, *inner):
                if child.type == "file_redirect":
                    target = child.child_by_field_name("destination")
                    operator = next((self.text(part) for part in child.children if part.type in _OPERATORS), "")
                    if target is not None:
                        found.extend((operator, word) for word in self.words(target))
        return tuple(found)

    def _body(self, node: Node) -> str | None:
        for holder in (node, node.parent):
            if holder is None or (holder is not node and holder.type != "redirected_statement"):
                continue
            for child in holder.children:
                if child.type == "heredoc_redirect":
                    return next((self.text(part) for part in child.children if part.type == "heredoc_body"), "")
                if child.type == "herestring_redirect" and child.named_children:
                    return self.words(child.named_children[-1])[0]
        return None

    def _fields(self, node: Node) -> tuple[tuple[str, ...], ...]:
        """What a word may be, split where the shell would split it."""
        words = self.words(node)
        if node.type == "command_name" and node.named_children:
            node = node.named_children[0]
        if node.type in ("simple_expansion", "expansion", "command_substitution"):
            return tuple(tuple(word.split()) for word in words)
        if node.type in ("word", "concatenation") and "{" in self.text(node) and "," in self.text(node):
            return tuple(tuple(folding.braces(word)) for word in words)
        return tuple((word,) for word in words)

    def words(self, node: Node, depth: int = 0) -> tuple[str, ...]:
        """All that a word may be, quotes and expansions taken off."""
        self.steps += 1
        if depth > MAX_DEPTH:
            self.steps = MAX_STEPS + 1
        if self.exhausted:
            return (HOLE,)
        key = (node.start_byte * 1_000_003 + node.end_byte, node.type)
        if key not in self._memo:
            found = tuple(dict.fromkeys(self._words(node, depth + 1)))[:MAX_OPTIONS] or (HOLE,)
            if self._busy:
                return found
            self._memo[key] = found
        return self._memo[key]

    def _words(self, node: Node, depth: int) -> tuple[str, ...]:
        kind = node.type
        if kind == "word":
            return (folding.unescape(self.text(node)),)
        if kind == "raw_string":
            return (self.text(node)[1:-1],)
        if kind == "ansi_c_string":
            return (folding.ansi_c(self.text(node)[2:-1]),)
        if kind in ("string", "concatenation", "command_name", "translated_string"):
            return self._pieces(node, depth)
        if kind == "string_content":
            return (folding.unescape_quoted(self.text(node)),)
        if kind == "simple_expansion":
            return self.variable(self.text(node)[1:], node, depth)
        if kind == "expansion":
            return self._expansion(node, depth)
        if kind == "command_substitution":
            return self._substitution(node, depth)
        if kind == "process_substitution":
            return (HOLE,)
        if kind == "brace_expression":
            return (HOLE,)
        if kind == "arithmetic_expansion":
            return (folding.arithmetic(self.text(node)),)
        if kind == "array":
            return tuple(word for child in node.named_children for word in self.words(child, depth))
        return (self.text(node),)

    def _pieces(self, node: Node, depth: int) -> tuple[str, ...]:
        if not node.children:
            return (self.text(node),)
        parts: list[tuple[str, ...]] = []
        at = node.start_byte
        for child in node.children:
            if child.start_byte > at:
                parts.append((self._bytes[at : child.start_byte].decode("utf-8", "replace"),))
            at = child.end_byte
            if child.type != '"' and (child.is_named or node.type != "string"):
                parts.append(self.words(child, depth))
        return tuple("".join(chosen)[:65536] for chosen in itertools.islice(itertools.product(*parts), MAX_OPTIONS))

    def variable(self, name: str, node: Node, depth: int) -> tuple[str, ...]:
        """All that a variable may hold where it is read."""
        known = folding.VARIABLES.get(name)
        if name in self._busy or depth > MAX_DEPTH:
            return ()
        self._busy.add(name)
        try:
            if name.isdigit() or name in "@*":
                return self._positional(name, node, depth) or (HOLE,)
            found = [
                word for value in self._values.get(name, ())[: MAX_OPTIONS * 2] for word in self._held(value, depth)
            ]
        finally:
            self._busy.discard(name)
        if known is not None and not found:
            return (known,)
        return tuple(found) or (HOLE,)

    def _held(self, value: Node | str, depth: int) -> tuple[str, ...]:
        return (value,) if isinstance(value, str) else self.words(value, depth)

    def _positional(self, name: str, node: Node, depth: int) -> tuple[str, ...]:
        """What the calls in the script give to a function's parameter."""
        at: Node | None = node
        while at is not None and at.type != _FUNCTION:
            at = at.parent
        if at is None:
            return (HOLE,)
        own = at.child_by_field_name("name")
        found: list[str] = []
        for call in self._calls.get(self.text(own) if own is not None else "", ())[: MAX_OPTIONS * 2]:
            arguments = [
                child for child in call.named_children if child.type not in ("command_name", "variable_assignment")
            ]
            if name in "@*":
                found.append(" ".join(self.words(argument, depth)[0] for argument in arguments))
            elif 0 < int(name) <= len(arguments):
                found.extend(self.words(arguments[int(name) - 1], depth))
        return tuple(found)

    def _expansion(self, node: Node, depth: int) -> tuple[str, ...]:
        inner = self.text(node)[2:-1].lstrip("!#")
        length = 0
        while length < len(inner) and (inner[length].isalnum() or inner[length] == "_"):
            length += 1
        name, rest = inner[:length] or inner[:1], inner[length:]
        values = self.variable(name, node, depth)
        if self.text(node).startswith("${!"):
            self.indirect.extend((value, node.start_point[0] + 1, node.start_point[1] + 1) for value in values)
            values = tuple(word for value in values for word in self.variable(value, node, depth)) if values else ()
        default = folding.default_of(rest)
        if default is not None:
            return (*values, default)
        return tuple(folding.expand(value, rest) for value in values)

    def _substitution(self, node: Node, depth: int) -> tuple[str, ...]:
        inner = node.named_children
        if len(inner) != 1:
            return (HOLE,)
        stages = list(inner[0].named_children) if inner[0].type == "pipeline" else [inner[0]]
        words: list[list[str]] = []
        for stage in stages:
            text_of: str | None = None
            if stage.type == "redirected_statement":
                text_of = self._body(stage)
                body = stage.child_by_field_name("body")
                if body is None:
                    return (HOLE,)
                stage = body
            if stage.type != "command":
                return (HOLE,)
            words.append(
                [self.words(child, depth)[0] for child in stage.named_children if "redirect" not in child.type]
            )
            text_of = self._body(stage) if text_of is None else text_of
            if text_of is not None and len(words) == 1:
                words.insert(0, ["echo", text_of])
        return (folding.pipeline(words),)


_SUBSTRING = re.compile(r"(\$\{[A-Za-z_]\w*(?:\[[^\]\n]{1,80}\])?:\s*)\$(?=[A-Za-z_])")
_OPERATORS = words("> >> < <> >| &> &>> >& <& <&- >&-")
_LETTERS = bytes(code if code < 128 else ord("x") for code in range(256))
_SYSTEM_BINS = {"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"}


def _is_compound(body: Node | None) -> bool:
    """Whether redirects belong to no simple command: then they are looked at on their own."""
    return body is None or body.type not in ("command", "declaration_command", "unset_command", "test_command")


def _in_test(node: Node) -> bool:
    """Whether the grammar took the inside of `[ ... 2>file ]` for a command."""
    parent = node.parent
    if parent is not None and parent.type == "redirected_statement":
        parent = parent.parent
    return parent is not None and parent.type == "test_command"


def _bare(name: str) -> str:
    return posixpath.basename(name) if posixpath.dirname(name) in _SYSTEM_BINS else name


def _walk(root: Node) -> Iterator[Node]:
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is not None:
            yield node
        if cursor.goto_first_child() or cursor.goto_next_sibling():
            continue
        while True:
            if not cursor.goto_parent():
                return
            if cursor.goto_next_sibling():
                break


def _around(node: Node, script: Script) -> tuple[tuple[str, ...], str, bool]:
    """The loops and the function around a command, and whether it is sent to the background."""
    loops: list[str] = []
    function = ""
    outer = node.parent
    whole = outer if outer is not None and outer.type == "redirected_statement" else node
    after = whole.next_sibling
    background = after is not None and after.type == "&"
    at = node.parent
    for _ in range(200):
        if at is None:
            break
        if at.type in ("for_statement", "while_statement", "c_style_for_statement"):
            loops.append("endless" if folding.is_endless(script.text(at)[:200]) else at.type.split("_")[0])
        elif at.type == _FUNCTION and not function:
            name = at.child_by_field_name("name")
            function = script.text(name) if name is not None else ""
        at = at.parent
    return tuple(loops), function, background
