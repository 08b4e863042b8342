"""The static rules: what a block would touch, read without running it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from safety import notebook
from safety.clock import Clock
from safety.rules.rule import Rule
from safety.verdicts import Finding, Verdict, worst

if TYPE_CHECKING:
    from safety.rules.inner import Inner

MAX_BYTES = 48 * 1024
"""Larger blocks are not analysed: `ask`."""
MAX_INNER = 3
"""Levels of code inside code that are followed; below, `ask`."""
MAX_PIECES = 64
"""Pieces of inner code that are looked at for one block; past them, `ask`."""

TOO_LONG = Rule(
    "reading.too-long",
    "ask",
    "nothing",
    "Too long to be analysed within the time that a review may take.",
    bad=("x = 1\n" * 9000,),
)
BROKEN = Rule(
    "reading.broken",
    "ask",
    "nothing",
    "What does not parse cannot be judged; a shell still runs its first lines.",
    bad=("def (:", "#!bash\nif true; then"),
)
LANGUAGE = Rule("reading.language", "ask", "nothing", "No analysis for this language.", bad=())
TANGLED = Rule(
    "reading.tangled",
    "ask",
    "obfuscation",
    "Too deep or too tangled to be followed to its end.",
    bad=("x = " + "-" * 500 + "1\nopen(x)",),
)
RULES = (TOO_LONG, BROKEN, LANGUAGE, TANGLED)


_TRIFLES = {
    "python": "import os\nimport subprocess\nprint(open('a').read(), os.getcwd(), eval('1'))\nsubprocess.run(['ls'])\n",
    "bash": 'for f in *.txt; do cat "$f" | sort > out; done; rm -f out\n',
}
"""A little of what each analysis knows."""


def review(language: str, code: str) -> tuple[Verdict, tuple[Finding, ...]]:
    """The verdict of the rules on one block, and the findings behind it, by line. Never raises."""
    _warm_up(language)
    if len(code.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        findings = [TOO_LONG.at(0, f"longer than {MAX_BYTES // 1024} KB: not analysed")]
    else:
        findings = []
        try:
            # One by one: what was found before a failure stays.
            for finding in _findings(language, code):
                findings.append(finding)
        except (RecursionError, MemoryError):
            findings.append(TANGLED.at(0, "nested too deep to be analysed"))
        except Exception as error:  # a rule that fails on somebody's code must not let the code pass
            findings.append(TANGLED.at(0, f"could not be analysed ({type(error).__name__})"))
    kept = _ordered(findings)
    return worst(finding.verdict for finding in kept) if kept else "allow", kept


@functools.cache
def _warm_up(language: str) -> None:
    """Read a trifle once: what is imported and built for it must not count against the time of a real review."""
    if trifle := _TRIFLES.get(language):
        with contextlib.suppress(Exception):  # a real review tells of what fails
            for _ in range(3):  # the first may spend its time on imports alone
                list(_findings(language, trifle))


def all_rules() -> tuple[Rule, ...]:
    """Every rule, by family."""
    from safety.rules import (
        abuse,
        credentials,
        data,
        disclosure,
        environment,
        files,
        host,
        known,
        logic,
        lures,
        network,
        obfuscation,
        obfuscation_shell,
        packages,
        people,
        persistence,
        pickles,
        processes,
        protection,
        resources,
        reviewer,
        tampering,
        transport,
        web,
    )

    families = (
        files,
        network,
        processes,
        protection,
        persistence,
        credentials,
        environment,
        packages,
        obfuscation,
        obfuscation_shell,
        pickles,
        resources,
        host,
        web,
        abuse,
        data,
        logic,
        people,
        lures,
        tampering,
        disclosure,
        transport,
        reviewer,
        known,
    )
    return (*(rule for family in families for rule in family.RULES), *RULES)


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each rule and line, by line."""
    kept: dict[tuple[str, int], Finding] = {}
    for finding in findings:
        known = kept.get((finding.rule, finding.line))
        if known is None or worst((known.verdict, finding.verdict)) != known.verdict:
            kept[finding.rule, finding.line] = finding
    return tuple(sorted(kept.values(), key=lambda finding: (finding.line, finding.column, finding.rule)))


