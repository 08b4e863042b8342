"""Words that several exports share."""

from __future__ import annotations

import re
from typing import Any

from sessions.events import AnswerEvent, MessageEvent, StopEvent
from sessions.export.story import Run

WHO = {
    "user": "You",
    "user_proxy": "You",
    "code_generator": "Code generator",
    "safety_reviewer": "Safety reviewer",
    "code_executor": "Code executor",
    "program": "Roundtable",
}
"""Names of the speakers as a reader knows them."""

BY = {
    "policy": "allowed by the review",
    "human": "approved by the human",
    "override": "a denial overridden by the human",
    "standing": 'under a standing "always these bytes"',
    "": "NO APPROVAL of these bytes is recorded",
}
"""Who let a block run."""

REASONS = {
    "approved": "approved",
    "stopped": "done",
    "answered": "answered",
    "stuck": "stuck",
    "limit": "limit reached",
    "interrupted": "interrupted",
    "error": "ended by an error",
}

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


def visible(text: str) -> str:
    """The text with control, direction and zero-width characters made visible; line ends and tabs stay."""
    return _CONTROL.sub(_shown, text.replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"<U+{code:04X}>"


def is_account(event: MessageEvent) -> bool:
    """Whether a message only passes, or repeats in words what the review or the run before it says."""
    return event.kind in ("pass", "review", "result")


def ending(run: Run) -> str:
    """How a run ended: `exit code 0 after 0.12 s`."""
    if run.exit_code is None:
        return "broken off: the program ended in the middle of it"
    words = f"exit code {run.exit_code} after {run.duration_s:.2f} s"
    return f"{run.ending}, {words}" if run.ending else words


def verdict_of(block: dict[str, Any]) -> str:
    """One line on the judgement of a block: what, why, who judged."""
    by = {"rules": "the rules", "model": "the model", "nobody": "nobody, the reviewer failed"}
    verdict, reason = str(block.get("verdict", "")), str(block.get("reason", ""))
    return f"{verdict} (by {by.get(str(block.get('by', 'rules')), 'the rules')}){': ' + reason if reason else ''}"


def answer_of(event: AnswerEvent) -> str:
    """What the human answered, in words."""
    return f"{event.decision}: {event.text}" if event.text else event.decision


def stop_of(event: StopEvent) -> str:
    """How a task ended, with what it took."""
    usage = event.usage
    words = REASONS[event.reason] + (f": {event.text}" if event.text and event.reason not in ("approved",) else "")
    return (
        f"{words} ({event.blocks_run} blocks run, {usage.calls} model calls, "
        f"{usage.prompt_tokens + usage.completion_tokens:,} tokens, {event.duration_s:.1f} s)"
    )
