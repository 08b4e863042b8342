"""The gate: one use, exact bytes, one place, one policy."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from typing import Any

import pytest

from safety.code_blocks import CodeBlock, digest
from safety.gate import By, Gate, MemoryLog
from utils.errors import NotApprovedError, StoreError

PRINT = CodeBlock(0, "python", "print(1)\n", 3)
LIST = CodeBlock(1, "bash", "ls\n", 8)


@pytest.fixture
def gate() -> Gate:
    """A gate with two blocks of message `m1`."""
    gate = Gate("policy-1")
    gate.propose("m1", [PRINT, LIST])
    return gate


def refused(gate: Gate, message: Any = "m1", block: CodeBlock = PRINT) -> None:
    """Nothing comes out."""
    with pytest.raises(NotApprovedError):
        gate.take(message, block.index, block.digest)


def test_an_approved_block_comes_out_as_it_was_proposed(gate: Gate) -> None:
    gate.approve("m1", 1, LIST.digest, "policy")
    assert gate.take("m1", 1, LIST.digest) == LIST


def test_nothing_comes_out_unapproved(gate: Gate) -> None:
    gate.approve("m1", 1, LIST.digest, "policy")
    refused(gate)


def test_case_37_a_block_of_an_older_message_is_refused(gate: Gate) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    gate.propose("m2", [])
    refused(gate)
    refused(gate, "m2")
    with pytest.raises(NotApprovedError, match="latest message"):
        gate.approve("m1", 0, PRINT.digest, "human")


def test_the_same_bytes_in_a_later_message_need_their_own_approval(gate: Gate) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    gate.propose("m2", [PRINT])
    refused(gate, "m2")


@pytest.mark.parametrize("changed", ["print(2)\n", "print(1)", "print(1)\r\n", "print(1) \n", ""])
def test_case_38_one_byte_changed_after_approval_is_refused(gate: Gate, changed: str) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    with pytest.raises(NotApprovedError, match="bytes"):
        gate.take("m1", 0, digest("python", changed))
    with pytest.raises(NotApprovedError, match="bytes"):
        gate.approve("m1", 0, digest("python", changed), "human")


def test_case_38_another_language_is_other_bytes(gate: Gate) -> None:
    with pytest.raises(NotApprovedError):
        gate.approve("m1", 0, digest("bash", PRINT.code), "human")


def test_case_38_a_block_changed_behind_the_gate_s_back_is_not_the_one_that_runs() -> None:
    block = CodeBlock(0, "python", "print(1)\n")
    gate = Gate("policy-1")
    gate.propose("m1", [block])
    gate.approve("m1", 0, block.digest, "human")
    shown = block.digest
    for reachable in (block, gate.blocks[0]):
        object.__setattr__(reachable, "code", "import os\n")
    assert gate.take("m1", 0, shown).code == "print(1)\n"


def test_case_38_a_digest_that_lies_is_not_believed() -> None:
    block = CodeBlock(0, "python", "import os\n")
    block.__dict__["digest"] = PRINT.digest
    gate = Gate("policy-1")
    gate.propose("m1", [block])
    with pytest.raises(NotApprovedError):
        gate.approve("m1", 0, PRINT.digest, "human")


def test_case_39_an_approval_is_used_once(gate: Gate) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    gate.approve("m1", 0, PRINT.digest, "human")
    gate.take("m1", 0, PRINT.digest)
    refused(gate)


def test_case_39_twenty_threads_take_it_once(gate: Gate) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    outcomes: list[str] = []
    start = threading.Barrier(20)

    def take() -> None:
        start.wait()
        try:
            gate.take("m1", 0, PRINT.digest)
            outcomes.append("taken")
        except NotApprovedError:
            outcomes.append("refused")

    threads = [threading.Thread(target=take) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused"] * 19 + ["taken"]


@pytest.mark.parametrize("by", ["policy", "standing"])
def test_case_39_what_ran_runs_again_only_by_a_human(gate: Gate, by: By) -> None:
    gate.approve_always(PRINT.digest)
    gate.approve("m1", 0, PRINT.digest, by)
    gate.take("m1", 0, PRINT.digest)
    gate.propose("m1", [PRINT, LIST])
    with pytest.raises(NotApprovedError, match="human"):
        gate.approve("m1", 0, PRINT.digest, by)
    gate.approve("m1", 0, PRINT.digest, "human")
    assert gate.take("m1", 0, PRINT.digest) == PRINT


def test_case_39_a_standing_approval_serves_every_message(gate: Gate) -> None:
    with pytest.raises(NotApprovedError, match="standing"):
        gate.approve("m1", 0, PRINT.digest, "standing")
    gate.approve_always(PRINT.digest)
    for message in ("m2", "m3"):
        gate.propose(message, [PRINT, LIST])
        assert gate.is_standing(PRINT.digest)
        assert not gate.is_standing(LIST.digest)
        refused(gate, message)
        gate.approve(message, 0, PRINT.digest, "standing")
        assert gate.take(message, 0, PRINT.digest) == PRINT


def test_another_policy_ends_approvals_and_standing_ones(gate: Gate) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    gate.approve_always(PRINT.digest)
    gate.policy = "policy-2"
    refused(gate)
    assert not gate.is_standing(PRINT.digest)
    gate.approve("m1", 0, PRINT.digest, "human")
    assert gate.take("m1", 0, PRINT.digest) == PRINT


def test_an_edit_is_new_code_that_only_a_human_approves(gate: Gate) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    edited = gate.edit("m1", 0, "print(2)\n")
    assert (edited.language, edited.code, edited.line) == ("python", "print(2)\n", 3)
    assert gate.blocks == (edited, LIST)
    refused(gate)
    refused(gate, block=edited)
    with pytest.raises(NotApprovedError, match="human"):
        gate.approve("m1", 0, edited.digest, "policy")
    gate.approve("m1", 0, edited.digest, "human")
    assert gate.take("m1", 0, edited.digest) == edited


def test_an_edit_that_changes_nothing_still_drops_the_approval(gate: Gate) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    gate.edit("m1", 0, PRINT.code)
    refused(gate)


class BrokenLog(MemoryLog):
    """A log on a full disk."""

    def __init__(self, *broken: str) -> None:
        super().__init__()
        self.broken = broken

    def approved(self, message: str, index: int, digest: str, by: By, policy: str) -> None:
        if "approved" in self.broken:
            raise StoreError("The disk is full.")
        super().approved(message, index, digest, by, policy)

    def taken(self, message: str, index: int, digest: str) -> None:
        if "taken" in self.broken:
            raise StoreError("The disk is full.")
        super().taken(message, index, digest)


@pytest.mark.parametrize("broken", ["approved", "taken"])
def test_what_cannot_be_recorded_does_not_run(broken: str) -> None:
    log = BrokenLog()
    gate = Gate("policy-1", log)
    gate.propose("m1", [PRINT])
    gate.approve("m1", 0, PRINT.digest, "human")
    log.broken = (broken,)
    if broken == "approved":
        with pytest.raises(StoreError):
            gate.approve("m1", 0, PRINT.digest, "override")
    else:
        with pytest.raises(StoreError):
            gate.take("m1", 0, PRINT.digest)
    log.broken = ()
    refused(gate)


def test_the_approval_is_used_up_in_the_log_before_the_code_is_out() -> None:
    seen: list[tuple[str, ...]] = []

    class Recorder(MemoryLog):
        def approved(self, message: str, index: int, digest: str, by: By, policy: str) -> None:
            seen.append(("approved", message, digest, by, policy))
            super().approved(message, index, digest, by, policy)

        def taken(self, message: str, index: int, digest: str) -> None:
            seen.append(("taken", message, digest))
            super().taken(message, index, digest)

    gate = Gate("policy-1", Recorder())
    gate.propose("m1", [PRINT])
    gate.approve("m1", 0, PRINT.digest, "override")
    gate.take("m1", 0, PRINT.digest)
    assert seen == [("approved", "m1", PRINT.digest, "override", "policy-1"), ("taken", "m1", PRINT.digest)]


def test_state_survives_json_and_a_used_approval_does_not_come_back() -> None:
    log = MemoryLog()
    block = CodeBlock(0, "python", "print('\ud800')\r\n", 2)
    gate = Gate("policy-1", log)
    gate.propose("m1", [block, LIST])
    gate.approve("m1", 0, block.digest, "policy")
    gate.approve("m1", 1, LIST.digest, "policy")
    gate.approve_always(LIST.digest)
    saved = json.loads(json.dumps(gate.save_state()))
    gate.take("m1", 0, block.digest)
    resumed = Gate("policy-1", log)
    resumed.load_state(saved)
    assert (resumed.message, resumed.blocks) == ("m1", (block, LIST))
    assert resumed.is_standing(LIST.digest)
    assert resumed.take("m1", 1, LIST.digest) == LIST
    refused(resumed, block=block)
    resumed.load_state(json.loads(json.dumps(resumed.save_state())))
    refused(resumed, block=LIST)


def test_without_a_durable_log_no_approval_comes_back_from_a_saved_state(gate: Gate) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    saved = gate.save_state()
    for going_on in (gate, Gate("policy-1")):
        if going_on is gate:
            gate.take("m1", 0, PRINT.digest)
        going_on.load_state(saved)
        refused(going_on)


def test_a_saved_approval_of_other_bytes_does_not_load() -> None:
    gate = Gate("policy-1", MemoryLog())
    gate.propose("m1", [PRINT])
    gate.approve("m1", 0, PRINT.digest, "human")
    state = gate.save_state()
    state["blocks"] = [["python", "import os\n", 1]]
    with pytest.raises(NotApprovedError, match="cannot be read"):
        gate.load_state(state)
    assert gate.blocks == ()
    refused(gate)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("message", 5),
        ("message", None),
        ("blocks", None),
        ("blocks", [["python", b"x", 1]]),
        ("blocks", [["", "x", 1]]),
        ("blocks", [["python", "x"]]),
        ("approved", [[0, PRINT.digest, ""]]),
        ("approved", [[True, PRINT.digest, "policy-1"]]),
        ("approved", 1),
        ("standing", {"x": "policy-1"}),
        ("standing", [PRINT.digest]),
        ("taken", [0]),
        ("edited", [None]),
    ],
)
def test_a_state_that_cannot_be_read_leaves_a_shut_gate(key: str, value: object) -> None:
    gate = Gate("policy-1", MemoryLog())
    gate.propose("m1", [PRINT])
    gate.approve("m1", 0, PRINT.digest, "human")
    gate.approve_always(PRINT.digest)
    state = {**gate.save_state(), key: value}
    if key == "message" and value is None:
        state["approved"] = [[0, PRINT.digest, "policy-1"]]
    with pytest.raises(NotApprovedError):
        gate.load_state(state)
    refused(gate)
    assert not gate.is_standing(PRINT.digest)


class LyingText(str):
    """A string that equals everything."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "arguments",
    [
        ("m2", 0, PRINT.digest),
        ("", 0, PRINT.digest),
        (None, 0, PRINT.digest),
        (LyingText("m2"), 0, PRINT.digest),
        ("m1", False, PRINT.digest),
        ("m1", 0.0, PRINT.digest),
        ("m1", -2, PRINT.digest),
        ("m1", 2, PRINT.digest),
        ("m1", None, PRINT.digest),
        ("m1", "0", PRINT.digest),
        ("m1", 0, PRINT.digest[:6]),
        ("m1", 0, PRINT.digest.upper()),
        ("m1", 0, PRINT.digest.encode()),
        ("m1", 0, LyingText(LIST.digest)),
        ("m1", 0, None),
        ("m1", 1, PRINT.digest),
    ],
)
def test_a_sloppy_caller_gets_nothing(gate: Gate, arguments: tuple[Any, Any, Any]) -> None:
    with pytest.raises(NotApprovedError):
        gate.approve(*arguments, "human")
    gate.approve("m1", 0, PRINT.digest, "human")
    with pytest.raises(NotApprovedError):
        gate.take(*arguments)
    assert gate.take("m1", 0, PRINT.digest) == PRINT


