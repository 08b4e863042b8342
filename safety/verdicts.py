"""The vocabulary of a review: `allow`, `ask`, `deny`, and the findings behind them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

Verdict = Literal["allow", "ask", "deny"]
"""`allow` runs, `ask` asks the human first, `deny` does not run."""

Touches = Literal[
    "files outside the workspace",
    "network",
    "process control",
    "persistence",
    "credentials",
    "obfuscation",
    "resource exhaustion",
    "packages",
    "environment",
    "host",
    "reviewer",
    "nothing",
]
"""What a finding is about."""

_ORDER: dict[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The strictest of the verdicts. A chain with nothing in it ends in `deny`."""
    return max(verdicts, key=_ORDER.__getitem__, default="deny")


class Finding(BaseModel):
    """One thing that a rule saw in a block."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    """Identifier of the rule, such as `network.socket`."""
    verdict: Verdict
    """The verdict that this finding alone leads to."""
    message: str
    """What was seen, in plain words."""
    line: int = 0
    """Line in the block, from 1; 0 where the finding is about the whole block."""
    column: int = 0
    """Column in the line, from 1; 0 where it is not known."""
    touches: Touches = "nothing"


class BlockReview(BaseModel):
    """The judgement of one code block."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    """Place of the block in its message, from 0."""
    language: str
    digest: str
    """`CodeBlock.digest` of the bytes that were judged."""
    verdict: Verdict
    reason: str
    """One sentence for the human and the generator."""
    findings: tuple[Finding, ...] = ()
    by: Literal["rules", "model", "nobody"] = "rules"
    """Who the verdict comes from; `nobody` where the reviewer failed and the verdict is therefore `ask`."""


class Review(BaseModel):
    """The judgement of one message: a verdict for each of its blocks, in order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    message: str
    """Identifier of the message that was judged."""
    blocks: tuple[BlockReview, ...]
