"""The gate driven at random: nothing comes out that was not approved for exactly those bytes at that place."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from safety.code_blocks import CodeBlock, digest
from safety.gate import By, Gate, MemoryLog
from utils.errors import NotApprovedError

CODES = ["print(1)\n", "print(1)\r\n", "print(2)\n", "ls\n", "\ud800\n"]
NAMES = ["m1", "m2", "m3"]
POLICIES = ["p1", "p2"]
PLACES = st.integers(-1, 3)


class GateMachine(RuleBasedStateMachine):
    """Keeps a plain account of who approved what, and holds the gate to it."""

    digests = Bundle("digests")

    def __init__(self) -> None:
        super().__init__()
        self.log = MemoryLog()
        self.gate = Gate("p1", self.log)
        self.policy = "p1"
        self.message = ""
        self.codes: list[tuple[str, str]] = []
        self.open: dict[int, tuple[str, str]] = {}
        self.standing: dict[str, str] = {}
        self.edited: set[int] = set()
        self.taken: set[tuple[str, int, str]] = set()
        self.saved: list[dict[str, Any]] = []

    @rule(
        name=st.sampled_from(NAMES),
        codes=st.lists(st.tuples(st.sampled_from(["python", "bash"]), st.sampled_from(CODES)), max_size=3),
    )
    def propose(self, name: str, codes: list[tuple[str, str]]) -> None:
        self.gate.propose(name, [CodeBlock(index, *code) for index, code in enumerate(codes)])
        self.message, self.codes, self.open, self.edited = name, codes, {}, set()

    @rule(target=digests, language=st.sampled_from(["python", "bash"]), code=st.sampled_from(CODES))
    def some_digest(self, language: str, code: str) -> str:
        return digest(language, code)

    @rule(name=st.sampled_from(NAMES), index=PLACES, code=st.sampled_from(CODES))
    def edit(self, name: str, index: int, code: str) -> None:
        try:
            self.gate.edit(name, index, code)
        except NotApprovedError:
            assert name != self.message or not 0 <= index < len(self.codes)
            return
        self.codes = [(old[0], code) if place == index else old for place, old in enumerate(self.codes)]
        self.open.pop(index, None)
        self.edited.add(index)

    def there(self, name: str, index: int, value: str) -> bool:
        """Whether these bytes are at that place of the latest message."""
        return name == self.message and 0 <= index < len(self.codes) and digest(*self.codes[index]) == value

    @rule(
        name=st.sampled_from(NAMES),
        index=PLACES,
        value=digests,
        by=st.sampled_from(["policy", "human", "override", "standing"]),
    )
    def approve(self, name: str, index: int, value: str, by: By) -> None:
        try:
            self.gate.approve(name, index, value, by)
        except NotApprovedError:
            human = by in ("human", "override")
            assert not human or not self.there(name, index, value)
            return
        assert self.there(name, index, value)
        assert by != "standing" or self.standing.get(value) == self.policy
        assert by != "policy" or index not in self.edited
        self.open[index] = (value, self.policy)

    @precondition(lambda self: bool(self.codes))
    @rule(data=st.data(), by=st.sampled_from(["policy", "human", "override"]))
    def approve_what_is_there(self, data: st.DataObject, by: By) -> None:
        index = data.draw(st.integers(0, len(self.codes) - 1))
        self.approve(self.message, index, digest(*self.codes[index]), by)

    @rule(value=digests)
    def approve_always(self, value: str) -> None:
        self.gate.approve_always(value)
        self.standing[value] = self.policy

    @rule(policy=st.sampled_from(POLICIES))
    def change_policy(self, policy: str) -> None:
        self.gate.policy = self.policy = policy

    @rule(name=st.sampled_from(NAMES), index=PLACES, value=digests)
    def take(self, name: str, index: int, value: str) -> None:
        self.hold_to_account(name, index, value)

    @precondition(lambda self: bool(self.open))
    @rule(data=st.data())
    def take_what_is_open(self, data: st.DataObject) -> None:
        index = data.draw(st.sampled_from(sorted(self.open)))
        self.hold_to_account(self.message, index, self.open[index][0])

    def hold_to_account(self, name: str, index: int, value: str) -> None:
        """Take, and compare with the account."""
        approved = self.there(name, index, value) and self.open.get(index) == (value, self.policy)
        try:
            block = self.gate.take(name, index, value)
        except NotApprovedError:
            assert not approved
        else:
            assert approved
            assert (block.language, block.code) == self.codes[index]
            assert digest(block.language, block.code) == value
            self.taken.add((name, index, value))
        if self.there(name, index, value):
            self.open.pop(index, None)

    @rule()
    def save(self) -> None:
        self.saved.append(
            {
                "state": json.dumps(self.gate.save_state()),
                "account": (self.message, list(self.codes), dict(self.standing), set(self.edited)),
                "open": dict(self.open),
            }
        )

    @precondition(lambda self: bool(self.saved))
    @rule(data=st.data())
    def die_and_go_on_from_a_saved_state(self, data: st.DataObject) -> None:
        saved = data.draw(st.sampled_from(self.saved))
        self.gate = Gate(self.policy, self.log)
        self.gate.load_state(json.loads(saved["state"]))
        self.message, codes, standing, edited = saved["account"]
        self.codes, self.standing, self.edited = list(codes), dict(standing), set(edited)
        # What the log holds as used, or as replaced by a later approval of other bytes there, is not open any more.
        self.open = {
            index: (value, policy)
            for index, (value, policy) in saved["open"].items()
            if self.log.is_open(self.message, index, value)
        }

    @invariant()
    def what_is_shown_is_what_would_run(self) -> None:
        assert self.gate.message == self.message
        assert [(block.language, block.code) for block in self.gate.blocks] == self.codes
        for value, policy in self.standing.items():
            assert self.gate.is_standing(value) == (policy == self.policy)


GateMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestGateMachine = GateMachine.TestCase
