"""The run question: what is asked before code runs, and what an answer to it means."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

from safety.code_blocks import CodeBlock
from sandbox.base import SandboxInfo
from sessions.events import AnswerEvent
from sessions.questions import Answer, AskedBlock, Decision, Question

SOURCE = "code_executor"
CONFIRM_CHARS = 6
"""Characters of the digest that a human types to override a denial."""


def run_question(
    message: str, shown: Sequence[AskedBlock], asked: Sequence[CodeBlock], info: SandboxInfo, *, again: bool
) -> Question:
    """Ask about some blocks of a message, all of which are shown. `again`: the run of one was interrupted before."""
    places = [block.index for block in asked]
    denied = [block for block in shown if block.index in places and block.verdict == "deny"]
    options: tuple[Decision, ...] = ("no", "edit") if denied else ("yes", "no", "edit", "always")
    if len(asked) > 1 and not denied:
        options = (*options, "each")
    text = f"The edited block {denied[0].index + 1} is denied: edit it again, or refuse it." if denied else ""
    return Question(
        id=uuid.uuid4().hex,
        kind="run",
        text=text or _permits(asked, info, again),
        source=SOURCE,
        message=message,
        blocks=tuple(shown),
        options=options,
        details={"asked": places},
    )


def override_question(message: str, block: AskedBlock) -> Question:
    """Ask whether a denied block is to run all the same."""
    return Question(
        id=uuid.uuid4().hex,
        kind="override",
        text=(
            f"Block {block.index + 1} ({block.language}) was denied. To run exactly these bytes once all the same, "
            f"read the whole code and type the first {CONFIRM_CHARS} characters of its digest."
        ),
        source=SOURCE,
        message=message,
        blocks=(block,),
        options=("yes", "no"),
    )


def one_each(answer: Answer, asked: Sequence[CodeBlock], may_run: Callable[[CodeBlock], bool]) -> dict[int, Answer]:
    """Spread an answer over the asked blocks, by their places. What is not clearly a yes is a no."""
    if answer.decision == "each":
        given = dict(zip((block.index for block in asked), answer.each, strict=False))
    else:
        given = {block.index: answer for block in asked}
    return {block.index: _plain(given.get(block.index, Answer("no")), may_run(block)) for block in asked}


def answered(question: Question, answer: Answer, digests: Sequence[str], edited: str = "") -> AnswerEvent:
    """Tell of an answer: `digests` may run by it, `edited` is the digest of the human's new bytes."""
    return AnswerEvent(
        source="user",
        question=question.id,
        kind=question.kind,
        decision=answer.decision,
        text=answer.text or "; ".join(_said(part) for part in answer.each),
        digests=tuple(digests),
        details={"edited": edited} if edited else {},
    )


def _said(answer: Answer) -> str:
    return f"{answer.decision} {answer.text}".strip()


def _permits(asked: Sequence[CodeBlock], info: SandboxInfo, again: bool) -> str:
    """Say in one sentence what a yes permits."""
    *most, last = (f"block {block.index + 1} ({block.language})" for block in asked)
    names = f"{', '.join(most)} and {last}" if most else last
    network = "with a network" if info.network == "full" else "no network"
    memory = f", {info.limits['memory']} of memory" if "memory" in info.limits else ""
    unknown = " Its last run was interrupted, and what it did until then is not known." if again else ""
    bytes_ = "these exact bytes" if len(asked) == 1 else "exactly these bytes"
    return f"Run {names}? A yes runs {bytes_} once in the sandbox ({network}{memory}, {info.timeout_s} s).{unknown}"


def _plain(answer: Answer, may_run: bool) -> Answer:
    if answer.decision == "text" and answer.text.strip().lower() in ("approve", "yes", "y"):
        answer = Answer("yes")
    return answer if answer.decision in ("yes", "always") and may_run else replace(answer, decision="no")
