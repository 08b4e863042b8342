"""The whole program in a real pseudo-terminal: the real team, the real sandbox, a scripted endpoint."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.interfaces.program import run
from tests.interfaces.terminals import CTRL_C, CTRL_D, ROOT, PseudoTerminal
from tests.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.docker

COUNT = "I count.\n\n```python\nimport time\nfor n in range(600):\n    print(n, flush=True)\n    time.sleep(0.1)\n```\n"
ENVIRONMENT = "I look around.\n\n```bash\nenv\n```\n"
PRINT = "I print.\n\n```python\nprint('edited', 6 * 7)\n```\n"


def program(server: ScriptedServer, data: Path, *arguments: str, **environ: str) -> PseudoTerminal:
    endpoint = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "scripted", "OPENAI_MODEL": "gpt-4o"}
    return PseudoTerminal(
        str(ROOT / "main.py"),
        "--data-dir",
        str(data),
        *arguments,
        environ={**endpoint, **environ, "PYTHONWARNINGS": ""},
    )


def test_ctrl_c_stops_a_running_block_and_the_conversation_goes_on(tmp_path: Path) -> None:
    with ScriptedServer([COUNT, "Fine.\n\nSTOP"]) as server, program(server, tmp_path) as terminal:
        terminal.wait("›", timeout=60)
        terminal.enter("count")
        terminal.wait("│ 3", timeout=60)
        terminal.type(CTRL_C)
        terminal.wait("● interrupted")
        assert ", stopped" in terminal.text
        terminal.enter("enough")
        terminal.wait("✔ done", timeout=60)
        terminal.type(CTRL_D)
        assert terminal.exit_status() == 0


def test_a_refusal_with_a_reason_reaches_the_generator(tmp_path: Path) -> None:
    with ScriptedServer([ENVIRONMENT, PRINT, "Done.\n\nSTOP"]) as server:
        with program(server, tmp_path, "-t", "say something") as terminal:
            terminal.wait("run? ›", timeout=60)
            terminal.enter("n print it plainly")
            terminal.wait("│ edited 42", timeout=60)
            assert terminal.exit_status() == 0
            assert "✘ refused" in terminal.text
        assert "print it plainly" in server.to_generator[1].text


def test_an_edit_is_reviewed_shown_and_asked_again(tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nprintf 'echo edited by hand\\n' > \"$1\"\n")
    editor.chmod(0o700)
    data = tmp_path / "data"
    with (
        ScriptedServer([ENVIRONMENT, "Done.\n\nSTOP"]) as server,
        program(server, data, "-t", "say something", VISUAL=str(editor)) as terminal,
    ):
        terminal.wait("run? ›", timeout=60)
        terminal.enter("e")
        terminal.wait("1 echo edited by hand", timeout=60)
        terminal.wait("run? ›", count=2)
        terminal.enter("y")
        terminal.wait("│ edited by hand", timeout=60)
        assert terminal.exit_status() == 0


@pytest.mark.slow
def test_a_retry_by_another_model_leaves_the_session_its_own_when_interrupted(tmp_path: Path) -> None:
    slow = Reply("Never said.", delay_s=60)
    with ScriptedServer(["First.\n", slow, "Third.\n"]) as server:
        with program(server, tmp_path) as terminal:
            terminal.wait("›", timeout=60)
            terminal.enter("say something")
            terminal.wait("you ›", timeout=60)
            terminal.enter("/retry nosuch:xx")
            terminal.wait("There is no profile 'nosuch' in models.yaml.")
            terminal.enter("/retry other")
            terminal.wait("Again: say something")
            terminal.wait("other (openai) answers, for this once")
            terminal.until(lambda: len(server.to_generator) == 2, "the request")
            terminal.type(CTRL_C)
            terminal.wait("● interrupted", count=2)
            terminal.enter("/model nosuch:xx")
            terminal.wait("There is no profile 'nosuch' in models.yaml.", count=2)
            terminal.enter("/model")
            terminal.wait("gpt-4o (openai) answers.")
            terminal.type(CTRL_D)
            assert terminal.exit_status() == 0
        shown = run(["show", "--data-dir", str(tmp_path)], tmp_path).stdout
        listed = run(["sessions", "--json", "--data-dir", str(tmp_path)], tmp_path).stdout
        exported = run(["export", "--to", "markdown", "--output", "-", "--data-dir", str(tmp_path)], tmp_path).stdout
        assert " · gpt-4o (openai) · " in shown.splitlines()[0]
        assert "model gpt-4o (openai)," in exported
        assert '"model":"gpt-4o (openai)"' in listed
        with program(server, tmp_path, "--resume", "-t", "go on") as terminal:
            terminal.wait("you ›", timeout=60)
    assert [request.body["model"] for request in server.to_generator] == ["gpt-4o", "other", "gpt-4o"]


def test_another_model_chosen_at_a_question_does_not_lose_the_answer(tmp_path: Path) -> None:
    with ScriptedServer([ENVIRONMENT, "Blue.\n"]) as server, program(server, tmp_path) as terminal:
        terminal.wait("›", timeout=60)
        terminal.enter("a colour")
        terminal.wait("run? ›", timeout=60)
        terminal.enter("/model other")
        terminal.wait("other (openai) answers from now on")
        terminal.enter("n just say it")
        terminal.wait("you ›", timeout=60)
        terminal.enter("/model third")
        terminal.wait("third (openai) answers from now on")
        terminal.enter("approve")
        terminal.wait("✔ approved")
        terminal.enter("/quit")
        assert terminal.exit_status() == 0
    shown = run(["show", "--data-dir", str(tmp_path)], tmp_path).stdout
    assert " · gpt-4o (openai), other (openai) · " in shown.splitlines()[0]


@pytest.mark.slow
def test_a_dead_endpoint_nearby_is_told_after_one_wait_that_is_shown(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        done = run(["-t", "x", "--data-dir", str(tmp_path)], tmp_path, OPENAI_BASE_URL=url, COLUMNS="200")
    assert done.returncode == 1
    assert done.stdout.count("connection refused: again in") == 1
    assert f"✘ {url} cannot be reached: nothing listens there (connection refused). Tried 2 times." in done.stdout


def test_approve_ends_the_task_and_the_next_may_follow(tmp_path: Path) -> None:
    with (
        ScriptedServer(["Which colour?\n", "Blue it is.\n", "Hello.\n"]) as server,
        program(server, tmp_path) as terminal,
    ):
        terminal.wait("›", timeout=60)
        terminal.enter("APPROVE and STOP are only words here")
        terminal.wait("you ›", timeout=60)
        terminal.enter("blue")
        terminal.wait("you ›", count=2, timeout=60)
        terminal.enter("approve")
        terminal.wait("✔ approved")
        terminal.enter("hello")
        terminal.wait("you ›", count=3, timeout=60)
        terminal.enter("/quit")
        assert terminal.exit_status() == 0
