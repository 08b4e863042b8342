"""One task for a person without a terminal: what is shown, and the exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.program import KEY, one_line, run
from tests.scripted_server import Reply, ScriptedServer

ANSWER = "The sum is 4.\n\nSTOP"
CODE = "```python\nprint(2 + 2)\n```"


@pytest.mark.docker
def test_one_task_is_done_and_shown(tmp_path: Path) -> None:
    with ScriptedServer([CODE, ANSWER]) as server:
        done = run(["-t", "add"], tmp_path, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert "│ 4" in done.stdout
    assert "The sum is 4." in done.stdout
    assert "\x1b" not in done.stdout
    assert KEY not in done.stdout + done.stderr


@pytest.mark.docker
def test_a_piped_text_is_the_task(tmp_path: Path) -> None:
    with ScriptedServer([CODE, ANSWER]) as server:
        done = run([], tmp_path, "please add\ntwo numbers\n", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=KEY)
        asked = server.to_generator[0].text
    assert done.returncode == 0, done.stderr
    assert "please add\ntwo numbers" in asked


def test_a_piped_text_that_is_no_task_is_refused(tmp_path: Path) -> None:
    long = run([], tmp_path, "x" * 1_000_001, OPENAI_API_KEY=KEY)
    empty = run([], tmp_path, " \n", OPENAI_API_KEY=KEY)
    assert (long.returncode, empty.returncode) == (2, 2)
    assert "longer than 1 MB" in one_line(long.stderr)
    assert "no task" in one_line(empty.stderr)


@pytest.mark.docker
def test_nobody_there_is_asked_and_risky_code_does_not_run(tmp_path: Path) -> None:
    replies: list[str | Reply] = [CODE, Reply(verdict="ask", reason="look at it"), "Then not."]
    with ScriptedServer(replies) as server:
        done = run(["-t", "add"], tmp_path, "yes\nyes\n", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert "│ 4" not in done.stdout


@pytest.mark.docker
def test_a_limit_ends_with_status_3(tmp_path: Path) -> None:
    with ScriptedServer(lambda request: CODE) as server:
        arguments = ["-t", "add", "--max-turns", "3"]
        done = run(arguments, tmp_path, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=KEY)
    assert done.returncode == 3, done.stderr
    assert "--max-turns" in done.stdout


def test_without_docker_it_is_one_line_and_status_1(tmp_path: Path) -> None:
    done = run(["--demo"], tmp_path, DOCKER_HOST=f"unix://{tmp_path}/none")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Start Docker" in one_line(done.stderr)


@pytest.mark.docker
def test_an_image_that_is_missing_is_said_and_status_1(tmp_path: Path) -> None:
    (tmp_path / "sandbox.yaml").write_text("image: nowhere.example/none:1\n")
    done = run(["--demo", "--sandbox-file", "sandbox.yaml"], tmp_path)
    assert done.returncode == 1
    assert "docker pull nowhere.example/none:1" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.docker
def test_the_demo_needs_no_key(tmp_path: Path) -> None:
    done = run(["--demo"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "recorded" in done.stdout.splitlines()[0]
    assert "TypeError" in done.stdout
    assert "factorial(5) = 120" in done.stdout
    assert list(tmp_path.glob("data/roundtable/work/*/factorials.png"))


@pytest.mark.slow
@pytest.mark.docker
def test_files_and_a_work_directory_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("from the folder")
    (tmp_path / "work" / ".env").write_text("HIDDEN=1")
    (tmp_path / "b.txt").write_text("from --files")
    code = "```bash\ncat a.txt b.txt; ls -A | tr '\\n' ' '; echo new > c.txt\n```"
    with ScriptedServer([code, ANSWER]) as server:
        arguments = ["-t", "look", "--work-dir", "work", "--files", "b.txt"]
        done = run(arguments, tmp_path, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert "from the folder" in done.stdout
    assert "from --files" in done.stdout
    assert ".env" not in done.stdout
    assert (tmp_path / "work" / "c.txt").read_text() == "new\n"


@pytest.mark.slow
@pytest.mark.docker
def test_history_through_the_command_line(tmp_path: Path) -> None:
    with ScriptedServer([CODE, ANSWER]) as server:
        run(["-t", "add", "--data-dir", "d"], tmp_path, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=KEY)
    listed = run(["sessions", "--json", "--data-dir", "d"], tmp_path)
    assert '"state":"stopped"' in listed.stdout
    assert "│ 4" in run(["--data-dir", "d", "show"], tmp_path).stdout
    assert "print(2 + 2)" in run(["export", "--data-dir", "d", "--to", "script", "--output", "-"], tmp_path).stdout
    assert run(["audit", "--data-dir", "d"], tmp_path).returncode == 0
    missing = run(["show", "zzz", "--data-dir", "d"], tmp_path)
    assert missing.returncode == 1
    assert "no session 'zzz'" in one_line(missing.stderr)
