"""Answers as JSON lines: what is taken, what is refused, and a reader that nothing waits for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from interfaces.terminal.answers import BadAnswerError, read_answer
from interfaces.terminal.input_lines import MAX_LINE_BYTES, InputLines, LineTooLongError, can_answer
from interfaces.terminal.json_lines import JsonLines
from sessions.events import QuestionEvent
from sessions.questions import Answer, AskedBlock, Decision, Question, QuestionKind
from utils.errors import EndOfInputError


def question(*options: Decision, blocks: int = 1, asked: list[int] | None = None) -> Question:
    shown = tuple(AskedBlock(i, "python", f"print({i})", f"{i}" * 64, "ask", "why") for i in range(blocks))
    details = {"asked": asked} if asked is not None else {}
    return Question("q1", "run", "Run it?", "code_executor", "m1", shown, options, details)


RUN = question("yes", "no", "edit", "always")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ('{"answer": "yes"}', Answer("yes", shown_whole=True)),
        ('{"answer": "no", "text": "not this"}', Answer("no", text="not this", shown_whole=True)),
        ('{"answer": "edit", "code": "print(2)", "index": 0}', Answer("edit", code="print(2)", shown_whole=True)),
        ('{"answer": "edit", "code": ""}', Answer("edit", code="", shown_whole=True)),
        ('{"answer": "always"}', Answer("always", shown_whole=True)),
        ('{"text": "APPROVE"}', Answer("text", text="APPROVE", shown_whole=True)),
        ('{"answer": "text", "text": "shorter"}', Answer("text", text="shorter", shown_whole=True)),
        ('{"answer": "yes", "confirm": "a1b2c3"}', Answer("yes", confirm="a1b2c3", shown_whole=True)),
        ('{"answer": "yes", "confirm": "a1", "shown_whole": false}', Answer("yes", confirm="a1")),
        ('{"answer": "yes", "question": "q1"}', Answer("yes", shown_whole=True)),
    ],
)
def test_an_answer_is_read(line: str, answer: Answer) -> None:
    assert read_answer(line.encode(), RUN) == answer


def test_one_answer_a_block() -> None:
    line = b'{"answer": "each", "each": [{"answer": "yes"}, {"answer": "no", "text": "why"}]}'
    answer = read_answer(line, question("yes", "no", "each", blocks=2))
    assert [(one.decision, one.text) for one in answer.each] == [("yes", ""), ("no", "why")]


def test_only_the_asked_blocks_are_answered() -> None:
    line = b'{"each": [{"answer": "yes"}]}'
    assert len(read_answer(line, question("yes", "no", "each", blocks=3, asked=[2])).each) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("yes", "Invalid JSON"),
        ('"yes"', "object"),
        ("[]", "object"),
        ("{}", "needs an answer or a text"),
        ('{"answer": "maybe"}', "answer"),
        ('{"answer": "YES"}', "answer"),
        ('{"answer": true}', "answer"),
        ('{"answer": "yes", "anser": "no"}', "anser"),
        ('{"answer": "edit"}', 'needs its "code"'),
        ('{"answer": "edit", "code": "x", "index": 7}', "no block 7"),
        ('{"answer": "edit", "code": "x", "index": "0"}', "index"),
        ('{"answer": "yes", "question": "another"}', "'q1' is open"),
        ('{"answer": "each", "each": []}', "with 1 answers"),
        ('{"answer": "each"}', "with 1 answers"),
        ('{"answer": "yes", "each": [{"answer": "yes"}]}', "answer for each block"),
        ('{"answer": "yes"} {"answer": "no"}', "Invalid JSON"),
        ("\x00", "Invalid JSON"),
        ('{"answer": "yes", "text": "\\ud800"}', "Invalid JSON"),
    ],
)
def test_what_is_no_answer_is_refused_and_said(line: str, says: str) -> None:
    with pytest.raises(BadAnswerError, match=says.replace("(", r"\(")):
        read_answer(line.encode(), RUN)


def test_an_answer_that_is_not_offered_is_refused() -> None:
    with pytest.raises(BadAnswerError, match="'always' is not offered here: yes, no"):
        read_answer(b'{"answer": "always"}', question("yes", "no"))


WORDS = Question("q2", "feedback", "APPROVE?", "user_proxy")


@pytest.mark.parametrize("kind", ["run", "override", "package", "network"])
@pytest.mark.parametrize(
    "line",
    [
        '{"answer": "yes"}',
        '{"answer": "yes", "confirm": "000000"}',
        '{"answer": "always"}',
        '{"answer": "edit", "code": "print(2)"}',
        '{"text": "APPROVE"}',
        '{"each": [{"answer": "yes"}]}',
        '{"answer": "yes", "question": ""}',
    ],
)
def test_what_came_before_the_question_lets_nothing_run(line: str, kind: QuestionKind) -> None:
    asked = replace(RUN, kind=kind, options=())
    with pytest.raises(BadAnswerError, match='add "question": "q1"'):
        read_answer(line.encode(), asked, early=True)
    assert read_answer(line.encode(), asked).decision
    assert read_answer(b'{"answer": "yes", "question": "q1"}', asked, early=True).decision == "yes"
    assert read_answer(b'{"answer": "no"}', asked, early=True).decision == "no"
    assert read_answer(b'{"each": [{"answer": "no"}]}', asked, early=True).decision == "each"


def test_words_may_come_before_they_are_asked_for() -> None:
    assert read_answer(b'{"text": "APPROVE"}', WORDS, early=True).text == "APPROVE"


class Pipe:
    def __init__(self) -> None:
        self.out, self.into = os.pipe()

    def write(self, data: bytes) -> None:
        os.write(self.into, data)

    def end(self) -> None:
        os.close(self.into)


@pytest.fixture
def pipe() -> Pipe:
    return Pipe()


async def test_lines_come_one_by_one_whatever_the_pieces(pipe: Pipe) -> None:
    lines = InputLines(pipe.out)
    pipe.write(b"one\r\ntwo\nthr")
    assert await lines.next() == b"one"
    assert await lines.next() == b"two"
    waiting = asyncio.ensure_future(lines.next())
    await asyncio.sleep(0)
    pipe.write(b"ee\nlast")
    assert await waiting == b"three"
    pipe.end()
    assert await lines.next() == b"last"
    assert await lines.next() is None
    assert await lines.next() is None


async def test_what_comes_after_a_cancel_is_for_the_next_question(pipe: Pipe) -> None:
    lines = InputLines(pipe.out)
    waiting = asyncio.ensure_future(lines.next())
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    pipe.write(b"late\n")
    assert await lines.next() == b"late"
    pipe.end()


async def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"x" * (3 * MAX_LINE_BYTES) + b"\nshort\n")
    descriptor = os.open(path, os.O_RDONLY)
    lines = InputLines(descriptor)
    with pytest.raises(LineTooLongError):
        await lines.next()
    assert await lines.next() == b"short"
    os.close(descriptor)


async def test_a_bad_line_is_told_and_the_question_stays_open(pipe: Pipe, capsys: pytest.CaptureFixture[str]) -> None:
    interface = JsonLines(1, InputLines(pipe.out))
    pipe.write(b'nonsense\n\n{"answer": "yes", "question": "old"}\n{"answer": "no"}\n')
    pipe.write(b'{"answer": "yes", "question": "q1"}\n')
    assert (await interface.ask(RUN)).decision == "no"
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all("q1" in line for line in told)
    assert (await interface.ask(RUN)).decision == "yes"
    pipe.end()
    with pytest.raises(EndOfInputError):
        await interface.ask(RUN)


async def test_a_mark_parts_what_came_before_from_what_comes_later(pipe: Pipe) -> None:
    lines = InputLines(pipe.out)
    pipe.write(b"one\ntwo\nbegun be")
    lines.mark()
    pipe.write(b"fore\nlater\n")
    found = [(await lines.next(), lines.early) for _ in range(4)]
    assert found == [(b"one", True), (b"two", True), (b"begun before", True), (b"later", False)]
    pipe.write(b"between\n")
    lines.mark()
    pipe.write(b"last\n")
    assert [(await lines.next(), lines.early) for _ in range(2)] == [(b"between", True), (b"last", False)]
    pipe.end()
    lines.mark()
    assert await lines.next() is None


async def test_what_a_reading_brings_that_began_before_the_mark_is_early(pipe: Pipe) -> None:
    lines = InputLines(pipe.out)
    waiting = asyncio.ensure_future(lines.next())
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    pipe.write(b"when?\n")
    lines.mark()
    assert (await lines.next(), lines.early) == (b"when?", True)
    lines.mark()
    pipe.write(b"now\n")
    assert (await lines.next(), lines.early) == (b"now", False)
    pipe.end()


async def test_the_lines_of_a_file_are_all_early(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    path.write_text("one\ntwo\n")
    descriptor = os.open(path, os.O_RDONLY)
    lines = InputLines(descriptor)
    for _ in range(2):
        lines.mark()
        assert await lines.next()
        assert lines.early
    os.close(descriptor)


async def test_an_answer_that_was_sent_twice_answers_one_question(
    pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    interface = JsonLines(os.open(os.devnull, os.O_WRONLY), InputLines(pipe.out))
    first, second = RUN, replace(RUN, id="q2", kind="network", options=("yes", "no"))
    for question in (first, second):
        interface.on_event(QuestionEvent(source="code_executor", id=question.id, kind=question.kind, text="?"))
        if question is first:
            pipe.write(b'{"answer": "yes"}\n{"answer": "yes"}\n')
            assert (await interface.ask(question)).decision == "yes"
    pipe.write(b'{"answer": "no", "text": "not that"}\n')
    assert (await interface.ask(second)).decision == "no"
    assert 'add "question": "q2"' in capsys.readouterr().err
    pipe.end()


def _null(tmp_path: Path) -> int:
    return os.open(os.devnull, os.O_RDONLY)


def _empty_file(tmp_path: Path) -> int:
    (tmp_path / "empty").touch()
    return os.open(tmp_path / "empty", os.O_RDONLY)


def _ended_pipe(tmp_path: Path) -> int:
    pipe = Pipe()
    pipe.end()
    return pipe.out


def _open_pipe(tmp_path: Path) -> int:
    return Pipe().out


def _ended_pipe_with_answers(tmp_path: Path) -> int:
    pipe = Pipe()
    pipe.write(b"{}\n")
    pipe.end()
    return pipe.out


def _file(tmp_path: Path) -> int:
    (tmp_path / "answers").write_text("{}\n")
    return os.open(tmp_path / "answers", os.O_RDONLY)


def _terminal(tmp_path: Path) -> int:
    return os.openpty()[1]


@pytest.mark.parametrize(
    ("make", "may"),
    [
        (_null, False),
        (_empty_file, False),
        (_ended_pipe, False),
        (_open_pipe, True),
        (_ended_pipe_with_answers, True),
        (_file, True),
        (_terminal, True),
    ],
)
def test_whether_answers_may_come(make: Callable[[Path], int], may: bool, tmp_path: Path) -> None:
    assert can_answer(make(tmp_path)) is may


def test_a_closed_descriptor_answers_nothing() -> None:
    pipe = Pipe()
    pipe.end()
    os.close(pipe.out)
    assert can_answer(pipe.out) is False
