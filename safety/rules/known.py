"""What bandit knows: its checks of libraries that the other families do not look at."""

from __future__ import annotations

import ast
import io
import logging
import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from safety.clock import Clock
from safety.python_values import words
from safety.rules.rule import Rule
from safety.verdicts import Finding

if TYPE_CHECKING:
    from bandit.core.config import BanditConfig  # type: ignore[import-untyped]  # bandit ships no types

BANDIT = Rule(
    "known.bandit",
    "ask",
    "nothing",
    "A pattern that bandit reports; `# nosec` is not obeyed.",
    bad=("import requests\nrequests.get('x', verify=False)  # nosec",),
    good=("print(1)",),
)
UNREAD = Rule(
    "known.unread",
    "ask",
    "nothing",
    "bandit could not read the block: that is not the same as nothing found.",
    bad=(),
)
RULES = (BANDIT, UNREAD)

CHECKS = words(
    "B103 B201 B202 B302 B304 B305 B308 B309 B312 B321 B323 B401 B402 B412 B415 B501 B502 B503 B504 B505 "
    "B506 B507 B508 B509 B601 B609 B610 B611 B612 B702 B703 B704"
)
"""Those that speak of what a block does; the rest are habits (assert, random, /tmp) or the other families' own."""
_WORTH = re.compile(
    r"verify|ssl|SSL|flask|debug|tarfile|marshal|Crypt|crypt|mark_safe|safestring|HTTPSConnection|telnetlib"
    r"|ftplib|CGIHandler|pyghmi|yaml|paramiko|pysnmp|"
    r"RawSQL|\.extra\(|listen|mako|Markup|chmod|popen|system|shell|spawn"
)
"""Words without which none of the checks can find anything."""


def _worth_reading(code: str) -> str:
    """The imports and the top-level statements that hold one of the words, at their lines; empty where none does."""
    if not _WORTH.search(code):
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    lines = code.splitlines(keepends=True)
    kept = ["\n"] * len(lines)
    for statement in statements:
        first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and statement.decorator_list:
            first = statement.decorator_list[0].lineno - 1
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or _WORTH.search("".join(lines[first:last])):
            kept[first:last] = lines[first:last]
    return "".join(kept)


@cache
def _config() -> BanditConfig:
    from bandit.core.config import BanditConfig

    return BanditConfig()


def python(code: str, clock: Clock) -> Iterator[Finding]:
    """Findings of bandit, by a manager of its own for each block; not asked where no check has anything to look at."""
    code = _worth_reading(code)
    if not code:
        return
    if clock.is_over:
        yield UNREAD.at(0, "too much to be read in time by bandit")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Neither may write to the log of whoever asks: the verdict carries all that matters.
        for name in ("bandit", "stevedore"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        from bandit.core.manager import BanditManager  # type: ignore[import-untyped]  # as above

        config = _config()
        manager = BanditManager(config, "file", profile={"include": CHECKS, "exclude": set()}, ignore_nosec=True)
        manager._parse_file("block/__main__.py", io.BytesIO(code.encode("utf-8", "replace")), [])
    for name, reason in manager.skipped:
        if name:
            yield UNREAD.at(0, f"bandit could not read it: {reason}")
    for issue in manager.results:
        yield BANDIT.at(
            max(0, issue.lineno), f"{issue.test_id}: {issue.text.splitlines()[0][:160]}", max(0, issue.col_offset) + 1
        )
