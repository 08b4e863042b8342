"""What the words of a shell script may be, quotes and expansions taken off."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field

from tree_sitter import Node

from safety import shell_folding as folding
from safety.clock import Clock
from safety.python_values import HOLE

MAX_OPTIONS = 6
"""Values that are followed for one word."""
MAX_STEPS = 20_000
MAX_DEPTH = 40
FUNCTION = "function_definition"


def _in_for(node: Node) -> bool:
    """Whether a loop goes through the words: then each of them counts, not all together."""
    at = node.parent
    return at is not None and (
        at.type == "for_statement" or (at.parent is not None and at.parent.type == "for_statement")
    )


@dataclass
class Words:
    """All that the words of one script may be."""

    code: str
    clock: Clock = field(default_factory=Clock)
    indirect: list[tuple[str, int, int]] = field(default_factory=list)
    """Names that are read through another variable: `${!name}`."""
    steps: int = 0

    def __post_init__(self) -> None:
        self._bytes = self.code.encode("utf-8", "replace")
        self._values: dict[str, list[Node | str]] = defaultdict(list)
        self._calls: dict[str, list[Node]] = defaultdict(list)
        self._memo: dict[tuple[int, str], tuple[str, ...]] = {}
        self._busy: set[str] = set()

    @property
    def exhausted(self) -> bool:
        """Whether the script was too tangled to be followed to its end."""
        return self.steps > MAX_STEPS

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self._bytes[node.start_byte : node.end_byte].decode("utf-8", "replace")

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

    def held(self, name: str) -> tuple[str, ...]:
        """All that a script gives to a variable."""
        return tuple(word for value in self._values.get(name, ())[: MAX_OPTIONS * 2] for word in self._held(value, 0))

    def _held(self, value: Node | str, depth: int) -> tuple[str, ...]:
        return (value,) if isinstance(value, str) else self.words(value, depth)

    def _positional(self, name: str, node: Node, depth: int) -> tuple[str, ...]:
        """What the calls in the script give to a function's parameter."""
        at: Node | None = node
        while at is not None and at.type != FUNCTION:
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
                each = [self.words(argument, depth)[0] for argument in arguments]
                found.extend((" ".join(each), *(each if _in_for(node) else ())))
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
