"""The audit finds every run that was not let through, whatever the record claims elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from safety.code_blocks import digest
from safety.verdicts import Finding, Touches
from sessions.audit import AuditEntry, audit, digest_of
from sessions.events import (
    AnswerEvent,
    ApprovalEvent,
    ExecutionEvent,
    MessageEvent,
    NoticeEvent,
    OutputEvent,
    QuestionEvent,
    load_event,
)
from sessions.memory_store import MemoryStore
from sessions.redaction import Redactor
from tests.sessions.example import Writer, write_example


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(redactor=Redactor({"PLANTED_KEY": "planted-secret"}))


@pytest.fixture
def writer(store: MemoryStore, tmp_path: Path) -> Writer:
    return Writer(store, store.create(), tmp_path)


def proposed(writer: Writer, verdict: str = "allow", code: str = "print(1)\n") -> MessageEvent:
    message = writer.message("x", ("python", code))
    writer.review(message, (verdict, "because"))
    return message


def one(writer: Writer) -> AuditEntry:
    (entry,) = audit(writer.store, writer.session)
    return entry


def approve(writer: Writer, message: MessageEvent, by: str = "policy") -> None:
    block = message.blocks[0]
    writer.store.approval_log(writer.session).approved(message.id, 0, block.digest, by, "p")  # type: ignore[arg-type]
    event = ApprovalEvent(source="x", message=message.id, index=0, digest=block.digest, by=by, policy="p")  # type: ignore[arg-type]
    writer.store.append(writer.session, event)


def take(writer: Writer, message: MessageEvent) -> None:
    writer.store.approval_log(writer.session).taken(message.id, 0, message.blocks[0].digest)


def output(writer: Writer, message: MessageEvent) -> None:
    writer.store.append(
        writer.session, OutputEvent(source="code_executor", message=message.id, stream="stdout", text="1\n")
    )


def end(writer: Writer, message: MessageEvent, **changes: object) -> None:
    block = message.blocks[0]
    event = ExecutionEvent(
        source="code_executor",
        message=message.id,
        index=0,
        digest=block.digest,
        language="python",
        code=block.code,
        exit_code=0,
        duration_s=0.1,
    )
    writer.store.append(writer.session, event.model_copy(update=changes))


def test_the_digest_is_the_gates() -> None:
    for code in ("", "print(1)\r\n", "ü\0\ud800"):
        assert digest_of("python", code) == digest("python", code)


def test_a_session_in_order(store: MemoryStore, tmp_path: Path) -> None:
    entries = audit(store, write_example(store, tmp_path))
    runs = [entry for entry in entries if entry.outcome == "ran"]
    assert [entry.by for entry in runs] == ["policy", "human", "policy", "policy", "human"]
    assert all(entry.approved_before and not entry.problems for entry in runs)
    assert [entry.run_seq for entry in runs] == sorted(entry.run_seq for entry in runs)
    assert all(0 < entry.approval_seq < entry.run_seq for entry in runs)
    assert runs[1].answer == "yes"
    assert runs[4].edited
    denied = next(entry for entry in entries if entry.verdict == "deny")
    assert (denied.outcome, denied.judge, denied.reason) == ("not run", "rules", "a connection to the world")


def test_a_run_without_any_approval(writer: Writer) -> None:
    end(writer, proposed(writer))
    entry = one(writer)
    assert (entry.outcome, entry.approved_before, entry.by) == ("ran", False, "")
    assert len(entry.problems) == 2


def test_an_approval_that_was_never_used_up_does_not_count(writer: Writer) -> None:
    message = proposed(writer)
    approve(writer, message)
    end(writer, message)
    assert not one(writer).approved_before
    assert "used up" in one(writer).problems[0]


def test_an_approval_after_the_run_does_not_count(writer: Writer) -> None:
    message = proposed(writer)
    end(writer, message)
    approve(writer, message, "human")
    take(writer, message)
    ran = next(entry for entry in audit(writer.store, writer.session) if entry.outcome == "ran")
    assert not ran.approved_before
    assert ran.problems


def test_an_approval_in_the_middle_of_the_run_does_not_count(writer: Writer) -> None:
    message = proposed(writer)
    output(writer, message)
    approve(writer, message, "human")
    take(writer, message)
    end(writer, message)
    assert not one(writer).approved_before
    assert "it printed before an approval was used up" in one(writer).problems


def test_one_approval_does_not_count_for_two_runs(writer: Writer) -> None:
    message = proposed(writer)
    approve(writer, message)
    take(writer, message)
    end(writer, message)
    end(writer, message)
    first, second = audit(writer.store, writer.session)
    assert (first.approved_before, second.approved_before) == (True, False)


def test_an_approval_of_other_bytes_does_not_count(writer: Writer) -> None:
    message = proposed(writer)
    approve(writer, message)
    take(writer, message)
    other = digest_of("python", "evil()\n")
    end(writer, message, digest=other, code="evil()\n")
    ran = next(entry for entry in audit(writer.store, writer.session) if entry.outcome == "ran")
    assert (ran.digest, ran.approved_before, ran.edited) == (other, False, True)


def test_code_that_is_not_what_its_digest_says(writer: Writer) -> None:
    message = proposed(writer)
    approve(writer, message)
    take(writer, message)
    end(writer, message, code="evil()\n")
    assert one(writer).problems == ("the code that is recorded does not have the digest that is recorded",)


def test_policy_is_no_excuse_where_the_review_did_not_allow(writer: Writer) -> None:
    message = proposed(writer, "ask")
    approve(writer, message, "policy")
    take(writer, message)
    end(writer, message)
    assert one(writer).problems == ("it ran by policy, but the review says ask of these bytes",)


@pytest.mark.parametrize(
    ("touches", "late", "in_order"), [("packages", False, True), ("packages", True, False), ("network", False, False)]
)
def test_packages_that_need_no_question_excuse_nothing_else(
    writer: Writer, touches: Touches, late: bool, in_order: bool
) -> None:
    message = proposed(writer, "ask")
    seen = Finding(rule="r", verdict="ask", message="m", touches=touches).model_dump()
    asked = list(writer.store.events(writer.session))[-1].model_dump() | {"seq": 0}
    asked["blocks"] = [{**asked["blocks"][0], "by": "rules", "findings": [seen]}]
    writer.store.append(writer.session, load_event(asked))
    details = {"message": message.id, "index": 0, "digest": message.blocks[0].digest}
    settled = NoticeEvent(source="code_executor", kind="settled", text="x", details=details)
    if late:
        approve(writer, message)
    writer.store.append(writer.session, settled)
    if not late:
        approve(writer, message)
    take(writer, message)
    end(writer, message)
    assert (one(writer).problems == ()) is in_order


def test_an_event_that_claims_another_approver(writer: Writer) -> None:
    message = proposed(writer)
    block = message.blocks[0]
    writer.store.approval_log(writer.session).approved(message.id, 0, block.digest, "policy", "p")
    writer.store.append(
        writer.session,
        ApprovalEvent(source="x", message=message.id, index=0, digest=block.digest, by="human", policy="p"),
    )
    take(writer, message)
    end(writer, message)
    assert one(writer).problems == ("the event of the approval and the approval that was used differ",)


def test_a_run_that_broke_off_and_ran_again(writer: Writer) -> None:
    message = proposed(writer)
    approve(writer, message)
    take(writer, message)
    output(writer, message)
    broken = one(writer)
    assert (broken.outcome, broken.by, broken.problems) == ("broken off", "policy", ())
    approve(writer, message, "human")
    take(writer, message)
    output(writer, message)
    end(writer, message)
    first, second = audit(writer.store, writer.session)
    assert (first.outcome, first.by, first.problems) == ("broken off", "policy", ())
    assert (second.outcome, second.by, second.problems) == ("ran", "human", ())
    assert second.approved_before


def test_a_refusal_is_told_with_its_reason(writer: Writer) -> None:
    message = proposed(writer, "ask")
    writer.ask(message, "no", "not on this machine")
    entry = one(writer)
    assert (entry.outcome, entry.answer) == ("not run", "no: not on this machine")


def test_answers_to_other_questions_are_not_counted(writer: Writer) -> None:
    proposed(writer, "ask")
    writer.store.append(writer.session, QuestionEvent(source="x", id="f", kind="feedback", text="Well?"))
    writer.store.append(writer.session, AnswerEvent(source="user", question="f", decision="text", text="good"))
    assert one(writer).answer == ""


def test_code_with_a_secret_keeps_its_true_digest(writer: Writer) -> None:
    message = proposed(writer, code="key = 'planted-secret'\n")
    approve(writer, message)
    take(writer, message)
    end(writer, message)
    entry = one(writer)
    assert entry.digest == digest_of("python", "key = 'planted-secret'\n")
    assert entry.redacted
    assert entry.problems == ()
