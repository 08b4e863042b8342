"""Questions and answers: nothing but a typed yes is a yes, and what a human must see is shown."""

from __future__ import annotations

import asyncio
from io import StringIO

import pytest

from interfaces.terminal.approval import view
from interfaces.terminal.code_view import excerpt, unified, whole
from interfaces.terminal.outlet import make_console
from interfaces.terminal.prompt import EndOfInput, InterruptedInput
from interfaces.terminal.questions import Asker
from interfaces.terminal.screen import Screen
from safety.code_blocks import digest
from sessions.questions import Answer, AskedBlock, Decision, Question, QuestionKind
from utils.errors import EndOfInputError


async def no_command(name: str, argument: str) -> None:
    raise AssertionError(f"/{name} was not typed")


class Typed:
    """Lines that a human types, in order; then the input ends. Any of them may be an exception."""

    def __init__(self, *lines: str | Exception) -> None:
        self.lines = list(lines)
        self.prompts: list[str] = []

    async def task(self, prompt: str, *, hint: str = "") -> str:
        return await self.answer(prompt)

    async def answer(self, prompt: str) -> str:
        self.prompts.append(prompt)
        line = self.lines.pop(0) if self.lines else EndOfInput()
        if isinstance(line, Exception):
            raise line
        return line


def block(
    code: str = "print(1)\n", *, index: int = 0, verdict: str = "ask", previous: str = "", **finding: object
) -> AskedBlock:
    findings = ({"rule": "r.x", "verdict": verdict, "message": "is odd", **finding},) if finding else ()
    return AskedBlock(index, "python", code, digest("python", code), verdict, "It is odd.", findings, previous)


def question(
    *blocks: AskedBlock, kind: QuestionKind = "run", options: tuple[Decision, ...] = (), **details: object
) -> Question:
    return Question("q", kind, "Run it? A yes runs it once.", "code_executor", "m", blocks, options, dict(details))


async def put(asked: Question, *lines: str | Exception) -> tuple[Answer, str]:
    file = StringIO()
    asker = Asker(Screen(make_console(file, width=80)), Typed(*lines), lambda: None, no_command)
    return await asker(asked), file.getvalue()


@pytest.mark.parametrize("line", ["y", "Y", " yes ", "APPROVE", "approve"])
async def test_a_yes(line: str) -> None:
    answer, _ = await put(question(block()), line)
    assert answer == Answer("yes")


@pytest.mark.parametrize(
    "line", ["", "  ", "ja", "yy", "y it", "approve it", "always not", "yes please", "3fa9c1", "x"]
)
async def test_nothing_else_is_a_yes(line: str) -> None:
    answer, _ = await put(question(block()), line, "n")
    assert answer == Answer("no")


@pytest.mark.parametrize(("line", "reason"), [("n", ""), ("no, use csv", "use csv"), ("N  not now", "not now")])
async def test_a_no_and_its_reason(line: str, reason: str) -> None:
    answer, _ = await put(question(block()), line)
    assert answer == Answer("no", text=reason)


@pytest.mark.parametrize(("line", "option"), [("y", "yes"), ("a", "always"), ("e", "edit"), ("o", "each")])
async def test_what_the_question_does_not_take_is_not_answered(line: str, option: Decision) -> None:
    others: tuple[Decision, ...] = tuple(o for o in ("yes", "no", "edit", "always", "each") if o != option)
    answer, out = await put(question(block(), options=others), line, "n")
    assert answer == Answer("no")
    assert f"'{line}' is no answer here: nothing runs by it.\n" in out


async def test_the_end_of_input_is_no_answer() -> None:
    with pytest.raises(EndOfInputError):
        await put(question(block()), "")


async def test_ctrl_c_cancels_the_conversation_and_then_the_question() -> None:
    asking: list[asyncio.Task[Answer]] = []

    def cancel() -> None:
        asking[0].cancel()

    asker = Asker(Screen(make_console(StringIO())), Typed(InterruptedInput()), cancel, no_command)
    asking.append(asyncio.ensure_future(asker(question(block()))))
    with pytest.raises(asyncio.CancelledError):
        await asking[0]


async def test_several_blocks_take_one_answer_or_one_each() -> None:
    two = question(block(), block("print(2)\n", index=1), options=("yes", "no", "edit", "always", "each"))
    assert (await put(two, "y"))[0] == Answer("yes")
    each, out = await put(two, "o", "y", "", "n why")
    assert each == Answer("each", each=(Answer("yes"), Answer("no", text="why")))
    assert "block 2 of 2" in out


async def test_only_the_asked_blocks_are_answered_each() -> None:
    allowed, asked = block("print(0)\n", verdict="allow"), block("print(2)\n", index=1)
    answer, out = await put(question(allowed, asked, options=("yes", "no", "each"), asked=[1]), "o", "y")
    assert answer == Answer("each", each=(Answer("yes"),))
    assert "print(0)" not in out
    assert "✔ allowed  python, block 1 of 2" in out


async def test_an_edit_of_several_needs_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    async def edited(code: str, language: str) -> str:
        return code.replace("2", "3")

    monkeypatch.setattr("interfaces.terminal.questions.edit", edited)
    two = question(block(), block("print(2)\n", index=1))
    answer, out = await put(two, "e", "e 7", "e 1", "e 2")
    assert answer == Answer("edit", code="print(3)\n", index=1)
    assert out.count("Which block?") == 2
    assert "Nothing was changed." in out


