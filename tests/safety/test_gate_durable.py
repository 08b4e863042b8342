"""The gate over the real store: what was used before a crash is used after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safety.code_blocks import CodeBlock
from safety.gate import Gate
from sessions.sqlite_store import SqliteStore
from utils.errors import NotApprovedError

PRINT = CodeBlock(0, "python", "print(1)\n", 3)


def test_case_39_an_approval_used_before_a_crash_is_refused_after_it(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = SqliteStore(path)
    session = store.create(task="t", model="m")
    gate = Gate("policy-1", store.approval_log(session))
    gate.propose("m1", [PRINT])
    gate.approve("m1", 0, PRINT.digest, "policy")
    before = json.dumps(gate.save_state())
    assert gate.take("m1", 0, PRINT.digest) == PRINT
    store.close()

    again = SqliteStore(path)
    resumed = Gate("policy-1", again.approval_log(again.open(session)))
    resumed.load_state(json.loads(before))
    with pytest.raises(NotApprovedError):
        resumed.take("m1", 0, PRINT.digest)
    resumed.approve("m1", 0, PRINT.digest, "human")
    assert resumed.take("m1", 0, PRINT.digest) == PRINT
    with pytest.raises(NotApprovedError):
        resumed.take("m1", 0, PRINT.digest)
    again.close()


def test_an_approval_that_was_not_used_before_a_crash_serves_after_it_once(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = SqliteStore(path)
    session = store.create(task="t", model="m")
    gate = Gate("policy-1", store.approval_log(session))
    gate.propose("m1", [PRINT])
    gate.approve("m1", 0, PRINT.digest, "human")
    before = json.dumps(gate.save_state())
    store.close()

    again = SqliteStore(path)
    for taken in (True, False):
        resumed = Gate("policy-1", again.approval_log(again.open(session)))
        resumed.load_state(json.loads(before))
        if taken:
            assert resumed.take("m1", 0, PRINT.digest) == PRINT
        else:
            with pytest.raises(NotApprovedError):
                resumed.take("m1", 0, PRINT.digest)
    again.close()
