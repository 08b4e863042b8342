"""A shell script read without running it: its commands, its variables and its loops."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from tree_sitter import Language, Node, Parser, Tree

from safety import shell_folding as folding
from safety.python_values import HOLE, words
from safety.shell_command import Command
from safety.shell_words import FUNCTION, MAX_OPTIONS, MAX_STEPS, Words

MAX_NODES = 60_000
MAX_PIPES = 4_000
"""The parser takes quadratic time for pipes between quotes that do not close, and cannot be stopped in it."""


@cache
def _language() -> Language:
    import tree_sitter_bash

    return Language(tree_sitter_bash.language())


@dataclass
class Script(Words):
    """A parsed script."""

    commands: list[Command] = field(default_factory=list)
    broken: bool = False
    """The text, or a part of it, does not parse."""
    assigned: list[tuple[str, int, int]] = field(default_factory=list)
    """Name, line and column of each variable that is set."""
    read_variables: list[tuple[str, int, int]] = field(default_factory=list)
    """Name, line and column of each variable that is read."""
    spread: list[tuple[str, int, int]] = field(default_factory=list)
    """Words that a `for` goes through."""
    functions: dict[str, Node] = field(default_factory=dict)
    loops: list[Node] = field(default_factory=list)
    """The `while` and `until` loops."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # The grammar knows `${x:i}` and not `${x:$i}`, which means the same; lengths stay.
        self._bytes = _SUBSTRING.sub(r"\1 ", self.code).encode("utf-8", "replace")
        tree = self._parse()
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
        if plain.count(b"|") > MAX_PIPES:
            return None

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
        elif node.type == FUNCTION:
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


_SUBSTRING = re.compile(r"(\$\{[A-Za-z_]\w*(?:\[[^\]\n]{1,80}\])?:\s*)\$(?=[A-Za-z_])")
_OPERATORS = words("> >> < <> >| &> &>> >& <& <&- >&-")
_LETTERS = bytes(code if 0 < code < 128 else ord("x") if code else ord(" ") for code in range(256))
"""What the grammar is given for each byte; a NUL it takes for the end, again and again."""
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
        elif at.type == FUNCTION and not function:
            name = at.child_by_field_name("name")
            function = script.text(name) if name is not None else ""
        at = at.parent
    return tuple(loops), function, background
