"""What bandit knows: its checks of libraries that the other families do not look at."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from safety.rules.rule import Rule
from safety.verdicts import Finding

if TYPE_CHECKING:
    from bandit.core.config import BanditConfig

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

CHECKS = frozenset(
    "B103 B201 B202 B302 B304 B305 B308 B309 B312 B321 B323 B401 B402 B412 B415 B501 B502 B503 B504 B505 B506 B507 B508 B509 B601 B609 B610 B611 B612 B702 B703 B704".split()
)
"""Those that speak of what a block does; the rest are habits (assert, random, /tmp) or the other families' own."""


@cache
def _config() -> BanditConfig:
    from bandit.core.config import BanditConfig

    # bandit warns on its loggers of what it cannot name; the verdict carries all that matters.
    logging.getLogger("bandit").setLevel(logging.CRITICAL)
    return BanditConfig()


def python(code: str) -> Iterator[Finding]:
    """Findings of bandit, by a manager of its own for each block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bandit.core.manager import BanditManager

        config = _config()
        manager = BanditManager(config, "file", profile={"include": CHECKS, "exclude": set()}, ignore_nosec=True)
        manager._parse_file("block/__main__.py", io.BytesIO(code.encode("utf-8", "replace")), [])
    for name, reason in manager.skipped:
        if name:
            yield UNREAD.at(0, f"bandit could not read it: {reason}")
    for issue in manager.results:
        yield BANDIT.at(max(0, issue.lineno), f"{issue.test_id}: {issue.text.splitlines()[0][:160]}", max(0, issue.col_offset) + 1)
