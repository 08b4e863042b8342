"""The gate: the only way from a message to the sandbox.

Nothing runs that was not approved, as exactly these bytes, at this place of the code generator's latest message, under
this sandbox policy; and an approval lets one run through. Whatever is not in order is refused with `NotApprovedError`
and changes nothing for the better: a caller that is sloppy, late or repeats itself gets no code.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn, Protocol, final, get_args

from safety.code_blocks import CodeBlock
from safety.code_blocks import digest as digest_of
from utils.errors import NotApprovedError

By = Literal["policy", "human", "override", "standing"]
"""Who let a block through: the reviewer's `allow`, the human, the human over a `deny`, or "always these bytes"."""

_BY: frozenset[str] = frozenset(get_args(By))
_DIGEST = re.compile(r"[0-9a-f]{64}")


class ApprovalLog(Protocol):
    """The durable side of the gate. Each place has at most one open approval at a time."""

    def approved(self, message: str, index: int, digest: str, by: By, policy: str) -> None:
        """Record an approval and leave it open, in place of an earlier one for the same place."""
        ...

    def taken(self, message: str, index: int, digest: str) -> None:
        """Close the open approval, durably, before it returns. Raises `NotApprovedError` where none is open."""
        ...


class MemoryLog:
    """An approval log that lasts as long as the process: for tests and for a conversation that is not stored."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], str] = {}

    def approved(self, message: str, index: int, digest: str, by: By, policy: str) -> None:
        """Record an approval and leave it open, in place of an earlier one for the same place."""
        self._open[message, index] = digest

    def taken(self, message: str, index: int, digest: str) -> None:
        """Close the open approval. Raises `NotApprovedError` where none is open."""
        if not self.is_open(message, index, digest):
            raise _refusal("no approval of it is open")
        del self._open[message, index]

    def is_open(self, message: str, index: int, digest: str) -> bool:
        """Whether an approval of these bytes at this place was given and not used."""
        return self._open.get((message, index)) == digest


@final
class Gate:
    """Holds the blocks of the code generator's latest message and lets out what was approved, once.

    `policy` is the digest of what the sandbox permits; an approval is bound to the one in force when it was given. May
    be called from any thread. Every method raises `NotApprovedError` for what is not in order.
    """

    def __init__(self, policy: str, log: ApprovalLog | None = None) -> None:
        self._lock = threading.RLock()
        self._policy = _text(policy, "the policy")
        self._log: ApprovalLog = MemoryLog() if log is None else log
        self._message = ""
        self._blocks: list[CodeBlock] = []
        self._edited: set[int] = set()
        self._approved: dict[int, tuple[str, str]] = {}
        self._taken: set[tuple[int, str]] = set()
        self._standing: dict[str, str] = {}

    def __init_subclass__(cls, **kwargs: object) -> NoReturn:
        raise TypeError("The gate is not to be subclassed.")

    def __reduce__(self) -> NoReturn:
        raise TypeError("The gate is not to be copied or pickled: a copy would let an approval be used twice.")

    @property
    def policy(self) -> str:
        """Digest of the sandbox policy in force."""
        return self._policy

    @policy.setter
    def policy(self, policy: str) -> None:
        """Put another policy in force: what was approved under the former one counts no more."""
        with self._lock:
            self._policy = _text(policy, "the policy")

    @property
    def message(self) -> str:
        """Identifier of the code generator's latest message; empty before the first."""
        return self._message

    @property
    def blocks(self) -> tuple[CodeBlock, ...]:
        """The blocks of that message as they would run: edited where the human edited them."""
        with self._lock:
            return tuple(_copy(block) for block in self._blocks)

    def propose(self, message: str, blocks: Sequence[CodeBlock]) -> None:
        """Put the code generator's latest message in place; whatever was approved before is dropped.

        What ran of a message stays noted where the same message is proposed again.
        """
        with self._lock:
            former, taken = self._message, self._taken
            self._forget()
            self._message = _text(message, "the message")
            self._blocks = [_checked(block, index) for index, block in enumerate(blocks)]
            if self._message == former:
                self._taken = taken

    def edit(self, message: str, index: int, code: str) -> CodeBlock:
        """Put the human's text in the place of a block. The new bytes are approved by nobody yet.

        Only the human can let an edited block through: the reviewer's `allow` does not suffice.
        """
        with self._lock:
            block = self._at(message, index)
            if type(code) is not str:
                raise _refusal("the edited code is not a string")
            self._approved.pop(index, None)
            self._edited.add(index)
            self._blocks[index] = CodeBlock(index, block.language, code, block.line)
            return _copy(self._blocks[index])

    def approve(self, message: str, index: int, digest: str, by: By) -> None:
        """Let these bytes at this place of the latest message be taken once. Recorded in the log before it counts.

        `policy` approves neither what the human edited nor what was taken before; `standing` only what
        `approve_always` was called for.
        """
        with self._lock:
            self._match(message, index, digest)
            if type(by) is not str or by not in _BY:
                raise _refusal("nobody known approved it")
            if by == "standing" and not self.is_standing(digest):
                raise _refusal("no standing approval of these bytes is in force")
            if by in ("policy", "standing") and (index, digest) in self._taken:
                raise _refusal("it was run before: only a human can let it run again")
            if by == "policy" and index in self._edited:
                raise _refusal("a human edited it: a human has to approve it")
            self._approved.pop(index, None)
            self._log.approved(message, index, digest, by, self._policy)
            self._approved[index] = (digest, self._policy)

    def approve_always(self, digest: str) -> None:
        """Note the human's "always these bytes" for this session and the policy in force."""
        with self._lock:
            if type(digest) is not str or not _DIGEST.fullmatch(digest):
                raise _refusal("what is to be approved always is not a digest")
            self._standing[digest] = self._policy

    def is_standing(self, digest: str) -> bool:
        """Whether the human approved these bytes for the whole session, under the policy in force."""
        with self._lock:
            return type(digest) is str and self._standing.get(digest) == self._policy

    def take(self, message: str, index: int, digest: str) -> CodeBlock:
        """Hand out an approved block to be run now, once. The approval is used up in the log before it returns."""
        with self._lock:
            self._match(message, index, digest)
            if self._approved.pop(index, None) != (digest, self._policy):
                raise _refusal("it was not approved, or its approval was used, or the sandbox policy changed since")
            self._taken.add((index, digest))
            self._log.taken(message, index, digest)
            return _copy(self._blocks[index])

    def save_state(self) -> dict[str, object]:
        """The state as JSON can carry it. Code may hold lone surrogates: write it with `ensure_ascii`."""
        with self._lock:
            return {
                "message": self._message,
                "blocks": [[block.language, block.code, block.line] for block in self._blocks],
                "edited": sorted(self._edited),
                "approved": [[index, *self._approved[index]] for index in sorted(self._approved)],
                "taken": [list(place) for place in sorted(self._taken)],
                "standing": dict(self._standing),
            }

    def load_state(self, state: Mapping[str, object]) -> None:
        """Go on from a saved state; one that cannot be read leaves a gate that lets nothing out.

        The log has the last word on the approvals that come back: what was used meanwhile is refused there, and a log
        that does not outlive the process knows none of them.
        """
        with self._lock:
            self._forget()
            self._standing = {}
            try:
                self._restore(state)
            except (KeyError, TypeError, ValueError, AttributeError, NotApprovedError) as error:
                self._forget()
                self._standing = {}
                raise NotApprovedError(
                    "The saved state of the gate cannot be read.", "Nothing runs until a new message is there."
                ) from error

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Fill an empty gate. Whatever is malformed raises."""
        if state["message"]:
            self._message = _text(state["message"], "the message")
        for index, (language, code, line) in enumerate(state["blocks"]):
            self._blocks.append(_checked(CodeBlock(index, language, code, line), index))
        for standing, policy in state["standing"].items():
            self.approve_always(standing)
            self._standing[standing] = _text(policy, "the policy")
        self._edited = {int(index) for index in state["edited"]}
        self._taken = {(int(index), str(digest)) for index, digest in state["taken"]}
        for index, digest, policy in state["approved"]:
            self._match(self._message, index, digest)
            self._approved[index] = (digest, _text(policy, "the policy"))

    def _at(self, message: str, index: int) -> CodeBlock:
        """The block at a place of the latest message."""
        if type(message) is not str or not message or message != self._message:
            raise _refusal("it is not of the code generator's latest message")
        if type(index) is not int or not 0 <= index < len(self._blocks):
            raise _refusal("the message has no such block")
        return self._blocks[index]

    def _match(self, message: str, index: int, digest: str) -> None:
        """Check that these very bytes are at that place."""
        block = self._at(message, index)
        if type(digest) is not str or digest != digest_of(block.language, block.code):
            raise _refusal("its bytes are not the ones that are there")

    def _forget(self) -> None:
        """Hold no message."""
        self._message = ""
        self._blocks = []
        self._edited = set()
        self._approved = {}
        self._taken = set()


def _refusal(why: str) -> NotApprovedError:
    return NotApprovedError(f"The block is not approved: {why}.", "Nothing was run.")


def _text(value: object, what: str) -> str:
    """The value, where it is a string that says something."""
    if type(value) is not str or not value:
        raise _refusal(f"{what} has no name")
    return value


def _copy(block: CodeBlock) -> CodeBlock:
    """The same block, so that nobody else's reference reaches what the gate holds."""
    return CodeBlock(block.index, block.language, block.code, block.line)


def _checked(block: object, index: int) -> CodeBlock:
    """A copy of a block that is one: plain strings, and at its place."""
    if type(block) is not CodeBlock or type(block.index) is not int or block.index != index:
        raise _refusal("what was proposed is not a block at its place")
    if type(block.code) is not str or type(block.line) is not int:
        raise _refusal("what was proposed is not a block of code")
    return CodeBlock(index, _text(block.language, "the language"), block.code, block.line)
