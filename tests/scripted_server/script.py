"""What the server says: replies in order, for the generator and for the reviewer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

CONTRACT = "Answer with one JSON object"
BLOCK = re.compile(r'<code-[0-9a-f]+ index="(\d+)"')

Fault = Literal["", "reset", "end", "malformed", "odd", "error", "hang"]


@dataclass
class Request:
    """A request as the server got it."""

    body: dict[str, Any]
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    abandoned: bool = False
    """The client went away before the answer was whole."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", []))

    @property
    def text(self) -> str:
        """All that the model sees."""
        return "\n".join(str(message.get("content")) for message in self.messages)

    @property
    def system(self) -> str:
        return "\n".join(str(m["content"]) for m in self.messages if m["role"] in ("system", "developer"))

    @property
    def last(self) -> str:
        return str(self.messages[-1]["content"]) if self.messages else ""

    @property
    def to(self) -> Literal["reviewer", "generator"]:
        return "reviewer" if CONTRACT in self.text else "generator"

    @property
    def answer_by(self) -> Literal["schema", "json", "text"]:
        kind = self.body.get("response_format", {}).get("type", "text")
        return {"json_schema": "schema", "json_object": "json"}.get(kind, "text")  # type: ignore[return-value]  # see above

    @property
    def is_streamed(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def blocks(self) -> list[int]:
        """Indices of the code blocks that the reviewer is asked about."""
        found = next((m for m in self.messages if BLOCK.search(str(m.get("content")))), {"content": ""})
        return [int(index) for index in BLOCK.findall(str(found["content"]))]


@dataclass(frozen=True)
class Reply:
    """One answer, or one fault."""

    text: str = ""
    to: Literal["", "generator", "reviewer"] = ""
    """Who it is for; empty: the generator, or for a `verdict` the reviewer."""
    verdict: Literal["", "allow", "ask", "deny"] = ""
    """The reviewer's answer for every block, instead of `text`."""
    reason: str = "scripted"
    thought: str = ""
    thought_field: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    model: str = ""
    """Model that the answer names; empty: the one asked, with a date."""
    finish: str | None = "stop"
    usage: tuple[int, int] | None = None
    """Prompt and completion tokens; none: counted in words."""
    usage_at: Literal["last", "finish", "never"] = "last"
    """`last`: in a chunk of its own without choices; `finish`: in the chunk with the finish reason."""
    status: int = 200
    error: str = "scripted error"
    code: str | None = None
    retry_after: str = ""
    fault: Fault = ""
    """`reset`: the connection is reset; `end`: the stream just ends; `malformed`: a chunk is no JSON; `odd`: JSON of
    another shape; `error`: an error object in the stream; `hang`: silence."""
    after: int = 0
    """Pieces sent before the fault."""
    delay_s: float = 0.0
    """Silence before the answer."""
    piece_delay_s: float = 0.0
    pause: str = ""
    """After the first piece the server waits for `release(pause)`."""
    times: int = 1
    """How often it is given; 0: for ever."""

    @classmethod
    def load(cls, data: str | Mapping[str, Any] | Reply) -> Reply:
        if isinstance(data, Reply):
            return data
        if isinstance(data, str):
            return cls(text=data)
        unknown = set(data) - {one.name for one in fields(cls)}
        if unknown:
            raise ValueError(f"unknown keys in a reply: {sorted(unknown)}")
        return cls(**data)

    @property
    def is_for(self) -> str:
        return self.to or ("reviewer" if self.verdict else "generator")

    def words(self, request: Request) -> str:
        if not self.verdict:
            return self.text
        return json.dumps(
            {"verdicts": [{"block": i, "verdict": self.verdict, "reason": self.reason} for i in request.blocks]}
        )

    def pieces(self, request: Request) -> list[str]:
        return re.findall(r"\s*\S+|\s+$", self.words(request))


RAN_OUT = Reply(status=400, error="the script of the test server ran out", code="script_ran_out")


class Script:
    """Picks the reply for each request: the next one that is for whoever asks."""

    def __init__(
        self,
        replies: Sequence[str | Mapping[str, Any] | Reply] | Callable[[Request], str | Reply],
        *,
        refuse: Sequence[str] = (),
        review: Reply | None = None,
    ) -> None:
        self._function = replies if callable(replies) else None
        self._left = [] if callable(replies) else [Reply.load(reply) for reply in replies]
        self._given = [0] * len(self._left)
        self._refuse = tuple(refuse)
        self._review = review or Reply(verdict="allow")
        self.ran_out = 0

    @property
    def unused(self) -> list[Reply]:
        """Replies that nobody asked for."""
        return [reply for reply, given in zip(self._left, self._given, strict=True) if not given]

    def pick(self, request: Request) -> Reply:
        for name in self._refuse:
            if _sends(request, name):
                return Reply(status=400, error=f"Unsupported parameter: '{name}'", code="unsupported_parameter")
        if self._function is not None:
            if request.to == "reviewer":
                return self._review
            return Reply.load(self._function(request))
        for index, reply in enumerate(self._left):
            if reply.is_for == request.to and (not reply.times or self._given[index] < reply.times):
                self._given[index] += 1
                return reply
        if request.to == "reviewer":
            return self._review
        self.ran_out += 1
        return RAN_OUT


def _sends(request: Request, name: str) -> bool:
    """Whether a request has a parameter, or a `response_format` of a type."""
    return name in request.body or request.body.get("response_format", {}).get("type") == name
