"""Resource exhaustion: what takes memory, processes, disk or time without an end."""

from __future__ import annotations

from collections.abc import Iterator

from safety.python_program import Program
from safety.rules import allocations, locks, loops, own_methods, recursion
from safety.verdicts import Finding

RULES = (*loops.RULES, *recursion.RULES, *allocations.RULES, *locks.RULES)


def python(program: Program) -> Iterator[Finding]:
    """Findings in a Python program."""
    yield from loops.python(program)
    yield from recursion.python(program)
    yield from allocations.python(program)
    yield from locks.python(program)
    yield from own_methods.python(program)
