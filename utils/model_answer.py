"""Reading a model's answer, whole or piece by piece, so that nothing is lost of how it ended.

AutoGen's client loses the finish reason when the usage rides on the last piece, and warns where a model only thought.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from autogen_core import FunctionCall
from autogen_core.models import CreateResult, FinishReasons, RequestUsage

from utils.thinking import CLOSE, OPEN, split_thought

Cut = Literal["", "length", "content_filter", "broken off"]
"""Why an answer is incomplete; empty: it is whole."""

_FINISH: dict[str, FinishReasons] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "content_filter",
    "tool_calls": "function_calls",
    "function_call": "function_calls",
}


class MalformedAnswerError(Exception):
    """The endpoint sent something that is no answer."""


@dataclass
class Answer:
    """An answer as it grows."""

    words: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[int, FunctionCall] = field(default_factory=dict)
    finish: str = ""
    """Finish reason as the endpoint named it; empty while there is none."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    _thinking: bool = False

    def add_chunk(self, chunk: Any) -> str:
        """Take a piece of a stream; return the text to show, reasoning fields in `<think>` marks.

        Raises `MalformedAnswerError`. Pieces are not validated by the SDK: any field may be missing.
        """
        try:
            self._count(chunk)
            if not chunk.choices:
                return ""
            choice = chunk.choices[0]
            self.finish = str(choice.finish_reason or self.finish)
            if self.finish == "error":
                raise MalformedAnswerError("the endpoint reported an error in the middle of its answer")
            return self._add(choice.delta) if choice.delta is not None else ""
        except (AttributeError, TypeError, IndexError, KeyError, ValueError) as error:
            raise MalformedAnswerError("a piece of the answer was malformed") from error

    def add_whole(self, completion: Any) -> None:
        """Take an answer that was not streamed. Raises `MalformedAnswerError`."""
        try:
            self._count(completion)
            choice = completion.choices[0]
            self.finish = str(choice.finish_reason or "")
            self._add(choice.message)
        except (AttributeError, TypeError, IndexError, KeyError, ValueError) as error:
            raise MalformedAnswerError("the answer was malformed") from error

    @property
    def is_empty(self) -> bool:
        """Nothing was said: no words beside a thought, no call."""
        return not self.calls and not self._split()[1].strip()

    @property
    def cut(self) -> Cut:
        """How the answer ended."""
        finish = _FINISH.get(self.finish.lower(), "stop" if self.finish else "unknown")
        if finish == "length":
            return "length"
        if finish == "content_filter":
            return "content_filter"
        return "broken off" if finish == "unknown" else ""

    def result(self) -> CreateResult:
        """The answer as AutoGen has it: words without the thought, `finish_reason` `unknown` where it broke off."""
        thought, words = self._split()
        finish = _FINISH.get(self.finish.lower(), "stop" if self.finish else "unknown")
        return CreateResult(
            finish_reason="function_calls" if self.calls and finish == "stop" else finish,
            content=list(self.calls.values()) if self.calls else words,
            usage=RequestUsage(prompt_tokens=self.prompt_tokens, completion_tokens=self.completion_tokens),
            cached=False,
            thought=(words if self.calls else thought) or None,
        )

    def _split(self) -> tuple[str, str]:
        reasoning = "".join(self.thoughts).strip()
        thought, words = split_thought("".join(self.words))
        return "\n\n".join(part for part in (reasoning, thought) if part), words

    def _count(self, part: Any) -> None:
        usage = getattr(part, "usage", None)
        if usage is not None:
            # A count that is none is no reason to throw the answer away.
            self.prompt_tokens = _whole(getattr(usage, "prompt_tokens", 0))
            self.completion_tokens = _whole(getattr(usage, "completion_tokens", 0))

    def _add(self, part: Any) -> str:
        shown = ""
        reasoning = getattr(part, "reasoning_content", None) or getattr(part, "reasoning", None)
        if isinstance(reasoning, str) and reasoning:
            shown += reasoning if self._thinking else OPEN + reasoning
            self._thinking = True
            self.thoughts.append(reasoning)
        words = part.content or getattr(part, "refusal", None) or ""
        if not isinstance(words, str):
            raise TypeError(f"content is {type(words).__name__}")
        if words:
            shown += f"{CLOSE}\n\n{words}" if self._thinking else words
            self._thinking = False
            self.words.append(words)
        for place, call in enumerate(getattr(part, "tool_calls", None) or ()):
            index = getattr(call, "index", None)
            self._add_call(place if index is None else int(index), call)
        return shown

    def _add_call(self, index: int, call: Any) -> None:
        known = self.calls.setdefault(index, FunctionCall(id="", name="", arguments=""))
        known.id += call.id or ""
        if call.function is not None:
            known.name += call.function.name or ""
            known.arguments += call.function.arguments or ""


def _whole(count: object) -> int:
    return count if isinstance(count, int) and count > 0 else 0