@pytest.mark.parametrize("by", ["", "model", "Human", None, True, LyingText("policy"), ["human"]])
def test_nobody_unknown_approves(gate: Gate, by: Any) -> None:
    with pytest.raises(NotApprovedError):
        gate.approve("m1", 0, PRINT.digest, by)
    refused(gate)


class Impostor(CodeBlock):
    """A block that shows one thing and is another."""

    @property
    def digest(self) -> str:
        return PRINT.digest


@pytest.mark.parametrize(
    "blocks",
    [
        [LIST],
        [PRINT, PRINT],
        [Impostor(0, "python", "import os\n")],
        [CodeBlock(0, "python", LyingText("x"))],
        [CodeBlock(0, "", "x")],
        [CodeBlock(False, "python", "x")],
        ["print(1)"],
        [None],
    ],
)
def test_what_is_no_block_is_not_proposed_and_the_former_message_is_gone(gate: Gate, blocks: list[Any]) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    with pytest.raises(NotApprovedError):
        gate.propose("m2", blocks)
    refused(gate)
    refused(gate, "m2")
    assert gate.blocks == ()


@pytest.mark.parametrize("message", ["", None, 7, LyingText("m1")])
def test_a_message_without_a_name_is_not_proposed(gate: Gate, message: Any) -> None:
    gate.approve("m1", 0, PRINT.digest, "human")
    with pytest.raises(NotApprovedError):
        gate.propose(message, [PRINT])
    refused(gate)


@pytest.mark.parametrize("value", ["", None, PRINT.digest[:6], PRINT.digest.upper(), PRINT.digest + "\n", b"0" * 64])
def test_only_a_whole_digest_is_approved_for_always(gate: Gate, value: Any) -> None:
    with pytest.raises(NotApprovedError):
        gate.approve_always(value)
    assert not gate.is_standing(value)


@pytest.mark.parametrize("code", [None, b"x", 1, LyingText("x")])
def test_an_edit_is_a_plain_string(gate: Gate, code: Any) -> None:
    with pytest.raises(NotApprovedError):
        gate.edit("m1", 0, code)
    assert gate.blocks == (PRINT, LIST)


def test_a_gate_without_a_policy_is_not_made() -> None:
    with pytest.raises(NotApprovedError):
        Gate("")


@pytest.mark.parametrize("double", [copy.copy, copy.deepcopy, pickle.dumps])
def test_case_41_a_gate_is_neither_copied_nor_subclassed(gate: Gate, double: Any) -> None:
    with pytest.raises(TypeError, match="copied"):
        double(gate)
    with pytest.raises(TypeError, match="subclassed"):
        type("OpenGate", (Gate,), {"take": lambda *arguments: PRINT})
