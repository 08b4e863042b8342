"""What the human is asked, and what may be answered: plain data between the agents and an interface."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

QuestionKind = Literal["run", "override", "feedback", "stuck", "package", "network"]
"""`run`: may these blocks run; `override`: denied blocks, shown whole and confirmed by digest; `feedback`: the result
or the answer is there, APPROVE or what to change; `stuck`: the team goes round in circles, what now; `package` and
`network`: a grant for one block."""

Decision = Literal["yes", "no", "edit", "always", "each", "text"]
"""`text` answers `feedback` and `stuck`; `each` carries one answer a block."""


@dataclass(frozen=True)
class AskedBlock:
    """A block as the human must see it."""

    index: int
    language: str
    code: str
    digest: str
    verdict: str
    reason: str
    findings: tuple[dict[str, Any], ...] = ()
    """Fields of `safety.verdicts.Finding`."""
    previous: str = ""
    """Code of the last approved block of the same language, for a diff; empty where there is none."""


@dataclass(frozen=True)
class Question:
    """One question to the human."""

    id: str
    kind: QuestionKind
    text: str
    """One sentence: what is asked and what a yes permits."""
    source: str
    """Agent that asks."""
    message: str = ""
    """Identifier of the message that the blocks belong to."""
    blocks: tuple[AskedBlock, ...] = ()
    options: tuple[Decision, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What the human said.

    `yes` to an `override` question counts only with `confirm` equal to the first 6 characters of the digest of the
    block (of each block: see `each`) and `shown_whole` set by the interface once the whole code was on the screen.
    """

    decision: Decision
    text: str = ""
    """Reason of a `no`, or the words of a `text` answer."""
    code: str = ""
    """New code of an `edit`."""
    index: int = 0
    """Block that an `edit` is of."""
    confirm: str = ""
    shown_whole: bool = False
    each: tuple[Answer, ...] = ()
    """One answer a block, in order, where `decision` is `each`."""


Ask = Callable[[Question], Awaitable[Answer]]
"""Supplied by the interface. Raises `EndOfInputError` when nobody can answer; may be cancelled at any moment."""