async def test_reasons_come_before_the_code_and_findings_stand_at_their_lines() -> None:
    odd = block("import os\n\tos.remove('x')\n", line=2, column=2, touches="host")
    _, out = await put(question(odd), "n")
    assert out.index("It is odd.") < out.index("1 import os")
    lines = out.splitlines()
    at = next(n for n, line in enumerate(lines) if "os.remove" in line)
    assert "^ is odd  (r.x)" in lines[at + 1]


async def test_invisible_characters_are_visible() -> None:
    _, out = await put(question(block("x = '\x1b[2J\u202e\u200b'\r\n")), "n")
    assert "␛[2J<U+202E><U+200B>" in out
    assert "\x1b" not in out


async def test_markup_in_code_and_reasons_is_text() -> None:
    _, out = await put(question(block("print('[bold red]x[/]')\n")), "n")
    assert "[bold red]x[/]" in out


async def test_case_51_a_payload_out_of_sight_is_told_and_shown() -> None:
    code = "x = 1\n" + "\n" * 10_000 + "evil()\ny = 2" + " " * 5_000 + "; evil()\n"
    _, out = await put(question(block(code)), "n")
    assert "out of sight: line 10,002 follows 10,000 blank lines" in out
    assert "10002 evil()" in out
    assert "⟨5,000 blanks⟩; evil()" in out
    assert len(out.splitlines()) < 40


async def test_of_a_long_block_the_findings_are_shown_and_the_rest_is_counted() -> None:
    long = block("".join(f"a{n} = {n}\n" for n in range(500)), line=400)
    _, out = await put(question(long), "n")
    assert "400 a399 = 399" in out
    assert "a300 = 300" not in out
    assert "443 lines not shown here: v shows the whole block" in out
    _, out = await put(question(long), "v", "n")
    assert all(f"a{n} = {n}\n" in out for n in range(500))


async def test_a_diff_with_the_last_approved_block() -> None:
    _, out = await put(question(block("a\nc\n", previous="a\nb\n")), "d", "n")
    assert "-b\n+c\n" in out
    _, out = await put(question(block()), "d", "n")
    assert "No python block was approved before." in out


@pytest.mark.parametrize(
    "line", ["y", "yes", "APPROVE", "a", "e", "", "{five}", "{last}", "{first} now", "{upper_wrong}"]
)
async def test_case_52_only_the_digest_overrides(line: str) -> None:
    denied = block(verdict="deny")
    sha = denied.digest
    line = line.format(five=sha[:5], last=sha[-6:], first=sha[:6], upper_wrong="ZZZZZZ")
    answer, _ = await put(question(denied, kind="override"), line, "n leave it")
    assert answer == Answer("no", text="leave it")


async def test_the_digest_overrides_after_the_whole_code() -> None:
    denied = block(verdict="deny")
    answer, out = await put(question(denied, kind="override"), denied.digest[:6].upper())
    assert answer == Answer("yes", confirm=denied.digest[:6], shown_whole=True)
    assert out.index("print(1)") < out.index("override" if "override?" in out else "The digest is")


@pytest.mark.parametrize("kind", ["package", "network"])
async def test_a_grant_is_a_yes_or_a_no(kind: QuestionKind) -> None:
    answer, out = await put(question(block(), kind=kind), "", "maybe", "v", "y")
    assert answer == Answer("yes")
    assert "Nothing was answered, and nothing runs by that.\ny yes  n no, n why  v view whole  /help commands\n" in out
    assert "'maybe' is no answer here: nothing runs by it.\ny yes  n no, n why  v view whole" in out
    assert out.count("print(1)") == 2  # a yes runs the block, too


@pytest.mark.parametrize("kind", ["run", "override", "package", "network"])
async def test_commands_are_taken_at_every_question_and_the_keys_shown_anew(kind: QuestionKind) -> None:
    typed: list[tuple[str, str]] = []

    async def command(name: str, argument: str) -> None:
        typed.append((name, argument))

    file = StringIO()
    asker = Asker(Screen(make_console(file, width=80)), Typed("/why", "/model other one", "n"), lambda: None, command)
    assert await asker(question(block(), kind=kind)) == Answer("no")
    assert typed == [("why", ""), ("model", "other one")]
    assert file.getvalue().count("/help commands") == 3


async def test_what_was_not_understood_is_told_short_and_never_obeyed() -> None:
    _, out = await put(question(block()), "\x1b[31m" + "x" * 500, "n")
    told = " ".join(out.split())
    assert f"'␛[31m{'x' * 55} … 445 more characters' is no answer here" in told


@pytest.mark.parametrize("kind", ["feedback", "stuck"])
async def test_words_are_taken_as_they_are(kind: QuestionKind) -> None:
    answer, _ = await put(question(kind=kind), "", "  ", "APPROVE")
    assert answer == Answer("text", text="APPROVE")


def test_no_line_of_a_view_is_wider_than_80_columns() -> None:
    file = StringIO()
    console = make_console(file, width=80)
    for part in view(question(block("x = " + "y" * 300 + "\n", line=1, column=200, previous="x"))):
        console.print(part)
    assert max(len(line) for line in file.getvalue().splitlines()) <= 80


def test_a_whole_view_has_every_line() -> None:
    code = "a\n\n\n\n\n\nb\n"
    assert [number for number, _ in whole(code, "python")] == ["1", "2", "3", "", "7"]
    assert excerpt("", "python") == ([("1", whole("", "python")[0][1])], 0)


def test_a_diff_of_the_same_is_empty() -> None:
    assert unified("a\n", "a\n", "x", "y") == []
