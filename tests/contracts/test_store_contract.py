"""What every store of sessions must do: SQLite and memory alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sessions.events import (
    AnswerEvent,
    BlockInfo,
    Event,
    ExecutionEvent,
    MessageEvent,
    OutputEvent,
    QuestionEvent,
    ReviewEvent,
    StopEvent,
    TaskEvent,
    Usage,
)
from sessions.memory_store import Memory, MemoryStore
from sessions.redaction import Redactor
from sessions.sqlite_store import SqliteStore
from sessions.store import Store, StoredFile
from utils.errors import NotApprovedError, SessionBusyError, StoreError

SECRET = "planted-secret-value-42"
DIGEST = hashlib.sha256(b"code").hexdigest()

Make = Callable[[], Store]


@pytest.fixture(params=["sqlite", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Stores over the same data, as several programs have them."""
    memory = Memory()
    made: list[Store] = []

    def one() -> Store:
        redactor = Redactor({"PLANTED_KEY": SECRET})
        store: Store
        if request.param == "sqlite":
            store = SqliteStore(tmp_path / "data" / "roundtable.db", redactor=redactor)
        else:
            store = MemoryStore(memory, redactor=redactor)
        made.append(store)
        return store

    yield one
    for store in made:
        store.close()


@pytest.fixture
def store(make: Make) -> Store:
    return make()


def message(identifier: str, *codes: str, usage: Usage | None = None) -> MessageEvent:
    blocks = tuple(BlockInfo(index=i, language="python", digest=DIGEST, code=code) for i, code in enumerate(codes))
    return MessageEvent(source="code_generator", id=identifier, text="text", blocks=blocks, usage=usage or Usage())


def execution(identifier: str, index: int = 0, digest: str = DIGEST) -> ExecutionEvent:
    return ExecutionEvent(
        source="code_executor",
        message=identifier,
        index=index,
        digest=digest,
        language="python",
        exit_code=0,
        duration_s=0.1,
    )


def test_events_come_back_numbered_dated_and_in_order(store: Store) -> None:
    session = store.create()
    given: list[Event] = [
        TaskEvent(source="user", text="dö it\n😀\0"),
        message("m1", "print(1)\n"),
        OutputEvent(source="code_executor", stream="stderr", text="\x1b[31mred"),
        execution("m1"),
        StopEvent(source="program", reason="approved"),
    ]
    recorded = [store.append(session, event) for event in given]
    assert [event.seq for event in recorded] == [1, 2, 3, 4, 5]
    assert all(event.session == session and event.time.endswith("Z") for event in recorded)
    assert list(store.events(session)) == recorded
    assert list(store.events(session, after=3)) == recorded[3:]
    plain = {"seq": 0, "time": "", "session": ""}
    assert [event.model_copy(update=plain) for event in recorded] == given


def test_many_events_come_back_whole(store: Store) -> None:
    session = store.create()
    for number in range(1203):
        store.append(session, OutputEvent(source="x", stream="stdout", text=str(number)))
    assert [event.text for event in store.events(session) if event.type == "output"] == [str(n) for n in range(1203)]


def test_lone_surrogates_are_kept_as_replacement_characters(store: Store) -> None:
    session = store.create()
    recorded = store.append(session, message("m1", "x = '\ud800'"))
    assert list(store.events(session)) == [recorded]
    assert isinstance(recorded, MessageEvent)
    assert recorded.blocks[0].code == "x = '\ufffd'"
    assert recorded.blocks[0].digest == DIGEST
    store.save_turn(session, {"code": "\ud800"})
    assert store.load_turn(session) == ({"code": "\ud800"}, 1)


def test_the_state_of_the_last_turn_replaces_the_one_before(store: Store) -> None:
    session = store.create()
    assert store.load_turn(session) is None
    store.append(session, TaskEvent(source="user", text="one"))
    store.save_turn(session, {"next": 1, "list": [1, None, 2.5, "ü"]})
    store.append(session, message("m1"))
    store.append(session, message("m2"))
    assert store.load_turn(session) == ({"next": 1, "list": [1, None, 2.5, "ü"]}, 1)
    store.save_turn(session, {"next": 2})
    assert store.load_turn(session) == ({"next": 2}, 3)


def test_a_second_store_reads_and_goes_on_where_the_first_ended(make: Make) -> None:
    first = make()
    session = first.create()
    first.append(session, TaskEvent(source="user", text="one"))
    first.save_turn(session, {"a": 1})
    second = make()
    assert [event.seq for event in second.events(session)] == [1]
    first.close()
    assert second.open(session) == session
    assert second.append(session, message("m1")).seq == 2
    assert second.load_turn(session) == ({"a": 1}, 1)


