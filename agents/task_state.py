"""What the agents of one team know together about the task in hand. Saved with the team after every turn."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict

from safety.code_blocks import CodeBlock, ParsedMessage
from safety.verdicts import BlockReview, Review
from sessions.events import StopReason

Outcome = Literal["", "ran", "failed", "denied", "refused", "sandbox"]
"""How the executor's turn ended: nothing to run, ran well, failed, denied by the reviewer, refused by the human, or the
sandbox itself failed."""


REMEMBERED = 32
"""Blocks whose quotation is known as one: what is quoted ran lately, and what is saved every turn must not grow."""


class Block(BaseModel):
    """A code block of the proposal, as it is saved."""

    model_config = ConfigDict(frozen=True)

    index: int
    language: str
    code: str
    line: int = 0

    def to_code_block(self) -> CodeBlock:
        """Return it as the parser's type."""
        return CodeBlock(index=self.index, language=self.language, code=self.code, line=self.line)


class Proposal(BaseModel):
    """The code generator's latest message, as the rest of the round sees it."""

    model_config = ConfigDict(frozen=True)

    message: str
    blocks: tuple[Block, ...] = ()
    unsupported: tuple[str, ...] = ()
    unterminated: bool = False
    cut: str = ""
    quotation: bool = False
    """Every block has already run successfully in this task: shown again, not to be run again."""

    @classmethod
    def of(cls, message: str, parsed: ParsedMessage, cut: str, ran: frozenset[str]) -> Proposal:
        """Build it from a parsed message. A cut message has no blocks."""
        blocks = () if cut or parsed.unterminated else parsed.blocks
        return cls(
            message=message,
            blocks=tuple(Block(index=b.index, language=b.language, code=b.code, line=b.line) for b in blocks),
            unsupported=parsed.unsupported,
            unterminated=parsed.unterminated,
            cut=cut,
            quotation=bool(blocks) and all(block.digest in ran for block in blocks),
        )

    @property
    def to_run(self) -> tuple[CodeBlock, ...]:
        """The blocks that may run if they are approved."""
        return () if self.quotation else tuple(block.to_code_block() for block in self.blocks)

    @property
    def unrunnable(self) -> str:
        """Why nothing of a message that holds code can run, in one sentence for the generator; else empty."""
        if self.cut:
            return f"Your message was cut ({self.cut}), so nothing of it was run. Send it again, shorter."
        if self.unterminated:
            return "A code fence in your message is never closed, so nothing of it was run. Close every fence."
        if self.unsupported and not self.blocks:
            names = ", ".join(f"`{name}`" for name in self.unsupported)
            return f"Code fenced as {names} cannot be run here and was not run."
        return ""


class TaskState(BaseModel):
    """The task, the proposal and its review, and the counters that tell when the team goes round in circles."""

    task: str = ""
    feedback: str = ""
    """The human's latest words in this task."""
    proposal: Proposal | None = None
    review: Review | None = None
    policy: str = ""
    """Digest of the sandbox policy that the review was made under."""
    outcome: Outcome = ""
    stop: StopReason | None = None
    stop_text: str = ""
    stuck: str = ""
    """Why the team is stuck; empty while it is not."""
    mends: int = 0
    """Failures and denials in a row."""
    denials: int = 0
    """Denials in a row."""
    sandbox_failures: int = 0
    last_failed: tuple[str, ...] = ()
    """Digests of the message that failed last."""
    last_error: str = ""
    ran: tuple[str, ...] = ()
    """Digests that ran successfully in this task, the last `REMEMBERED` of them."""
    approved: dict[str, str] = {}
    """Language to the code approved last, for the diff of the next question."""
    ask_again: tuple[str, ...] = ()
    """Digests whose run was interrupted: they need a human, whatever the verdict."""

    def begin(self, task: str) -> None:
        """Start a task: everything of the last one is forgotten but what was approved."""
        fresh = TaskState(task=task, approved=self.approved, ask_again=self.ask_again)
        self.replace(fresh)

    def replace(self, other: TaskState) -> None:
        """Take over the other's fields; the object stays the one that all agents hold."""
        for name in TaskState.model_fields:
            setattr(self, name, getattr(other, name))

    def propose(self, proposal: Proposal) -> None:
        """Note the generator's latest message; the last round's review and outcome are over."""
        self.proposal, self.review, self.outcome = proposal, None, ""

    def review_of(self, index: int) -> BlockReview | None:
        """The review of a block of the proposal, if there is one."""
        if self.review is None or self.proposal is None or self.review.message != self.proposal.message:
            return None
        return next((block for block in self.review.blocks if block.index == index), None)

    def end(self, reason: StopReason, text: str = "") -> None:
        """Say that the task is over after this turn."""
        self.stop, self.stop_text = reason, text

    def reset_counters(self) -> None:
        """Human input, a granted package and a sandbox's own failure start the count anew."""
        self.mends = self.denials = 0
        self.stuck = self.last_error = ""
        self.last_failed = ()

    def note_success(self, digests: tuple[str, ...]) -> None:
        """A message ran to its end."""
        self.outcome = "ran"
        self.sandbox_failures = 0
        self.ran = tuple(dict.fromkeys((*self.ran, *digests)))[-REMEMBERED:]
        self.reset_counters()

    def note_failure(self, digests: tuple[str, ...], error: str, retries: int) -> None:
        """A message failed. `error` is the program's output or what else went wrong."""
        self.outcome = "failed"
        self.denials = 0
        self.sandbox_failures = 0
        self.mends += 1
        signature = error_signature(error)
        if digests and digests == self.last_failed:
            self.stuck = "the same code failed again"
        elif signature and signature == self.last_error:
            self.stuck = "the same error came again"
        elif self.mends > retries:
            self.stuck = f"{self.mends} attempts in a row failed"
        self.last_failed, self.last_error = digests, signature

    def note_denial(self, digests: tuple[str, ...], retries: int) -> None:
        """A block of the message was denied."""
        self.outcome = "denied"
        self.denials += 1
        self.mends += 1
        if self.denials >= 2:
            self.stuck = "the code was denied twice in a row"
        elif self.mends > retries:
            self.stuck = f"{self.mends} attempts in a row failed or were denied"
        self.last_failed, self.last_error = digests, ""


def error_signature(output: str) -> str:
    """What tells an error from another: a traceback's last line, else the end of the output, numbers left out.

    Empty for an empty output: two silent failures are not known to be the same.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        return ""
    tail = lines[-1:] if any(line.startswith("Traceback (most recent call last)") for line in lines) else lines[-5:]
    return re.sub(r"0x[0-9a-f]+|\d+", "#", " ".join(tail))[-400:]
