"""When a team counts as stuck."""

from __future__ import annotations

import pytest

from agents.task_state import Proposal, TaskState, error_signature
from safety.code_blocks import parse

LANGUAGES = {"python": "python", "bash": "bash"}
TRACEBACK = 'Traceback (most recent call last):\n  File "x.py", line {line}, in <module>\n{error}\n'


def failed(state: TaskState, code: str, error: str, retries: int = 3) -> str:
    state.note_failure((code,), error, retries)
    return state.stuck


def test_different_errors_are_mended_up_to_the_retries() -> None:
    state = TaskState()
    errors = ["KeyError: 'a'", "NameError: name 'b'", "TypeError: c", "OSError: d"]
    assert [failed(state, f"code{i}", error) != "" for i, error in enumerate(errors)] == [False, False, False, True]
    assert state.stuck == "4 attempts in a row failed"


def test_retries_zero_is_stuck_at_the_first_failure() -> None:
    assert failed(TaskState(), "a", "KeyError: 'a'", retries=0) == "1 attempts in a row failed"


def test_the_same_code_again_is_stuck() -> None:
    state = TaskState()
    assert failed(state, "a", "KeyError: 1") == ""
    assert failed(state, "a", "ValueError: 2") == "the same code failed again"


def test_the_same_error_at_another_line_is_stuck() -> None:
    state = TaskState()
    assert failed(state, "a", TRACEBACK.format(line=3, error="ZeroDivisionError: division by zero")) == ""
    again = failed(state, "b", TRACEBACK.format(line=9, error="ZeroDivisionError: division by zero"))
    assert again == "the same error came again"


def test_two_silent_failures_are_not_known_to_be_the_same() -> None:
    state = TaskState()
    assert failed(state, "a", "") == ""
    assert failed(state, "b", "") == ""


def test_two_denials_in_a_row_are_stuck_and_a_failure_between_them_is_not() -> None:
    state = TaskState()
    state.note_denial(("a",), 3)
    state.note_denial(("b",), 3)
    assert state.stuck == "the code was denied twice in a row"
    state = TaskState()
    state.note_denial(("a",), 3)
    failed(state, "b", "KeyError: 1")
    state.note_denial(("c",), 3)
    assert state.stuck == ""


def test_success_and_human_input_start_the_count_anew() -> None:
    state = TaskState()
    for succeed in (True, False):
        failed(state, "a", "KeyError: 1")
        state.note_success(("z",)) if succeed else state.reset_counters()
        assert failed(state, "a", "KeyError: 1") == ""
        state.reset_counters()


def test_a_new_task_forgets_what_ran_but_not_what_was_approved() -> None:
    state = TaskState(approved={"python": "print(1)"})
    state.note_success(("d",))
    state.end("stopped")
    state.begin("next")
    assert (state.task, state.ran, state.stop, state.approved) == ("next", (), None, {"python": "print(1)"})


@pytest.mark.parametrize(
    ("text", "cut", "to_run", "unrunnable"),
    [
        ("```python\n1\n```", "", 1, ""),
        ("```python\n1\n```", "length", 0, "cut (length)"),
        ("```python\n1\n", "", 0, "never closed"),
        ("```cobol\nX\n```", "", 0, "`cobol` cannot be run"),
        ("```cobol\nX\n```\n```bash\nls\n```", "", 1, ""),
        ("words only", "", 0, ""),
    ],
)
def test_proposal(text: str, cut: str, to_run: int, unrunnable: str) -> None:
    proposal = Proposal.of("m", parse(text, LANGUAGES), cut, frozenset())
    assert len(proposal.to_run) == to_run
    assert unrunnable in proposal.unrunnable
    assert bool(proposal.unrunnable) == bool(unrunnable)


def test_a_message_that_brings_nothing_new_is_a_quotation() -> None:
    parsed = parse("```python\n1\n```\n```python\n2\n```", LANGUAGES)
    first, second = (block.digest for block in parsed.blocks)
    assert Proposal.of("m", parsed, "", frozenset({first, second})).to_run == ()
    assert len(Proposal.of("m", parsed, "", frozenset({first})).to_run) == 2


def test_error_signature_of_nothing_is_empty() -> None:
    assert error_signature(" \n\n") == ""


def test_saved_and_loaded_is_the_same() -> None:
    state = TaskState(task="t")
    state.propose(Proposal.of("m", parse("```python\n1\n```", LANGUAGES), "", frozenset()))
    state.note_denial(("d",), 3)
    assert TaskState.model_validate(state.model_dump(mode="json")) == state
