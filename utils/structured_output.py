"""An answer in a given form from any model: by JSON schema, else by JSON mode, else by asking, always validated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args

from autogen_core import CancellationToken
from autogen_core.models import AssistantMessage, CreateResult, LLMMessage, UserMessage
from pydantic import BaseModel, ValidationError

from utils.errors import ModelError, RequestRefusedError
from utils.model_abilities import AnswerBy, abilities
from utils.model_client import ModelClient

T = TypeVar("T", bound=BaseModel)

CONTRACT: Final = "Answer with one JSON object and nothing else, no Markdown, in this form:"
"""First line of what the program adds to the last message."""

_FENCE: Final = re.compile(r"```[A-Za-z]*$")
_MOST_BRACES: Final = 500
"""Places where an object may begin that are tried: each failed one may cost a pass over the rest of the text."""


async def ask_structured(
    client: ModelClient,
    messages: Sequence[LLMMessage],
    answer: type[T],
    *,
    cancellation_token: CancellationToken | None = None,
) -> T:
    """Ask a model for an answer of the given form.

    The form is described in words at the end of the last message, which must be a `UserMessage` of text. What the
    endpoint can do is tried once and remembered. An answer that does not fit is sent back once, with what is wrong.
    Raises `ModelError` when it still does not fit, was cut, or could not be had.
    """
    asked = _with_contract(messages, answer)
    result = await _ask(client, asked, answer, cancellation_token)
    try:
        return _read(result, answer)
    except ValueError as error:
        text = result.content if isinstance(result.content, str) else ""
        asked += [
            AssistantMessage(content=text[:8_000] or "(nothing)", source="assistant"),
            UserMessage(content=f"That does not fit: {_short(error)}. {describe(answer)}", source="user"),
        ]
    result = await _ask(client, asked, answer, cancellation_token)
    try:
        return _read(result, answer)
    except ValueError as error:
        raise ModelError(
            f"{client.profile.model} gave no usable answer, asked twice: {_short(error)}.", "Try another model."
        ) from error


def describe(answer: type[BaseModel]) -> str:
    """The contract: the form of the answer, in words that a small model understands too."""
    schema = answer.model_json_schema()
    return f"{CONTRACT}\n{_describe(schema, schema.get('$defs', {}), 0)}"


@dataclass(frozen=True)
class Found:
    """A JSON object in a text, and what stands around it."""

    value: Any
    text: str
    start: int
    end: int

    @property
    def is_the_answer(self) -> bool:
        """Whether it opens or ends the text, or fills a fence: one in the middle of a sentence may be a quotation."""
        before, after = self.text[: self.start].strip(), self.text[self.end :].strip()
        return not before or not after or (_FENCE.search(before) is not None and after.startswith("```"))


def find_json(text: str) -> Iterator[Found]:
    """Every JSON object in a text that may hold prose and fences, in order; not those within another."""
    decoder, start = json.JSONDecoder(), text.find("{")
    for _ in range(_MOST_BRACES):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield Found(value, text, start, end)
        start = text.find("{", end)


async def _ask(
    client: ModelClient, messages: Sequence[LLMMessage], answer: type[T], token: CancellationToken | None
) -> CreateResult:
    """Ask in the best way that the endpoint takes, and remember which that was."""
    known = abilities(client.profile.endpoint)
    ways = _ways(client, known.answer_by)
    for way in ways:
        form = answer if way == "schema" else True if way == "json" else None
        try:
            result = await client.create(messages, json_output=form, cancellation_token=token)
        except RequestRefusedError:
            if way == ways[-1]:
                raise
            continue
        # A small model held to a schema may go on for ever: the next way may bring it to an end.
        if client.last_cut == "length" and way != ways[-1]:
            continue
        if client.last_cut:
            raise ModelError(
                f"The answer of {client.profile.model} was cut ({client.last_cut}).",
                f"Raise max_tokens in {client.profile.file}, or choose another model.",
            )
        known.answer_by = way
        return result
    raise AssertionError("there is always a last way")


def _ways(client: ModelClient, known: AnswerBy | None) -> tuple[AnswerBy, ...]:
    configured = client.profile.structured_output
    first = known or ("schema" if configured == "auto" else configured)
    ways: tuple[AnswerBy, ...] = get_args(AnswerBy)
    return ways[ways.index(first) :]


def _with_contract(messages: Sequence[LLMMessage], answer: type[BaseModel]) -> list[LLMMessage]:
    *before, last = messages
    if not isinstance(last, UserMessage) or not isinstance(last.content, str):
        raise TypeError("the last message must be a UserMessage of text")
    return [*before, UserMessage(content=f"{last.content}\n\n{describe(answer)}", source=last.source)]


def _read(result: CreateResult, answer: type[T]) -> T:
    """Validate an answer. Raises `ValueError` (pydantic's is one).

    Two answers that differ are none: one of them may be quoted from the text that was judged.
    """
    if not isinstance(result.content, str):
        raise ValueError("a tool was called instead of an answer")
    answers: list[T] = []
    wrong: ValueError | None = None
    for found in find_json(result.content):
        try:
            value = answer.model_validate(found.value)
        except ValidationError as error:
            wrong = wrong or error
            continue
        if not found.is_the_answer:
            wrong = ValueError("the JSON object stands in the middle of other text")
        elif value not in answers:
            answers.append(value)
    if len(answers) > 1:
        raise ValueError("there is more than one answer in it")
    if not answers:
        raise wrong or ValueError("there is no JSON object in it")
    return answers[0]


def _short(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(
            f"{'.'.join(str(part) for part in one['loc']) or 'the object'}: {one['msg']}"
            for one in error.errors(include_url=False)[:5]
        )
    return str(error)


def _describe(schema: dict[str, Any], definitions: dict[str, Any], depth: int) -> str:
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], **schema}
    if "anyOf" in schema:
        return " or ".join(_describe(one, definitions, depth) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if schema.get("type") == "array":
        return f"[{_describe(schema.get('items', {}), definitions, depth)}, ...]"
    if "properties" not in schema:
        return str(schema.get("type", "any value"))
    pad = "  " * (depth + 1)
    lines = []
    for name, part in schema["properties"].items():
        note = f"   // {' '.join(part['description'].split())}" if part.get("description") else ""
        lines.append(f"{pad}{json.dumps(name)}: {_describe(part, definitions, depth + 1)},{note}")
    return "{\n" + "\n".join(lines) + f"\n{'  ' * depth}}}"