def test_two_at_once_the_second_is_refused(make: Make) -> None:
    first, second = make(), make()
    session = first.create()
    first.append(session, TaskEvent(source="user", text="one"))
    for refused in (lambda: second.open(session), lambda: second.open(), lambda: second.remove(session)):
        with pytest.raises(SessionBusyError, match="in use by another program"):
            refused()
    with pytest.raises(StoreError, match="not open"):
        second.append(session, message("m1"))
    assert first.open(session) == session, "again is harmless"
    assert second.info(session).holder
    first.release(session)
    first.release(session)
    assert not second.info(session).holder
    assert second.open(session) == session
    with pytest.raises(StoreError, match="not open"):
        first.append(session, message("m1"))
    with pytest.raises(SessionBusyError):
        first.open(session)


def test_a_prefix_is_enough_and_must_be_one_sessions(make: Make) -> None:
    store = make()
    with pytest.raises(StoreError, match="no session yet"):
        store.open()
    sessions = [store.create() for _ in range(20)]
    with pytest.raises(StoreError, match="no session yet"):
        store.find("")
    for session in sessions:
        store.append(session, TaskEvent(source="user", text="t"))
    unique = next(n for n in range(1, 13) if sum(s.startswith(sessions[0][:n]) for s in sessions) == 1)
    assert store.find(sessions[0][:unique]) == sessions[0]
    assert store.find(sessions[0].upper()) == sessions[0]
    shared = next(p for p in "0123456789abcdef" if sum(s.startswith(p) for s in sessions) > 1)
    with pytest.raises(StoreError, match="may be any of") as caught:
        store.find(shared)
    assert sum(session in caught.value.message for session in sessions if session.startswith(shared)) > 1
    for unknown in ("zz", "%", "_", "' OR 1=1 --", sessions[0] + "0"):
        with pytest.raises(StoreError, match="no session"):
            store.find(unknown)


def test_the_last_session_is_the_one_where_something_happened_last(store: Store) -> None:
    first, second = store.create(), store.create()
    store.append(first, TaskEvent(source="user", text="1", time="2026-01-01T00:00:00.000Z"))
    store.append(second, TaskEvent(source="user", text="2", time="2026-01-02T00:00:00.000Z"))
    assert store.find() == second
    store.append(first, StopEvent(source="program", reason="stopped", time="2026-01-03T00:00:00.000Z"))
    store.create()
    assert store.find() == first
    assert [info.id for info in store.sessions()] == [first, second]


def test_an_approval_is_used_once(make: Make) -> None:
    store = make()
    session = store.create()
    log = store.approval_log(session)
    log.approved("m1", 0, DIGEST, "human", "policy")
    for message_, index, digest in (("m2", 0, DIGEST), ("m1", 1, DIGEST), ("m1", 0, "0" * 64)):
        with pytest.raises(NotApprovedError):
            log.taken(message_, index, digest)
    log.taken("m1", 0, DIGEST)
    with pytest.raises(NotApprovedError):
        log.taken("m1", 0, DIGEST)
    with pytest.raises(NotApprovedError):
        store.approval_log(session).taken("m1", 0, DIGEST)
    store.close()
    later = make()
    later.open(session)
    with pytest.raises(NotApprovedError):
        later.approval_log(session).taken("m1", 0, DIGEST)


def test_approvals_given_twice_let_one_run_through(store: Store) -> None:
    log = store.approval_log(store.create())
    log.approved("m1", 0, DIGEST, "policy", "p")
    log.approved("m1", 0, DIGEST, "human", "p")
    log.taken("m1", 0, DIGEST)
    with pytest.raises(NotApprovedError):
        log.taken("m1", 0, DIGEST)
    log.approved("m1", 0, DIGEST, "human", "p")
    log.taken("m1", 0, DIGEST)


def test_a_later_approval_at_the_same_place_closes_the_earlier(store: Store) -> None:
    log = store.approval_log(store.create())
    log.approved("m1", 0, DIGEST, "human", "p")
    log.approved("m1", 0, "1" * 64, "human", "p")
    with pytest.raises(NotApprovedError):
        log.taken("m1", 0, DIGEST)
    log.taken("m1", 0, "1" * 64)


def test_approvals_of_one_session_do_not_count_in_another(store: Store) -> None:
    store.approval_log(store.create()).approved("m1", 0, DIGEST, "human", "p")
    with pytest.raises(NotApprovedError):
        store.approval_log(store.create()).taken("m1", 0, DIGEST)


