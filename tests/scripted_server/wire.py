"""The bodies that go over the wire, as OpenAI's API has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.scripted_server.script import Reply, Request


def failure(message: str, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "scripted", "param": None, "code": code}}


def completion(request: Request, reply: Reply) -> dict[str, Any]:
    """An answer in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.words(request)}
    if reply.thought:
        message[reply.thought_field] = reply.thought
    finish = None if reply.fault == "end" else reply.finish
    body = _head(request, reply, "chat.completion") | {
        "choices": [{"index": 0, "message": message, "finish_reason": finish}]
    }
    return body if reply.usage_at == "never" else body | {"usage": _usage(request, reply)}


def sse(request: Request, reply: Reply) -> Iterator[bytes]:
    """The events of a streamed answer, up to its fault."""
    head = _head(request, reply, "chat.completion.chunk")
    pieces: list[dict[str, str]] = [{reply.thought_field: piece} for piece in reply.thought.splitlines(keepends=True)]
    pieces += [{"content": piece} for piece in reply.pieces(request)]
    if reply.fault:
        pieces = pieces[: reply.after]
    for piece in pieces:
        yield _event(head | {"choices": [{"index": 0, "delta": piece, "finish_reason": None}]})
    if reply.fault:
        yield from _fault(reply)
        return
    last: dict[str, Any] = head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]}
    wants_usage = bool(request.body.get("stream_options", {}).get("include_usage"))
    if wants_usage and reply.usage_at == "finish":
        last["usage"] = _usage(request, reply)
    yield _event(last)
    if wants_usage and reply.usage_at == "last":
        yield _event(head | {"choices": [], "usage": _usage(request, reply)})
    yield b"data: [DONE]\n\n"


def _fault(reply: Reply) -> Iterator[bytes]:
    if reply.fault == "malformed":
        yield b'data: {"choices": [{"delta": {"cont\n\n'
    elif reply.fault == "odd":
        yield _event({"choices": [{"delta": {"content": {"not": "a text"}}, "finish_reason": None}]})
    elif reply.fault == "error":
        yield _event(failure(reply.error, reply.code))


def _head(request: Request, reply: Reply, kind: str) -> dict[str, Any]:
    model = reply.model or f"{request.body.get('model')}-2026-01-01"
    return {"id": "scripted", "object": kind, "created": 0, "model": model}


def _usage(request: Request, reply: Reply) -> dict[str, int]:
    prompt, said = reply.usage or (len(request.text.split()), len(reply.words(request).split()))
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}


def _event(body: object) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()
