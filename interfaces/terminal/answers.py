"""An answer as a JSON object, read and checked against its question."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from sessions.questions import Answer, Decision, Question

FORMS = (
    '{"answer": "yes"}, {"answer": "no", "text": "why"}, {"answer": "edit", "code": "...", "index": 0}, {"text": "..."}'
)

_LET_RUN = ("run", "override", "package", "network")
"""Kinds of questions whose answer may let code run."""


class BadAnswerError(ValueError):
    """The line is no answer to the question; its text says why."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    answer: Decision | None = None
    text: str = ""
    code: str | None = None
    index: int = 0
    confirm: str = ""
    shown_whole: bool = True  # the question's event carries the whole code

    def to_answer(self) -> Answer:
        if self.answer is None and not self.text:
            raise BadAnswerError(f"it needs an answer or a text, as in {FORMS}")
        if self.answer == "edit" and self.code is None:
            raise BadAnswerError('an edit needs its "code"')
        return Answer(
            decision=self.answer or "text",
            text=self.text,
            code=self.code or "",
            index=self.index,
            confirm=self.confirm,
            shown_whole=self.shown_whole,
        )


class _Line(_Part):
    question: str = ""
    each: list[_Part] | None = None


def read_answer(line: bytes, question: Question, *, early: bool = False) -> Answer:
    """Read one line. Raises `BadAnswerError` for what is malformed, for another question, or not among the options.

    A line that came `early`, before the question was asked, and does not name it was meant for another one, or for
    whatever comes: it can refuse, and say words where words are asked for, but it lets nothing run.
    """
    try:
        given = _Line.model_validate_json(line)
    except ValidationError as error:
        raise BadAnswerError(_reason(error)) from None
    if given.question and given.question != question.id:
        raise BadAnswerError(f"it is for the question {given.question!r}, but {question.id!r} is open")
    by_block = given.each is not None or given.answer == "each"
    answer = _each(given, question) if by_block else given.to_answer()
    _check(answer, question)
    if early and not given.question and question.kind in _LET_RUN and not _refuses(answer):
        raise BadAnswerError(f'it came before the question was asked: add "question": "{question.id}"')
    return answer


def _refuses(answer: Answer) -> bool:
    return answer.decision == "no" or (answer.decision == "each" and all(_refuses(part) for part in answer.each))


def _each(given: _Line, question: Question) -> Answer:
    asked = question.details.get("asked")
    wanted = len(asked) if isinstance(asked, list | tuple) else len(question.blocks)
    if given.answer not in (None, "each") or given.each is None or len(given.each) != wanted:
        raise BadAnswerError(f'an answer for each block is {{"answer": "each", "each": [...]}} with {wanted} answers')
    return Answer("each", each=tuple(part.to_answer() for part in given.each))


def _check(answer: Answer, question: Question) -> None:
    """Refuse what the question does not offer. Words are taken at any question: they refuse a run with a reason."""
    if question.options and answer.decision not in (*question.options, "text"):
        raise BadAnswerError(f"{answer.decision!r} is not offered here: {', '.join(question.options)}")
    places = {block.index for block in question.blocks}
    if answer.decision == "edit" and answer.index not in places:
        raise BadAnswerError(f"there is no block {answer.index} in this question")


def _reason(error: ValidationError) -> str:
    first: Any = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])