def test_approvals_are_listed_with_their_use(store: Store) -> None:
    session = store.create()
    log = store.approval_log(session)
    store.append(session, message("m1", "a", "b"))
    log.approved("m1", 0, DIGEST, "override", "p1")
    store.append(session, OutputEvent(source="x", stream="stdout", text="."))
    log.taken("m1", 0, DIGEST)
    log.approved("m1", 1, DIGEST, "standing", "p1")
    used, unused = store.approvals(session)
    assert (used.by, used.policy, used.seq, used.taken_seq) == ("override", "p1", 1, 2)
    assert (unused.by, unused.index, unused.taken_seq) == ("standing", 1, None)


def test_a_run_without_an_end_is_reported(make: Make) -> None:
    store = make()
    session = store.create()
    log = store.approval_log(session)
    store.append(session, TaskEvent(source="user", text="t"))
    store.append(session, message("m1", "a", "b"))
    log.approved("m1", 0, DIGEST, "policy", "p")
    assert store.interrupted(session).runs == (), "approved, but never begun"
    log.taken("m1", 0, DIGEST)
    store.append(session, execution("m1", 0))
    log.approved("m1", 1, DIGEST, "policy", "p")
    log.taken("m1", 1, DIGEST)
    store.append(session, OutputEvent(source="x", stream="stdout", text="half"))
    store.close()
    later = make()
    (run,) = later.interrupted(session).runs
    assert (run.message, run.index, run.digest) == ("m1", 1, DIGEST)
    later.open(session)
    log = later.approval_log(session)
    log.approved("m1", 1, DIGEST, "human", "p")
    log.taken("m1", 1, DIGEST)
    assert len(later.interrupted(session).runs) == 1, "broke off again"
    later.append(session, execution("m1", 1))
    assert later.interrupted(session).runs == ()


def test_an_earlier_end_of_the_same_block_does_not_hide_a_run_that_broke_off(store: Store) -> None:
    session = store.create()
    log = store.approval_log(session)
    store.append(session, message("m1", "a"))
    log.approved("m1", 0, DIGEST, "human", "p")
    log.taken("m1", 0, DIGEST)
    store.append(session, execution("m1"))
    assert store.interrupted(session).runs == ()
    log.approved("m1", 0, DIGEST, "human", "p")
    log.taken("m1", 0, DIGEST)
    assert len(store.interrupted(session).runs) == 1


def test_the_generators_next_message_makes_a_broken_run_moot(store: Store) -> None:
    session = store.create()
    log = store.approval_log(session)
    store.append(session, message("m1", "a"))
    log.approved("m1", 0, DIGEST, "human", "p")
    log.taken("m1", 0, DIGEST)
    store.append(session, message("pass"))
    assert len(store.interrupted(session).runs) == 1, "a message without code is no reason to forget it"
    store.append(session, message("m2", "b"))
    assert store.interrupted(session).runs == ()


def test_an_open_question_is_found(store: Store) -> None:
    session = store.create()
    asked = QuestionEvent(source="code_executor", id="q1", kind="run", text="Run it?")
    asked_event = store.append(session, asked)
    assert store.interrupted(session).question == asked_event
    store.append(session, AnswerEvent(source="user", question="q0", decision="yes"))
    store.append(session, StopEvent(source="program", reason="interrupted"))
    assert store.interrupted(session).question == asked_event
    store.append(session, AnswerEvent(source="user", question="q1", decision="yes"))
    assert store.interrupted(session).question is None


def test_a_new_task_makes_an_open_question_moot(store: Store) -> None:
    session = store.create()
    store.append(session, QuestionEvent(source="user_proxy", id="q1", kind="feedback", text="Well?"))
    store.append(session, TaskEvent(source="user", text="something else"))
    assert store.interrupted(session).question is None


