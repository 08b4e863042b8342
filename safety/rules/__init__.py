"""The static rules: what a block would touch, read without running it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from safety.rules.rule import Rule
from safety.verdicts import Finding, Verdict, worst

MAX_BYTES = 48 * 1024
"""Larger blocks are not analysed: `ask`."""
MAX_INNER = 3
"""Levels of code inside code that are followed; below, `ask`."""
MAX_PIECES = 64
"""Pieces of inner code that are looked at for one block; past them, `ask`."""

TOO_LONG = Rule("reading.too-long", "ask", "nothing", "Too long to be analysed within the time that a review may take.", bad=("x = 1\n" * 9000,))
BROKEN = Rule("reading.broken", "ask", "nothing", "What does not parse cannot be judged; a shell still runs its first lines.", bad=("def (:", "#!bash\nif true; then"))
LANGUAGE = Rule("reading.language", "ask", "nothing", "No analysis for this language.", bad=())
TANGLED = Rule("reading.tangled", "ask", "obfuscation", "Too deep or too tangled to be followed to its end.", bad=("x = " + "-" * 3000 + "1",))
RULES = (TOO_LONG, BROKEN, LANGUAGE, TANGLED)


def review(language: str, code: str) -> tuple[Verdict, tuple[Finding, ...]]:
    """The verdict of the rules on one block, and the findings behind it, by line. Never raises."""
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


def all_rules() -> tuple[Rule, ...]:
    """Every rule, by family."""
    from safety.rules import credentials, environment, files, host, known, network, obfuscation, packages, people, persistence, processes, resources, reviewer, web

    families = (files, network, processes, persistence, credentials, environment, packages, obfuscation, resources, host, web, people, reviewer, known)
    return (*(rule for family in families for rule in family.RULES), *RULES)


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each rule and line, by line."""
    kept: dict[tuple[str, int], Finding] = {}
    for finding in findings:
        known = kept.get((finding.rule, finding.line))
        if known is None or worst((known.verdict, finding.verdict)) != known.verdict:
            kept[finding.rule, finding.line] = finding
    return tuple(sorted(kept.values(), key=lambda finding: (finding.line, finding.column, finding.rule)))


def _findings(language: str, code: str) -> Iterator[Finding]:
    from safety.rules import reviewer

    yield from reviewer.text(code)
    if language not in ("python", "bash", "sh"):
        yield LANGUAGE.at(0, f"{language}: not analysed")
        return
    pieces = [MAX_PIECES]
    yield from _read(language, code, MAX_INNER, pieces)
    if language == "python":
        from safety.rules import known

        yield from known.python(code)


def _read(language: str, code: str, levels: int, pieces: list[int]) -> Iterator[Finding]:
    yield from _python(code, levels, pieces) if language == "python" else _shell(code, levels, pieces)


def _python(code: str, levels: int, pieces: list[int]) -> Iterator[Finding]:
    from safety.python_program import BrokenSyntaxError, Program
    from safety.rules import credentials, environment, files, host, inner, network, obfuscation, packages, people, persistence, processes, resources, web

    try:
        program = Program(code)
    except BrokenSyntaxError as error:
        yield BROKEN.at(0, f"does not parse as Python: {error}")
        return
    for family in (files, network, processes, persistence, credentials, environment, packages, obfuscation, resources, host, web, people):
        yield from family.python(program)
    yield from _inner(inner.python(program), levels, pieces)
    if program.exhausted:
        yield TANGLED.at(0, "too tangled to be followed to its end")


def _shell(code: str, levels: int, pieces: list[int]) -> Iterator[Finding]:
    from safety.rules import credentials, environment, files, host, inner, network, obfuscation, packages, people, persistence, processes, resources, web
    from safety.shell_script import Script

    script = Script(code)
    if script.broken:
        yield BROKEN.at(0, "does not parse as a shell script")
    for family in (files, network, processes, persistence, credentials, environment, packages, obfuscation, resources, host, web, people):
        yield from family.shell(script)
    yield from _inner(inner.shell(script), levels, pieces)
    if script.exhausted:
        yield TANGLED.at(0, "too tangled to be followed to its end")


def _inner(found: Iterable[object], levels: int, pieces: list[int]) -> Iterator[Finding]:
    from safety.rules import obfuscation
    from safety.rules.inner import Inner

    for piece in found:
        assert isinstance(piece, Inner)
        pieces[0] -= 1
        if levels <= 0 or pieces[0] < 0:
            yield TANGLED.at(piece.line, "holds code inside code, too deep to be followed")
            return
        if piece.evaluated and _starts_programs(piece.code):
            yield obfuscation.EVAL.at(piece.line, "a text that is run as code starts other programs")
        for finding in _read(piece.language, piece.code, levels - 1, pieces):
            if finding.rule != BROKEN.id:
                yield finding.model_copy(update={"line": piece.line, "column": 0})
            elif piece.language == "python":
                yield TANGLED.at(piece.line, "runs text as code that does not parse")


def _starts_programs(code: str) -> bool:
    from safety.python_program import BrokenSyntaxError, Program
    from safety.rules.processes import RUNS

    try:
        return any(RUNS.match(call.name) for call in Program(code).calls)
    except BrokenSyntaxError:
        return False
