"""Who lets the blocks of a proposal run: the reviewer's verdict, the policy, and the human where the policy says so."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from autogen_core import CancellationToken

from agents.grants import Grants, Missing, Need
from agents.parts import Parts
from agents.run_question import CONFIRM_CHARS, SOURCE, answered, one_each, override_question, run_question
from agents.task_state import Block, Proposal
from safety.code_blocks import CodeBlock
from safety.verdicts import BlockReview, Finding, Review
from sessions.events import ApprovalEvent, NoticeEvent
from sessions.questions import Answer, AskedBlock, Question

By = Literal["policy", "human", "override", "standing"]


@dataclass(frozen=True)
class Ruling:
    """What was decided about one block."""

    block: CodeBlock
    approved: bool
    denied: bool = False
    """The reviewer's denial stands, or nobody could be asked; a human's refusal is neither approved nor denied."""
    reason: str = ""
    change: str = ""
    """Unified diff of the human's edit; empty where there was none."""
    packages: tuple[str, ...] = ()
    """Requirements that were granted, to be installed before it runs."""
    network: bool = False
    """It was granted a network for this run."""


class RunApproval:
    """Decides about one proposal, once. Everything is asked before anything runs."""

    def __init__(self, parts: Parts, proposal: Proposal, token: CancellationToken) -> None:
        self._parts = parts
        self._proposal = proposal
        self._token = token
        self._blocks = list(proposal.to_run)
        self._originals = {block.index: block.code for block in self._blocks}
        self._edits: dict[int, str] = {}
        self._edited: set[int] = set()
        self._told: set[tuple[str, str]] = set()
        self.grants = Grants(parts, proposal.message, token, self._asked, self._record)

    async def decide(self) -> list[Ruling]:
        """Return the rulings in order, up to and with the first block that may not run.

        Raises `EndOfInputError` when the input ends at a question; cancelled with the token.
        """
        rulings: list[Ruling] = []
        while len(rulings) < len(self._blocks):
            rest = self._blocks[len(rulings) :]
            run = self._leading(rest)
            if run:
                rulings += await self._decide_run(run)
            elif (need := self._need(rest[0])) is not None:
                rulings.append(await self._decide_need(rest[0], need))
            else:
                rulings.append(await self._decide_denied(rest[0]))
            if not rulings[-1].approved:
                break
        return rulings

    def _leading(self, blocks: Sequence[CodeBlock]) -> list[CodeBlock]:
        """Return the blocks before the first that is denied or needs a grant."""
        leading: list[CodeBlock] = []
        for block in blocks:
            if self._review(block).verdict == "deny" or self._need(block) is not None:
                break
            leading.append(block)
        return leading

    def _need(self, block: CodeBlock) -> Need | None:
        return self.grants.need(block, self._review(block))

    async def _decide_need(self, block: CodeBlock, need: Need) -> Ruling:
        """Decide about a block that needs packages or a network: by questions of their own, then the rest of it."""
        asks = [self.grants.ask_network] if need.network else []
        if need.packages and not self.grants.allowed(need.packages):
            asks.append(partial(self.grants.ask_packages, requirements=need.packages))
        if asks and not self._parts.desk.human_at_runs:
            return self._without_human([block], block)[0]
        for ask in asks:
            answer = await ask(block)
            if answer.decision != "yes":
                return self._refused(block, answer.text)
        if asks and (need.settled or need.network):
            ruling = self._approve(block, "human")
        elif need.settled and self._review(block).by == "rules" and not self._insists(block):
            self._tell_settled(block, need)
            ruling = self._approve(block, self._by(block))
        else:
            ruling = (await self._decide_run([block]))[0]
        return replace(ruling, packages=need.packages, network=need.network)

    def _tell_settled(self, block: CodeBlock, need: Need) -> None:
        """Say, for the audit too, why a block that the rules would have asked about runs without a question."""
        why = f"needs {', '.join(need.packages)}, allowed by sandbox.yaml" if need.packages else "needs no new package"
        self._parts.desk.emit(
            NoticeEvent(
                source=SOURCE,
                kind="settled",
                text=f"Block {block.index + 1} ({block.language}) {why}: nothing is asked.",
                details={"message": self._proposal.message, "index": block.index, "digest": block.digest},
            )
        )

    def _insists(self, block: CodeBlock) -> bool:
        """Whether a human is to be asked whatever the verdict is."""
        again = block.index in self._edited or block.digest in self._parts.state.ask_again
        return again or (self._parts.desk.ask_policy == "always" and not self._parts.gate.is_standing(block.digest))

    async def decide_missing(self, ruling: Ruling, missing: Missing) -> tuple[Ruling | None, str]:
        """Decide about a block that stopped for want of a module: the ruling for running it once more, or why not."""
        block, wanted = ruling.block, [missing.package]
        if self._review(block).verdict == "deny":
            # The override was for one run; a yes to a package is none for another.
            return None, f"The package {missing.package} is not installed for code that was denied: do without it."
        allowed = self.grants.allowed(wanted)
        if not allowed and not self._parts.desk.human_at_runs:
            return None, (
                f"The package {missing.package} would need a human's yes, and {self._nobody()}: do without it."
            )
        if not allowed:
            answer = await self.grants.ask_packages(block, wanted, missing.module)
            if answer.decision != "yes":
                reason = f": {answer.text.strip()}" if answer.text.strip() else "."
                return None, f"The human did not grant the package {missing.package}{reason} Do without it."
        done = await self.grants.install(wanted)
        if done.problem:
            return None, f"{done.problem} Do without it."
        if allowed:
            # What has run already runs again by a human alone.
            return None, f"The package {missing.package} is installed now: send the block again."
        return replace(self._approve(block, "human"), network=ruling.network), f"{missing.package} was granted."

    async def _decide_run(self, blocks: list[CodeBlock]) -> list[Ruling]:
        """Approve what needs no human, ask about the rest. An edit starts the question anew."""
        while True:
            asked = [block for block in blocks if self._needs_human(block)]
            if not asked:
                return [self._approve(block, self._by(block)) for block in blocks]
            if not self._parts.desk.human_at_runs:
                return self._without_human(blocks, asked[0])
            question = self._question(asked)
            answer = await self._parts.desk.put(question, self._token)
            if answer.decision == "edit":
                blocks = await self._edit(question, answer, blocks)
                continue
            answers = one_each(answer, asked, self._may_run)
            self._record(question, answer, [b.digest for b in asked if answers[b.index].decision in ("yes", "always")])
            return self._apply(blocks, answers)

    def _apply(self, blocks: Sequence[CodeBlock], answers: dict[int, Answer]) -> list[Ruling]:
        rulings: list[Ruling] = []
        for block in blocks:
            answer = answers.get(block.index)
            if answer is None:
                rulings.append(self._approve(block, self._by(block)))
            elif answer.decision in ("yes", "always"):
                if answer.decision == "always":
                    self._parts.gate.approve_always(block.digest)
                rulings.append(self._approve(block, "human"))
            else:
                return [*rulings, self._refused(block, answer.text)]
        return rulings

    async def _decide_denied(self, block: CodeBlock) -> Ruling:
        """Uphold a denial, or let a human who has seen the whole code override it, where that may be asked."""
        review = self._review(block)
        denied = Ruling(block, approved=False, denied=True, reason=review.reason)
        if not self._may_override():
            return denied
        question = override_question(self._proposal.message, self._asked(block))
        answer = await self._parts.desk.put(question, self._token)
        confirmed = (
            answer.decision == "yes"
            and answer.shown_whole
            and answer.confirm.strip().lower() == block.digest[:CONFIRM_CHARS]
        )
        self._record(question, answer, [block.digest] if confirmed else [])
        if confirmed:
            return self._approve(block, "override")
        if answer.text.strip():
            return self._refused(block, answer.text)
        return denied

    def _may_override(self) -> bool:
        """Tell whether a human may be asked about a denial: when it makes the team stuck, or under `--ask always`."""
        desk, state = self._parts.desk, self._parts.state
        if not desk.human_at_runs:
            return False
        return desk.ask_policy == "always" or state.denials >= 1 or state.mends >= self._parts.retries

    def _review(self, block: CodeBlock) -> BlockReview:
        review = self._parts.state.review_of(block.index)
        if review is not None and review.digest == block.digest:
            if self._parts.state.policy == self._parts.sandbox.info.policy:
                return review
            # What the sandbox permits was changed before a resume: an `allow` may rest on what it forbade.
            reason = "sandbox.yaml was changed after this block was judged."
            changed = {"verdict": "ask", "reason": reason, "by": "nobody"}
            return review if review.verdict == "deny" else review.model_copy(update=changed)
        return BlockReview(
            index=block.index,
            language=block.language,
            digest=block.digest,
            verdict="deny",
            reason="This block was never reviewed.",
            by="nobody",
        )

    def _needs_human(self, block: CodeBlock) -> bool:
        if block.index in self._edited or block.digest in self._parts.state.ask_again:
            return True
        if self._parts.gate.is_standing(block.digest):
            return False
        return self._review(block).verdict == "ask" or self._parts.desk.ask_policy == "always"

    def _by(self, block: CodeBlock) -> By:
        return "standing" if self._parts.gate.is_standing(block.digest) else "policy"

    def _without_human(self, blocks: Sequence[CodeBlock], first: CodeBlock) -> list[Ruling]:
        review = self._review(first)
        if review.by == "nobody":
            self._parts.state.end("error", f"{review.reason} Nobody is there to decide instead.")
        before = [self._approve(block, self._by(block)) for block in blocks if block.index < first.index]
        why = self._nobody()
        reason = f"It needs a human's yes, and {why}: {review.reason}"
        if first.digest in self._parts.state.ask_again:
            reason = f"Its last run was interrupted, so it needs a human's yes, and {why}."
        text = f"Block {first.index + 1} ({first.language}) is not run. {reason}"
        self._parts.desk.emit(NoticeEvent(source=SOURCE, kind="not run", text=text))
        return [*before, Ruling(first, approved=False, denied=True, reason=reason)]

    def _nobody(self) -> str:
        return "--ask never is set" if self._parts.desk.ask is not None else "nobody is there to ask"

    def _approve(self, block: CodeBlock, by: By) -> Ruling:
        state, gate = self._parts.state, self._parts.gate
        gate.approve(self._proposal.message, block.index, block.digest, by)
        self._parts.desk.emit(
            ApprovalEvent(
                source=SOURCE,
                message=self._proposal.message,
                index=block.index,
                digest=block.digest,
                by=by,
                policy=self._parts.sandbox.info.policy,
            )
        )
        state.approved = {**state.approved, block.language: block.code}
        state.ask_again = tuple(digest for digest in state.ask_again if digest != block.digest)
        return Ruling(block, approved=True, change=self._edits.get(block.index, ""))

    def _refused(self, block: CodeBlock, reason: str) -> Ruling:
        return Ruling(block, approved=False, reason=reason.strip(), change=self._edits.get(block.index, ""))

    async def _edit(self, question: Question, answer: Answer, blocks: list[CodeBlock]) -> list[CodeBlock]:
        """Take the human's new bytes, have them judged at once, and return the blocks to ask about."""
        old = next((block for block in blocks if block.index == answer.index), None)
        if old is None or not answer.code.strip():
            self._record(question, answer, [])
            return blocks
        new = self._parts.gate.edit(self._proposal.message, old.index, answer.code)
        self._record(question, answer, [], new.digest)
        self._edited.add(new.index)
        self._edits[new.index] = _diff(self._originals[new.index], new.code)
        self._blocks[self._blocks.index(old)] = new
        self._replace_in_state(new)
        await self._judge_again(new)
        return [new if block.index == new.index else block for block in blocks]

    def _replace_in_state(self, new: CodeBlock) -> None:
        edited = Block(index=new.index, language=new.language, code=new.code, line=new.line)
        self._proposal = self._proposal.model_copy(
            update={"blocks": tuple(edited if b.index == new.index else b for b in self._proposal.blocks)}
        )
        self._parts.state.proposal = self._proposal

    async def _judge_again(self, block: CodeBlock) -> None:
        state = self._parts.state
        review, event = await self._parts.review.judge(
            self._proposal.message, [block], task=state.task, feedback=state.feedback, token=self._token
        )
        assert state.review is not None
        state.review = Review(
            message=self._proposal.message,
            blocks=tuple(review.blocks[0] if b.index == block.index else b for b in state.review.blocks),
        )
        self._parts.desk.emit(event)

    def _question(self, asked: Sequence[CodeBlock]) -> Question:
        state = self._parts.state
        return run_question(
            self._proposal.message,
            [self._asked(block) for block in self._blocks],
            asked,
            self._parts.sandbox.info,
            again=any(block.digest in state.ask_again for block in asked),
        )

    def _asked(self, block: CodeBlock) -> AskedBlock:
        review = self._review(block)
        warned = [Finding(rule="workspace.changed", verdict="ask", message=text) for text in self._warnings(block)]
        self._told.update((block.digest, finding.message) for finding in warned)
        return AskedBlock(
            index=block.index,
            language=block.language,
            code=block.code,
            digest=block.digest,
            verdict=review.verdict,
            reason=review.reason,
            findings=tuple(finding.model_dump() for finding in (*review.findings, *warned)),
            previous=self._parts.state.approved.get(block.language, ""),
        )

    def _warnings(self, block: CodeBlock) -> tuple[str, ...]:
        return self._parts.sandbox.warnings(block.language, block.code)

    def untold(self, block: CodeBlock) -> tuple[str, ...]:
        """What a human should know of the block and its surroundings as of now, and no question has said."""
        return tuple(text for text in self._warnings(block) if (block.digest, text) not in self._told)

    def _may_run(self, block: CodeBlock) -> bool:
        return self._review(block).verdict != "deny"

    def _record(self, question: Question, answer: Answer, digests: Sequence[str], edited: str = "") -> None:
        self._parts.desk.emit(answered(question, answer, digests, edited))


def _diff(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "proposed", "edited", lineterm="")
    return "\n".join(lines)
