"""The events of a conversation: plain, immutable data, the same in the store, in `--json` and on the screen."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

StopReason = Literal["approved", "stopped", "answered", "stuck", "limit", "interrupted", "error"]

EXIT_STATUS: dict[StopReason, int] = {
    "approved": 0,
    "stopped": 0,
    "answered": 0,
    "stuck": 3,
    "limit": 3,
    "interrupted": 130,
    "error": 1,
}
"""Exit status of the program for each reason to stop."""


class Usage(BaseModel):
    """Model calls and their tokens, added up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            calls=self.calls + other.calls,
        )


class EventBase(BaseModel):
    """What every event has. `seq`, `time` and `session` are filled in where the event is recorded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int = 0
    """Place in the session, from 1; 0 while it is not recorded."""
    time: str = ""
    """UTC, ISO 8601 with milliseconds."""
    session: str = ""
    source: str
    """Name of the agent, `user` or `program`."""
    redacted: bool = False
    """Secrets were replaced by a mark before it was recorded; digests are still those of the true bytes."""


class TaskEvent(EventBase):
    """The user set a task."""

    type: Literal["task"] = "task"
    text: str
    model: str = ""
    """Profile that answers, as the user named it."""
    kernel: bool = False
    """Set with `--kernel`; a session that is resumed goes on with one."""


class BlockInfo(BaseModel):
    """A code block of a message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    language: str
    digest: str
    code: str
    line: int = 0


class MessageEvent(EventBase):
    """An agent, or the human in the user proxy's turn, said something."""

    type: Literal["message"] = "message"
    id: str
    text: str
    thought: str = ""
    """Reasoning that the model showed: never parsed, never run."""
    kind: Literal["words", "pass", "review", "result", "feedback"] = "words"
    """`pass`: nothing to do in this round; `review`, `result`: an account of the review or execution events before."""
    blocks: tuple[BlockInfo, ...] = ()
    unsupported: tuple[str, ...] = ()
    unterminated: bool = False
    cut: str = ""
    """Why the message is incomplete (`length`, `content_filter`, `broken off`), else empty."""
    model: str = ""
    """Label of the model that wrote it, where it is a code generator's."""
    duration_s: float = 0.0
    usage: Usage = Usage()


class ReviewEvent(EventBase):
    """The safety reviewer judged the blocks of a message."""

    type: Literal["review"] = "review"
    message: str
    verdict: Literal["allow", "ask", "deny"]
    """The worst verdict of the blocks."""
    findings: tuple[dict[str, Any], ...] = ()
    """Findings of all blocks: `safety.verdicts.Finding` fields and `index`, the block's place."""
    digests: tuple[str, ...]
    blocks: tuple[dict[str, Any], ...]
    """`safety.verdicts.BlockReview` of each block, in order."""
    duration_s: float = 0.0
    usage: Usage = Usage()


class QuestionEvent(EventBase):
    """The human is asked. See `sessions.questions` for the fields."""

    type: Literal["question"] = "question"
    id: str
    kind: str
    text: str
    message: str = ""
    options: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    blocks: tuple[dict[str, Any], ...] = ()
    details: dict[str, Any] = {}


class AnswerEvent(EventBase):
    """The human answered a question."""

    type: Literal["answer"] = "answer"
    question: str
    kind: str = ""
    decision: str
    text: str = ""
    digests: tuple[str, ...] = ()
    """Digests that the answer lets run. An edit lets nothing run: its new digest stands in `details`."""
    details: dict[str, Any] = {}


class ApprovalEvent(EventBase):
    """Exact bytes were let through the gate. Recorded before they run."""

    type: Literal["approval"] = "approval"
    message: str
    index: int
    digest: str
    by: Literal["policy", "human", "override", "standing"]
    """`policy`: the reviewer allowed it; `override`: a human over a `deny`; `standing`: "always these bytes"."""
    policy: str = ""
    """Digest of the sandbox policy that the approval is bound to."""


class OutputEvent(EventBase):
    """A piece of a running program's output, as it came."""

    type: Literal["output"] = "output"
    message: str = ""
    index: int = 0
    stream: Literal["stdout", "stderr"]
    text: str


class FileInfo(BaseModel):
    """A file that came back from the sandbox."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    """Path below the work directory, with forward slashes."""
    size: int
    """Bytes."""
    sha256: str = ""
    change: Literal["new", "changed", "deleted"] = "new"


class ExecutionEvent(EventBase):
    """A block ran to its end, was stopped, or was interrupted."""

    type: Literal["execution"] = "execution"
    message: str
    index: int
    digest: str
    language: str
    code: str = ""
    exit_code: int
    """128 + n for a death by signal n; 124 for a time-out; 130 for a cancel."""
    duration_s: float
    output: str = ""
    """Standard output and standard error as they came, capped in the middle."""
    truncated: bool = False
    timed_out: bool = False
    oom: bool = False
    cancelled: bool = False
    files: tuple[FileInfo, ...] = ()
    left_behind: tuple[str, ...] = ()
    """Names of files that could not come back, each with the reason."""


class NoticeEvent(EventBase):
    """The program tells something that is neither an error nor a step: a retry, another model, an edited prompt."""

    type: Literal["notice"] = "notice"
    text: str
    kind: str = ""
    details: dict[str, Any] = {}


class ErrorEvent(EventBase):
    """Something failed: what happened and what to do."""

    type: Literal["error"] = "error"
    kind: str
    """Name of the error's class, such as `ModelError`."""
    text: str
    hint: str = ""


class StopEvent(EventBase):
    """The task ended."""

    type: Literal["stop"] = "stop"
    reason: StopReason
    text: str = ""
    usage: Usage = Usage()
    duration_s: float = 0.0
    blocks_run: int = 0
    work_dir: str = ""


Event = Annotated[
    TaskEvent
    | MessageEvent
    | ReviewEvent
    | QuestionEvent
    | AnswerEvent
    | ApprovalEvent
    | OutputEvent
    | ExecutionEvent
    | NoticeEvent
    | ErrorEvent
    | StopEvent,
    Field(discriminator="type"),
]

_adapter: TypeAdapter[Event] = TypeAdapter(Event)


def load_event(data: dict[str, Any]) -> Event:
    """Build an event from its JSON object. Raises pydantic's `ValidationError` for one that is malformed."""
    return _adapter.validate_python(data)