def test_the_list_counts_what_happened(make: Make) -> None:
    store = make()
    session = store.create(model="gpt")
    store.create()
    assert store.info(session).state == "new"
    assert store.sessions() == []
    store.append(session, TaskEvent(source="user", text="first", model="other"))
    assert store.info(session).state == "running"
    usage = Usage(prompt_tokens=10, completion_tokens=3, calls=1)
    store.append(session, message("m1", "a", usage=usage))
    store.append(
        session,
        ReviewEvent(source="safety_reviewer", message="m1", verdict="allow", digests=(), blocks=(), usage=usage),
    )
    store.append(session, execution("m1"))
    store.append(session, StopEvent(source="program", reason="approved", usage=usage, work_dir="/w"))
    store.append(session, TaskEvent(source="user", text="second"))
    (info,) = make().sessions()
    assert (info.task, info.model, info.state, info.blocks, info.events) == ("first", "other", "running", 1, 6)
    assert info.usage == Usage(prompt_tokens=20, completion_tokens=6, calls=2)
    assert info.work_dir == "/w"
    store.set_model(session, "third")
    assert store.info(session).model == "third"
    store.release(session)
    with pytest.raises(StoreError):
        store.set_model(session, "fourth")
    assert store.info(session).state == "unfinished"
    store.set_work_dir(session, "/elsewhere")
    assert store.info(session).work_dir == "/elsewhere"


def test_files_are_kept_by_content(make: Make) -> None:
    store = make()
    session, other = store.create(), store.create()
    large = bytes(range(256)) * 9000
    for data in (b"", b"one\n", large):
        assert store.keep_content(session, data)
        assert store.keep_content(session, data)
        digest = hashlib.sha256(data).hexdigest()
        assert make().content(session, digest) == data
        assert store.content(other, digest) is None
    files = (StoredFile(path="b/ü.txt", size=4, sha256="x", mode=0o755), StoredFile(path="a", size=1, sha256="y"))
    store.save_files(session, files)
    assert store.files(session) == (files[1], files[0])
    store.save_files(session, files[:1])
    assert store.files(session) == files[:1]
    assert store.files(other) == ()


def test_a_removed_session_leaves_nothing_and_others_keep_theirs(make: Make) -> None:
    store = make()
    session, other = store.create(), store.create()
    digest = hashlib.sha256(b"shared").hexdigest()
    for one in (session, other):
        store.append(one, TaskEvent(source="user", text="t"))
        store.save_turn(one, {"a": 1})
        store.approval_log(one).approved("m1", 0, DIGEST, "human", "p")
        store.approval_log(one).taken("m1", 0, DIGEST)
        store.keep_content(one, b"shared")
        store.save_files(one, [StoredFile(path="a", size=6, sha256=digest)])
    store.remove(session)
    with pytest.raises(StoreError, match="no session"):
        store.find(session)
    assert list(make().events(session)) == []
    assert [info.id for info in store.sessions()] == [other]
    assert len(list(store.events(other))) == 1
    assert store.content(other, digest) == b"shared"
    assert len(store.approvals(other)) == 1
    with pytest.raises(StoreError):
        store.append(session, message("m1"))


@pytest.mark.parametrize("name", ["", "{}", "zz"])
def test_only_a_session_that_is_named_whole_is_removed(store: Store, name: str) -> None:
    session = store.create()
    store.append(session, TaskEvent(source="user", text="t"))
    with pytest.raises(StoreError, match="no session"):
        store.remove(name.format(session[:6]))
    assert store.find() == session


def test_secrets_are_replaced_wherever_they_are_kept(store: Store) -> None:
    session = store.create(task=f"use {SECRET}")
    code = f"key = '{SECRET}'\n"
    recorded = store.append(session, message("m1", code))
    assert isinstance(recorded, MessageEvent)
    assert recorded.redacted
    assert recorded.blocks[0].code == "key = '[redacted:PLANTED_KEY]'\n"
    assert recorded.blocks[0].digest == DIGEST, "the digest is that of the true bytes"
    store.append(session, TaskEvent(source="user", text=f"{SECRET} again"))
    store.append(session, OutputEvent(source="x", stream="stdout", text=SECRET[:9]))
    store.append(session, OutputEvent(source="x", stream="stdout", text=SECRET[9:] + " end"))
    store.save_turn(session, {SECRET: [{"deep": f"x{SECRET}y"}]})
    assert not store.keep_content(session, f"a,b\n{SECRET}\n".encode())
    everything = "".join(event.model_dump_json() for event in store.events(session))
    everything += repr(store.load_turn(session)) + repr(store.sessions())
    assert SECRET not in everything
    assert SECRET[:9] not in everything
    assert SECRET[9:] not in everything
    assert "end" in everything
    assert everything.count("[redacted:PLANTED_KEY]") >= 5


def test_a_closed_store_says_so(store: Store) -> None:
    session = store.create()
    store.close()
    store.close()
    for call in (
        lambda: store.append(session, message("m1")),
        lambda: store.create(),
        lambda: store.find("a"),
        lambda: store.sessions(),
    ):
        with pytest.raises(StoreError):
            call()
