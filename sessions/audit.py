"""The audit of a session: who let what run, and why; and whether an approval of exactly those bytes came before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from sessions.events import (
    AnswerEvent,
    ApprovalEvent,
    BlockInfo,
    Event,
    ExecutionEvent,
    MessageEvent,
    NoticeEvent,
    OutputEvent,
    QuestionEvent,
    ReviewEvent,
)
from sessions.store import Approval, Store


class AuditEntry(BaseModel):
    """What became of one block: it ran, broke off, or did not run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    message: str
    index: int
    language: str
    digest: str
    outcome: Literal["ran", "broken off", "not run"]
    approved_before: bool
    """An approval of exactly these bytes, at this place, was recorded before the run and used by no other run."""
    by: str = ""
    """`policy`, `human`, `override` or `standing`; empty where nothing was approved."""
    approval_seq: int = 0
    """Event of the approval."""
    run_seq: int = 0
    """First event of the run."""
    time: str = ""
    exit_code: int | None = None
    verdict: str = ""
    """What the reviewer said of these bytes; empty where it was not asked."""
    judge: str = ""
    """`rules`, `model` or `nobody`."""
    reason: str = ""
    """Why the reviewer said so."""
    answer: str = ""
    """What the human answered when asked about it."""
    edited: bool = False
    """The human changed the code before it ran."""
    redacted: bool = False
    """A secret in the code was replaced before it was recorded, so its digest cannot be computed again."""
    problems: tuple[str, ...] = ()
    """What does not fit together; empty for a run that is in order."""


def audit(store: Store, session: str) -> tuple[AuditEntry, ...]:
    """Every block of the session that was proposed or ran, in order. Raises `StoreError`."""
    auditor = _Auditor(store.approvals(session))
    for event in store.events(session):
        auditor.take(event)
    return tuple(auditor.entries())


@dataclass
class _Block:
    """What is known of the block at one place of a message, with these bytes."""

    message: str
    index: int
    digest: str
    language: str = ""
    proposed_seq: int = 0
    """Event of the message that proposed it; 0 for the human's edit."""
    review: dict[str, Any] | None = None
    answer: str = ""
    approvals: list[ApprovalEvent] = field(default_factory=list)
    settled_seq: int = 0
    """Event that says why nothing is asked about packages: they are there, or sandbox.yaml allows them."""
    printed: list[int] = field(default_factory=list)
    """Events of output at its place that no end has accounted for."""

    def approval(self, before: int) -> ApprovalEvent | None:
        """The last approval among the events up to and with `before`."""
        return next((event for event in reversed(self.approvals) if event.seq <= before), None)


