"""The chat in a real pseudo-terminal: what a human sees and types."""

from __future__ import annotations

import signal
import sys
import termios
from pathlib import Path

import pytest

from tests.interfaces.terminals import ALT_ENTER, CTRL_C, CTRL_D, FAKE_CHAT, PseudoTerminal

pytestmark = pytest.mark.slow


def chat(directory: Path, *arguments: str, columns: int = 80, rows: int = 24, **environ: str) -> PseudoTerminal:
    environ["PYTHONWARNINGS"] = "error"
    terminal = PseudoTerminal(FAKE_CHAT, str(directory), *arguments, columns=columns, rows=rows, environ=environ)
    if len(arguments) < 2:
        terminal.wait("›")
    return terminal


def test_a_task_is_shown_from_the_first_word_to_the_summary(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        assert "safety_reviewer prompt edited" in terminal.text
        terminal.enter("hello")
        text = terminal.wait("✔ approved")
        for line in (
            'print(f"factorial(5) = {factorial(5)}")',
            " 2 multiply them",
            "✔ allowed  python 3fa9c1",
            "│ factorial(5) = 120",
            "→ plot.png  new, 75 B",
            "✔ generated 3.1 s · ✔ allowed 0.8 s · ✔ ran 0.02 s, exit 0",
            "1 block run · 3 model calls · 2,242 tokens (1,830 in, 412 out) · 4.2 s",
        ):
            assert text.count(line) == 1, line
        assert "⠋" not in text


def test_output_is_shown_and_never_obeyed(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter("hello")
        text = terminal.wait("✔ approved")
        assert "┃ a warning: ␛[31mred␛[0m ␛]0;title␇" in text
        assert terminal.screen.title == ""


def test_the_scrollback_is_whole_on_a_small_screen(tmp_path: Path) -> None:
    with chat(tmp_path, columns=50, rows=8) as terminal:
        terminal.enter("hello")
        text = terminal.wait("✔ approved")
        code = text[text.index("python ──") : text.index("Then I run it.")]
        assert code.splitlines()[1:-2] == [
            "import math",
            "",
            "",
            "def factorial(n: int) -> int:",
            '    """Return n!."""',
            "    return math.prod(range(1, n + 1))",
            "",
            "",
            'print(f"factorial(5) = {factorial(5)}")',
        ]


@pytest.mark.parametrize("environ", [{}, {"TERM": "dumb", "NO_COLOR": "1"}], ids=["xterm", "dumb"])
@pytest.mark.parametrize("columns", [30, 40, 60])
def test_a_narrow_screen_shows_all_and_breaks_no_line_of_code(
    columns: int, environ: dict[str, str], tmp_path: Path
) -> None:
    with chat(tmp_path, columns=columns, rows=60, **environ) as terminal:
        terminal.enter("risky")
        terminal.wait_prompt("run? ›")
        terminal.enter("/help")
        terminal.wait("run? ›", count=2)
        terminal.wait_prompt("run? ›")
        terminal.enter("n")
        terminal.wait("✔ approved")
    code = terminal.text[: terminal.text.index("may this run?")]
    assert 'data = requests.get("http://example.com/data.csv").text' in code.replace("\n", "")
    words = " ".join(terminal.text.split())
    assert "begin a new session with an empty workspace" in words
    for pair in ("y yes", "n no, n why", "v view whole", "a always these bytes", "/help commands"):
        assert any(pair in line for line in terminal.text.splitlines()), pair
    assert "─" * columns in terminal.text
    assert f"{'─' * columns}\n─" not in terminal.text


def test_an_empty_answer_runs_nothing_and_a_reason_is_kept(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter("risky")
        terminal.wait_prompt("run? ›")
        terminal.enter()
        terminal.wait("Nothing was answered")
        assert not (tmp_path / "answer").exists()
        terminal.enter("maybe")
        terminal.wait("'maybe' is no answer here: nothing runs by it.")
        terminal.enter("/why")
        terminal.wait("It reaches out.")
        terminal.enter("/files")
        terminal.wait("no files yet")
        terminal.enter("n not this file")
        terminal.wait_prompt()
        assert "decision='no', text='not this file'" in (tmp_path / "answer").read_text()
        assert "│ ran" not in terminal.text


def test_what_was_typed_before_the_question_is_no_answer(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter("risky")
        terminal.wait("I fetch")
        terminal.enter("y")
        terminal.wait("run? ›")
        terminal.enter()
        terminal.wait("Nothing was answered")
        assert not (tmp_path / "answer").exists()
        terminal.enter("APPROVE")
        terminal.wait("│ ran")
        assert "decision='yes'" in (tmp_path / "answer").read_text()


def test_the_question_shows_reasons_code_and_findings_once(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter("risky")
        text = terminal.wait("run? ›")
        view = text[text.index("may this run?") :]
        assert view.index("It reaches for the network") < view.index("1 import os")
        assert '5 os.remove("/etc/hosts")\n  ^ deletes /etc/hosts' in view
        assert "A yes runs these exact bytes once" in view
        assert text.count("● to be asked") == 1
        terminal.enter("d")
        assert "-import math" in terminal.wait("+++ now asked")
        terminal.enter("a")
        terminal.wait_prompt()
        assert "decision='always'" in (tmp_path / "answer").read_text()


def test_an_edit_comes_back_from_the_editor(tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf "print(1)\\n" > "$1"\n')
    editor.chmod(0o700)
    with chat(tmp_path, VISUAL=str(editor)) as terminal:
        terminal.enter("risky")
        terminal.wait_prompt("run? ›")
        terminal.enter("e")
        terminal.wait("✔ edited")
        assert r"decision='edit', text='', code='print(1)\n'" in (tmp_path / "answer").read_text()


def test_an_editor_that_is_missing_is_named_and_the_question_stays(tmp_path: Path) -> None:
    with chat(tmp_path, VISUAL="no-such-editor -w") as terminal:
        terminal.enter("risky")
        terminal.wait_prompt("run? ›")
        terminal.enter("e")
        terminal.wait("✘ VISUAL names no-such-editor, which is not installed. Set VISUAL anew.")
        terminal.wait_prompt("run? ›")
        assert not (tmp_path / "answer").exists()


def test_a_denial_is_overridden_only_by_the_digest_after_the_whole_code(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter("denied")
        text = terminal.wait("override? ›")
        assert "out of sight: line 202 follows 200 blank lines" in text
        assert "202 os.system('rm -rf /')" in text
        for wrong in ("y", "APPROVE", "3fa9c", "3fa9c2"):
            terminal.enter(wrong)
            terminal.wait_prompt("override? ›")
        assert not (tmp_path / "answer").exists()
        terminal.enter("3fa9c1")
        terminal.wait_prompt()
        assert "decision='yes'" in (tmp_path / "answer").read_text()
        assert "confirm='3fa9c1', shown_whole=True" in (tmp_path / "answer").read_text()


def test_an_override_counts_only_when_the_pages_were_read_to_the_end(tmp_path: Path) -> None:
    with chat(tmp_path, rows=8) as terminal:
        terminal.enter("denied")
        terminal.wait("Enter: more, q: enough")
        terminal.enter("q")
        terminal.wait_prompt("override? ›")
        terminal.enter("3fa9c1")
        terminal.wait("The whole code has not been on the screen")
        assert not (tmp_path / "answer").exists()
        terminal.enter("v")
        terminal.wait("Enter: more, q: enough", count=2)
        terminal.enter()
        terminal.wait_prompt("override? ›")
        terminal.enter("3fa9c1")
        terminal.wait_prompt()
        assert "shown_whole=True" in (tmp_path / "answer").read_text()


@pytest.mark.parametrize("task", ["slow", "risky", "feedback"])
def test_ctrl_c_once_returns_to_the_prompt(tmp_path: Path, task: str) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter(task)
        terminal.wait({"slow": "429 Too Many Requests", "risky": "run? ›", "feedback": "you ›"}[task])
        terminal.type(CTRL_C)
        terminal.wait("● interrupted")
        terminal.wait_prompt()
        terminal.enter("hello")
        terminal.wait("✔ approved")


def test_ctrl_c_while_the_sandbox_starts_returns_to_the_prompt(tmp_path: Path) -> None:
    with chat(tmp_path, "cold") as terminal:
        terminal.enter("hello")
        terminal.wait("starting the sandbox")
        terminal.type(CTRL_C)
        terminal.wait("● interrupted")
        terminal.wait_prompt()
        terminal.enter("hello")
        terminal.wait("✔ approved")


def test_a_task_that_does_not_stop_is_dropped(tmp_path: Path) -> None:
    with chat(tmp_path, "", "deaf") as terminal:
        terminal.wait("● deaf")
        terminal.type(CTRL_C)
        terminal.wait("The task did not stop in time and was dropped.")
        assert terminal.exit_status(on_wait=lambda: terminal.type(CTRL_C)) == 130


def test_ctrl_c_twice_leaves_and_cleans_up(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter("slow")
        terminal.wait("429 Too Many Requests")
        terminal.type(CTRL_C)
        terminal.type(CTRL_C)
        assert terminal.exit_status() == 130
        assert (tmp_path / "closed").exists()
        assert terminal.raw.rindex(b"\x1b[?25h") > terminal.raw.rfind(b"\x1b[?25l")


def test_ctrl_c_at_an_empty_prompt_needs_a_second_one(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.type("half a line" + CTRL_C)
        terminal.wait_prompt()
        terminal.type(CTRL_C)
        terminal.wait("Ctrl-C again leaves")
        terminal.type(CTRL_C)
        assert terminal.exit_status() == 130


@pytest.mark.parametrize("way", [CTRL_D, "/quit\r"])
def test_leaving_in_order_ends_with_status_0(tmp_path: Path, way: str) -> None:
    with chat(tmp_path) as terminal:
        terminal.type(way)
        assert terminal.exit_status() == 0
        assert (tmp_path / "closed").exists()


def test_the_end_of_input_at_a_question_interrupts(tmp_path: Path) -> None:
    with chat(tmp_path, "", "risky") as terminal:
        terminal.wait("run? ›")
        terminal.type(CTRL_D)
        assert terminal.exit_status() == 130
        assert not (tmp_path / "answer").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("task", ["slow", "risky", ""])
def test_signals_clean_up_and_leave_the_terminal_sane(tmp_path: Path, number: signal.Signals, task: str) -> None:
    with chat(tmp_path) as terminal:
        if task:
            terminal.enter(task)
            terminal.wait({"slow": "429 Too Many Requests", "risky": "run? ›"}[task])
        again = number == signal.SIGINT  # once stops, twice leaves
        terminal.process.kill(number)
        assert terminal.exit_status(on_wait=lambda: terminal.process.kill(number) if again else None) == 130
        assert (tmp_path / "closed").exists()


def test_echo_is_off_while_it_works_and_on_again_after(tmp_path: Path) -> None:
    with chat(tmp_path, "", "slow") as terminal:
        terminal.wait("429 Too Many Requests")
        assert not termios.tcgetattr(terminal.process.child_fd)[3] & termios.ECHO
        terminal.type("gibberish")
        terminal.type(CTRL_C)
        terminal.wait("● interrupted")
        assert terminal.exit_status() == 130
        assert "gibberish" not in terminal.text


def test_several_lines_by_alt_enter_backslash_and_paste(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.type("hello one" + ALT_ENTER + "two\\")
        terminal.enter()
        terminal.type("\x1b[200~three\nfour\x1b[201~")
        terminal.wait("four")
        assert not (tmp_path / "work" / "plot.png").exists()
        terminal.enter()
        terminal.wait("✔ approved")
        assert (tmp_path / "history").read_text().splitlines()[2:] == ["+hello one", "+two", "+three", "+four"]
        assert (tmp_path / "history").stat().st_mode & 0o077 == 0


def test_commands_are_completed_and_misspelt_ones_named(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.type("/")
        terminal.wait("the last verdict explained")
        terminal.type("wh")
        terminal.until(lambda: "/quit" not in terminal.text, "a menu of one")
        terminal.type("\t")
        terminal.wait("› /why")
        terminal.enter()
        terminal.wait("Nothing has been reviewed yet.")
        terminal.enter("/modle")
        terminal.wait("Did you mean /model?")
        terminal.enter("/model nowhere")
        terminal.wait("✘ There is no profile nowhere.")
        terminal.enter("/ask sometimes")
        terminal.wait("/ask takes always, risky or never, not sometimes.")


def test_retry_shows_what_changed(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter("/retry")
        terminal.wait("There is no request to try again yet.")
        terminal.enter("hello")
        terminal.wait("✔ approved")
        terminal.enter("/retry ollama")
        terminal.wait("● ollama answers, for this once")
        text = terminal.wait("+    return math.factorial(n)")
        assert "-    return math.prod(range(1, n + 1))" in text
        terminal.enter("/model")
        terminal.wait("openai (gpt-4o-mini) answers.")


def test_new_begins_another_session(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter("/new")
        terminal.wait("agents that write, review and run code", count=2)
        assert (tmp_path / "closed").exists()
        terminal.enter("hello")
        terminal.wait("✔ approved")


def test_commands_are_taken_where_words_are_asked_for(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter("feedback")
        terminal.wait_prompt("you ›")
        terminal.enter("/ask always")
        terminal.wait("✔ /ask always is in force")
        terminal.wait_prompt("you ›")
        terminal.enter("/new")
        terminal.wait("● interrupted")
        terminal.wait("agents that write, review and run code", count=2)
        terminal.wait_prompt()
        assert not (tmp_path / "answer").exists()
        terminal.enter("feedback")
        terminal.wait("you ›", count=3)
        terminal.enter("/quit")
        assert terminal.exit_status() == 0
        assert not (tmp_path / "answer").exists()


def test_without_colour_nothing_is_lost(tmp_path: Path) -> None:
    with chat(tmp_path, "demo", "hello", NO_COLOR="1") as terminal:
        terminal.wait("That was a recording.")
        assert terminal.exit_status() == 0
        assert terminal.text.splitlines()[0] == "demo (recorded conversation)"
        colours = [
            code for code in terminal.raw.split(b"\x1b[")[1:] if code.split(b"m")[0] in (b"31", b"32", b"33", b"36")
        ]
        assert colours == []


def test_a_dumb_terminal_gets_no_control_codes(tmp_path: Path) -> None:
    with chat(tmp_path, "", "hello", TERM="dumb") as terminal:
        assert terminal.exit_status() == 0
        assert b"\x1b" not in terminal.raw
        assert "factorial(5) = 120" in terminal.text


def test_a_flood_of_output_keeps_its_end_and_the_screen(tmp_path: Path) -> None:
    with chat(tmp_path, "", "flood") as terminal:
        terminal.wait("9,660 lines not shown")
        assert terminal.exit_status() == 0
        assert terminal.text.count("│ line 199") == 40


def test_a_picture_is_shown_where_the_terminal_can(tmp_path: Path) -> None:
    with chat(tmp_path, "", "hello", TERM="xterm-kitty", KITTY_WINDOW_ID="1") as terminal:
        assert terminal.exit_status() == 0
        assert b"\x1b_Ga=T,f=100" in terminal.raw


def test_an_error_is_one_line(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.enter("error")
        terminal.wait("✘ The model refused: 401. Check OPENAI_API_KEY.")
        terminal.wait_prompt()
        assert "Traceback" not in terminal.text


def test_a_blocked_read_keeps_nothing_from_ending(tmp_path: Path) -> None:
    """Standard input is a terminal, standard output a pipe: plain lines, nobody to ask, and Ctrl-C ends it at once."""
    command = f"trap '' INT; {sys.executable} {FAKE_CHAT} {tmp_path} | cat; exit ${{PIPESTATUS[0]}}"
    with PseudoTerminal("-c", f"import os; os.execvp('bash', ['bash', '-c', {command!r}])") as terminal:
        terminal.wait("›")
        assert "nobody is there to ask" in terminal.text
        terminal.enter("hello \\")
        terminal.enter("and more")
        terminal.wait("✔ approved")
        terminal.type(CTRL_C)
        assert terminal.exit_status(on_wait=lambda: terminal.type(CTRL_C)) == 130
        assert (tmp_path / "closed").exists()