@dataclass
class _Limits:
    """What one review may still spend on code inside code."""

    clock: Clock = field(default_factory=Clock)
    pieces: int = MAX_PIECES
    length: int = MAX_BYTES

    def take(self, code: str) -> bool:
        """Whether a piece may still be looked at."""
        self.pieces -= 1
        self.length -= len(code)
        return self.pieces >= 0 and self.length >= 0


def _findings(language: str, code: str) -> Iterator[Finding]:
    from safety.rules import reviewer
    from safety.visible import hidden_findings

    limits = _Limits()
    yield from reviewer.text(code)
    yield from hidden_findings(code, language)
    if language == "python":
        from safety.rules import known

        yield from _python(code, 0, limits)
        yield from known.python(code, limits.clock)
    elif language in ("bash", "sh"):
        yield from _shell(code, 0, limits)
    else:
        yield LANGUAGE.at(0, f"{language}: not analysed")


def _python(code: str, level: int, limits: _Limits, evaluated: bool = False) -> Iterator[Finding]:
    from safety.python_program import MAX_STEPS, BrokenSyntaxError, Program
    from safety.rules import (
        abuse,
        credentials,
        data,
        disclosure,
        environment,
        files,
        host,
        inner,
        logic,
        lures,
        network,
        obfuscation,
        packages,
        people,
        persistence,
        pickles,
        processes,
        protection,
        resources,
        tampering,
        transport,
        web,
    )

    try:
        program = Program(code, MAX_STEPS >> (2 * level), limits.clock)
    except BrokenSyntaxError as error:
        cells = notebook.split(code)
        if cells is None:
            yield BROKEN.at(0, f"does not parse as Python: {error}")
            return
        plain, lines = cells
        yield from _python(plain, level, limits, evaluated)
        yield from _inner((inner.Inner("bash", text, line) for line, text in lines), level, limits)
        return
    for family in (
        files,
        network,
        processes,
        protection,
        persistence,
        credentials,
        environment,
        packages,
        obfuscation,
        pickles,
        resources,
        host,
        web,
        abuse,
        data,
        logic,
        people,
        lures,
        tampering,
        disclosure,
        transport,
    ):
        if limits.clock.is_over:
            program.steps = program.max_steps + 1
            break
        yield from family.python(program)
    if evaluated and any(processes.RUNS.match(call.name) for call in program.calls):
        yield obfuscation.EVAL.at(1, "a text that is run as code starts other programs")
    yield from _inner(inner.python(program), level, limits)
    if program.exhausted:
        yield TANGLED.at(0, "too tangled to be followed to its end")


def _shell(code: str, level: int, limits: _Limits) -> Iterator[Finding]:
    from safety.rules import (
        abuse,
        credentials,
        data,
        disclosure,
        environment,
        files_shell,
        host,
        inner,
        lures,
        network_shell,
        obfuscation_shell,
        packages,
        people,
        persistence,
        processes,
        protection,
        resources_shell,
        tampering,
        transport,
        web,
    )
    from safety.shell_script import Script
    from safety.shell_words import MAX_STEPS

    script = Script(code, limits.clock)
    if script.broken:
        yield BROKEN.at(0, "does not parse as a shell script")
    for family in (
        files_shell,
        network_shell,
        processes,
        protection,
        persistence,
        credentials,
        environment,
        packages,
        obfuscation_shell,
        resources_shell,
        host,
        web,
        abuse,
        data,
        people,
        lures,
        tampering,
        disclosure,
        transport,
    ):
        if limits.clock.is_over:
            script.steps = MAX_STEPS + 1
            break
        yield from family.shell(script)
    yield from _inner(inner.shell(script), level, limits)
    if script.exhausted:
        yield TANGLED.at(0, "too tangled to be followed to its end")


def _inner(found: Iterable[Inner], level: int, limits: _Limits) -> Iterator[Finding]:
    """The findings in code inside code, at the line of the outer block that runs it."""
    for piece in found:
        if level >= MAX_INNER or limits.clock.is_over or not limits.take(piece.code):
            yield TANGLED.at(piece.line, "holds more code inside code than can be followed")
            return
        python = piece.language == "python"
        for finding in (
            _python(piece.code, level + 1, limits, piece.evaluated) if python else _shell(piece.code, level + 1, limits)
        ):
            if finding.rule != BROKEN.id:
                yield finding.model_copy(update={"line": piece.line, "column": 0})
            elif python:
                yield TANGLED.at(piece.line, "runs text as code that does not parse")