class _Auditor:
    """Reads the events once, in order; an approval counts for one run and only for what comes after it."""

    def __init__(self, approvals: tuple[Approval, ...]) -> None:
        self._approvals = list(approvals)
        self._blocks: dict[tuple[str, int, str], _Block] = {}
        self._places: dict[tuple[str, int], str] = {}
        self._questions: dict[str, QuestionEvent] = {}
        self._printed: dict[tuple[str, int], list[int]] = {}
        self._done: list[tuple[int, AuditEntry]] = []
        self._ran: set[tuple[str, int, str]] = set()

    def take(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, MessageEvent):
            for block in event.blocks:
                self._propose(event, block)
        elif isinstance(event, ReviewEvent):
            for review in event.blocks:
                place = (event.message, int(review.get("index", 0)))
                self._block(*place, str(review.get("digest", ""))).review = review
        elif isinstance(event, QuestionEvent):
            self._questions[event.id] = event
        elif isinstance(event, AnswerEvent):
            self._answer(event)
        elif isinstance(event, ApprovalEvent):
            self._block(event.message, event.index, event.digest).approvals.append(event)
        elif isinstance(event, NoticeEvent) and event.kind == "settled":
            place = (str(event.details["message"]), int(event.details["index"]))
            self._block(*place, str(event.details["digest"])).settled_seq = event.seq
        elif isinstance(event, OutputEvent):
            self._printed.setdefault((event.message, event.index), []).append(event.seq)
        elif isinstance(event, ExecutionEvent):
            self._run(event)

    def entries(self) -> Iterator[AuditEntry]:
        """The entries, in the order of the conversation."""
        entries = list(self._done)
        for block in self._blocks.values():
            key = (block.message, block.index, block.digest)
            used = next((a for a in self._approvals if _key(a) == key and a.taken_seq is not None), None)
            if used is not None:
                entries.append((used.taken_seq or 0, self._entry(block, "broken off", used)))
            elif key not in self._ran and block.proposed_seq:
                entries.append((block.proposed_seq, self._entry(block, "not run", None)))
        return (entry for _, entry in sorted(entries, key=lambda each: each[0]))

    def _propose(self, message: MessageEvent, info: BlockInfo) -> None:
        block = self._block(message.id, info.index, info.digest)
        block.language, block.proposed_seq = info.language, message.seq
        self._places[message.id, info.index] = info.digest

    def _block(self, message: str, index: int, digest: str) -> _Block:
        return self._blocks.setdefault((message, index, digest), _Block(message, index, digest))

    def _answer(self, event: AnswerEvent) -> None:
        question = self._questions.get(event.question)
        if question is None or not question.message:
            return
        words = f"{event.decision}: {event.text}" if event.text else event.decision
        for asked in question.blocks:
            self._block(question.message, int(asked.get("index", 0)), str(asked.get("digest", ""))).answer = words

    def _run(self, event: ExecutionEvent) -> None:
        key = (event.message, event.index, event.digest)
        block = self._block(*key)
        block.language = event.language
        printed = self._printed.pop((event.message, event.index), [])
        mine = [a for a in self._approvals if _key(a) == key and a.taken_seq is not None and a.taken_seq < event.seq]
        used = mine[-1] if mine else None
        begun = min((seq for seq in printed if used and seq > (used.taken_seq or 0)), default=event.seq)
        if used is not None:
            self._approvals.remove(used)
        # Output from before the approval was used belongs to a run that broke off, which had an approval of its own.
        block.printed = [seq for seq in printed if seq < begun and not any((a.taken_seq or 0) < seq for a in mine)]
        self._ran.add(key)
        self._done.append((begun, self._entry(block, "ran", used, event, begun)))

    def _entry(
        self,
        block: _Block,
        outcome: Literal["ran", "broken off", "not run"],
        used: Approval | None,
        event: ExecutionEvent | None = None,
        begun: int = 0,
    ) -> AuditEntry:
        approval = block.approval((used.taken_seq or 0) if used else begun)
        review = block.review or {}
        proposed = self._places.get((block.message, block.index))
        redacted = bool(event and event.redacted and "[redacted:" in event.code)
        return AuditEntry(
            message=block.message,
            index=block.index,
            language=block.language,
            digest=block.digest,
            outcome=outcome,
            approved_before=used is not None and approval is not None and not block.printed,
            by=used.by if used else "",
            approval_seq=approval.seq if approval else 0,
            run_seq=begun,
            time=event.time if event else "",
            exit_code=event.exit_code if event else None,
            verdict=str(review.get("verdict", "")),
            judge=str(review.get("by", "")),
            reason=str(review.get("reason", "")),
            answer=block.answer,
            edited=proposed is not None and proposed != block.digest,
            redacted=redacted,
            problems=tuple(_problems(block, used, approval, event, redacted)) if outcome != "not run" else (),
        )


def _key(approval: Approval) -> tuple[str, int, str]:
    return approval.message, approval.index, approval.digest


def _problems(
    block: _Block, used: Approval | None, approval: ApprovalEvent | None, event: ExecutionEvent | None, redacted: bool
) -> Iterator[str]:
    """What is wrong with a run."""
    if block.printed:
        yield "it printed before an approval was used up"
    if used is None:
        yield "no approval of these bytes was used up before the run"
    if approval is None:
        yield "no approval of these bytes is among the events before the run"
    elif used is not None and (approval.by, approval.policy) != (used.by, used.policy):
        yield "the event of the approval and the approval that was used differ"
    verdict = str((block.review or {}).get("verdict", ""))
    settled = approval is not None and 0 < block.settled_seq < approval.seq and _asks_for_packages_alone(block)
    if used is not None and used.by == "policy" and verdict != "allow" and not settled:
        yield f"it ran by policy, but the review says {verdict or 'nothing'} of these bytes"
    if event is not None and event.code and not redacted and digest_of(event.language, event.code) != event.digest:
        yield "the code that is recorded does not have the digest that is recorded"


def _asks_for_packages_alone(block: _Block) -> bool:
    """Whether the rules asked about nothing but packages, and nobody else about anything."""
    review = block.review or {}
    asking = [finding for finding in review.get("findings", ()) if finding.get("verdict") != "allow"]
    alone = bool(asking) and all(finding.get("touches") == "packages" for finding in asking)
    return alone and review.get("verdict") == "ask" and review.get("by") == "rules"


def digest_of(language: str, code: str) -> str:
    """SHA-256 in hexadecimal of language, NUL and code: computed anew, so that the audit trusts no record of it."""
    return hashlib.sha256(f"{language}\0{code}".encode("utf-8", "surrogatepass")).hexdigest()
