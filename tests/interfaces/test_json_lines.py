"""`--json` through its public door: a real process, real HTTP, the real sandbox."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from safety.code_blocks import digest
from sessions.events import EXIT_STATUS, load_event
from tests.interfaces.program import KEY, ROOT, events, of_type, one_line, run, start
from tests.scripted_server import Reply, ScriptedServer
from utils.docker_utils import OWNER_LABEL, connect

pytestmark = pytest.mark.docker

RISKY = {"verdict": "ask", "reason": "look at it first"}
ANSWER = "It is 42.\n\nSTOP"


def block(code: str, language: str = "python") -> str:
    return f"Here it is.\n\n```{language}\n{code}\n```"


def of(server: ScriptedServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY}


def play(
    replies: Sequence[str | dict[str, Any] | Reply], task: str, home: Path, *more: str, stdin: str | None = None
) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]], ScriptedServer]:
    with ScriptedServer(replies) as server:
        done = run(["-t", task, "--json", *more], home, stdin, **of(server))
    return done, events(done.stdout), server


def lines(*answers: dict[str, Any]) -> str:
    return "".join(json.dumps(answer) + "\n" for answer in answers)


def converse(
    replies: Sequence[str | dict[str, Any] | Reply],
    task: str,
    home: Path,
    answers: Sequence[dict[str, Any]],
    *more: str,
) -> tuple[int, list[dict[str, Any]]]:
    """Give the answers one by one, each once its question is there. Exit status and events."""
    left = list(answers)
    with ScriptedServer(replies) as server:
        program = start(["-t", task, "--json", *more], home, **of(server))
        assert program.stdin is not None
        assert program.stdout is not None
        found = []
        for line in program.stdout:
            found.append(json.loads(line))
            if found[-1]["type"] == "question":
                program.stdin.write(lines(left.pop(0)))
                program.stdin.flush()
        _, errors = program.communicate(timeout=30)
    assert errors == ""
    return program.returncode, found


def test_the_events_are_the_stores_and_nothing_else_is_on_stdout(tmp_path: Path) -> None:
    done, found, _ = play([block("print(6 * 7)"), ANSWER], "Does STOP or APPROVE end this? Compute 6*7.", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
    assert len({event["session"] for event in found}) == 1
    for event in found:
        load_event(event)  # raises where a field is not the design's
    assert [event["type"] for event in found if event["type"] not in ("message", "output")] == [
        "task",
        "review",
        "approval",
        "execution",
        "stop",
    ]
    assert of_type(found, "execution")[0]["output"] == "42\n"
    assert "".join(event["text"] for event in of_type(found, "output")) == "42\n"
    assert found[-1]["reason"] == "stopped"
    assert found[-1]["usage"]["calls"] == 3


def test_without_answers_an_ask_counts_as_deny(tmp_path: Path) -> None:
    done, found, _ = play([block("print(1)"), RISKY, "I leave it."], "print", tmp_path)
    assert done.returncode == EXIT_STATUS["answered"] == 0, done.stderr
    assert found[-1]["reason"] == "answered"
    assert not of_type(found, "execution")
    assert not of_type(found, "question")


def test_the_human_is_asked_and_a_yes_runs_it(tmp_path: Path) -> None:
    status, found = converse([block("print(1)"), RISKY, ANSWER], "print", tmp_path, [{"answer": "yes"}])
    question = of_type(found, "question")[0]
    assert status == 0
    assert question["blocks"][0]["code"] == "print(1)\n"
    assert question["options"] == ["yes", "no", "edit", "always"]
    assert of_type(found, "answer")[0]["question"] == question["id"]
    assert of_type(found, "approval")[0]["by"] == "human"
    assert of_type(found, "execution")[0]["exit_code"] == 0


def test_a_no_does_not_run_it_and_the_reason_reaches_the_generator(tmp_path: Path) -> None:
    done, found, server = play(
        [block("print(1)"), RISKY, "Then not.\n\nSTOP"],
        "print",
        tmp_path,
        stdin=lines({"answer": "no", "text": "too colourful"}),
    )
    assert done.returncode == 0, done.stderr
    assert not of_type(found, "execution")
    assert "too colourful" in server.to_generator[-1].text


def test_an_edit_runs_the_new_bytes_after_a_second_yes(tmp_path: Path) -> None:
    edit = {"answer": "edit", "code": "print('mine')\n", "index": 0}
    replies: list[str | dict[str, Any] | Reply] = [block("print(1)"), RISKY, {**RISKY}, ANSWER]
    status, found = converse(replies, "print", tmp_path, [edit, {"answer": "yes"}])
    assert status == 0
    assert [event["output"] for event in of_type(found, "execution")] == ["mine\n"]
    assert len(of_type(found, "question")) == 2


@pytest.mark.parametrize(("right", "runs"), [(True, ["override"]), (False, [])])
def test_a_denied_block_runs_only_for_who_types_its_digest(right: bool, runs: list[str], tmp_path: Path) -> None:
    confirm = digest("python", "print(1)\n")[:6] if right else "abcdef"
    answers = [{"answer": "yes", "confirm": confirm}, {"text": "APPROVE"}, {"text": "APPROVE"}]
    replies: list[str | dict[str, Any] | Reply] = [block("print(1)"), Reply(verdict="deny", reason="no"), "I leave it."]
    status, found = converse(replies, "print", tmp_path, answers, "--ask", "always")
    question = of_type(found, "question")[0]
    assert question["kind"] == "override"
    assert question["blocks"][0]["code"] == "print(1)\n"
    assert [event["by"] for event in of_type(found, "approval")] == runs
    assert len(of_type(found, "execution")) == len(runs)
    assert status == 0


def test_a_malformed_line_is_told_on_stderr_and_asked_again(tmp_path: Path) -> None:
    answers = "yes please\n" + lines({"answer": "yes", "question": "another"}, {"answer": "no"})
    done, found, _ = play([block("print(1)"), RISKY, ANSWER], "print", tmp_path, stdin=answers)
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 2
    assert len(of_type(found, "question")) == 1
    assert of_type(found, "answer")[0]["decision"] == "no"


def test_an_answer_sent_before_any_question_runs_nothing(tmp_path: Path) -> None:
    done, found, _ = play([block("print(1)"), RISKY], "print", tmp_path, stdin=lines({"answer": "yes"}) * 3)
    question = of_type(found, "question")[0]["id"]
    assert done.returncode == 130
    assert not of_type(found, "execution")
    told = done.stderr.splitlines()
    assert len(told) == 3
    assert all(f'it came before the question was asked: add "question": "{question}"' in line for line in told)


def test_the_end_of_input_at_a_question_runs_nothing_and_ends_with_130(tmp_path: Path) -> None:
    done, found, _ = play([block("print(1)"), RISKY], "print", tmp_path, stdin="\n")
    assert done.returncode == 130
    assert found[-1]["reason"] == "interrupted"
    assert not of_type(found, "execution")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_a_block_runs_ends_it_cleanly(number: signal.Signals, status: int, tmp_path: Path) -> None:
    with ScriptedServer([block("import time\nprint('begun', flush=True)\ntime.sleep(600)")]) as server:
        program = start(["-t", "wait", "--json"], tmp_path, **of(server))
        assert program.stdout is not None
        seen = []
        for line in program.stdout:
            seen.append(json.loads(line))
            if seen[-1]["type"] == "output":
                break
        program.send_signal(number)
        rest, errors = program.communicate(timeout=30)
    found = [*seen, *events(rest)]
    assert program.returncode == status, errors
    assert errors == ""
    assert found[-1]["type"] == "stop"
    assert found[-1]["reason"] == "interrupted"
    assert not containers_of(program.pid)


def test_a_signal_at_an_open_question_ends_it_too(tmp_path: Path) -> None:
    with ScriptedServer([block("print(1)"), RISKY]) as server:
        program = start(["-t", "wait", "--json"], tmp_path, **of(server))
        assert program.stdout is not None
        for line in program.stdout:
            if json.loads(line)["type"] == "question":
                break
        program.send_signal(signal.SIGTERM)
        rest, errors = program.communicate(timeout=30)
    assert program.returncode == 143, errors
    assert events(rest)[-1]["reason"] == "interrupted"


def test_a_reader_that_leaves_ends_the_program(tmp_path: Path) -> None:
    code = "import time\nfor i in range(100_000):\n    print(i, flush=True)\n    time.sleep(0.01)"
    with ScriptedServer([block(code)]) as server:
        program = start(["-t", "count", "--json"], tmp_path, **of(server))
        assert program.stdout is not None
        for line in program.stdout:
            if json.loads(line)["type"] == "output":
                break
        program.stdout.close()
        program.stdout = None
        _, errors = program.communicate(timeout=30)
    assert program.returncode == 130
    assert errors == ""
    assert not containers_of(program.pid)


def test_a_session_that_was_interrupted_is_gone_on_with(tmp_path: Path) -> None:
    _, found, _ = play([block("print(1)"), RISKY], "print", tmp_path, stdin="\n")
    session = found[0]["session"]
    with ScriptedServer([ANSWER]) as server:
        again = start(["--resume", session[:6], "--json"], tmp_path, **of(server))
        assert again.stdin is not None
        assert again.stdout is not None
        resumed = []
        for line in again.stdout:
            resumed.append(json.loads(line))
            if resumed[-1]["type"] == "question":
                again.stdin.write(lines({"answer": "yes", "question": resumed[-1]["id"]}))
                again.stdin.flush()
        _, errors = again.communicate(timeout=30)
    assert again.returncode == 0, errors
    assert resumed[0]["seq"] > found[-1]["seq"]
    assert of_type(resumed, "execution")[0]["output"] == "1\n"
    assert resumed[-1]["reason"] == "stopped"
    nothing = run(["--resume", session, "--json"], tmp_path, **of(server))
    assert nothing.returncode == 2
    assert "has ended" in one_line(nothing.stderr)


@pytest.mark.slow
def test_a_resumed_session_keeps_its_model_and_its_work_directory(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with ScriptedServer([ANSWER, "Again.\n\nSTOP", "Other.\n\nSTOP"]) as server:
        arguments = ["-t", "x", "--json", "--model", "special", "--work-dir", "work"]
        first = events(run(arguments, tmp_path, **of(server)).stdout)
        again = events(run(["--resume", "-t", "y", "--json"], tmp_path, **of(server)).stdout)
        run(["--resume", "-t", "z", "--json", "--model", "other"], tmp_path, **of(server))
    assert [request.body["model"] for request in server.to_generator] == ["special", "special", "other"]
    assert again[0]["session"] == first[0]["session"]
    assert first[-1]["work_dir"] == again[-1]["work_dir"] == str(tmp_path / "work")


def test_case_60_a_session_that_another_program_holds_is_refused(tmp_path: Path) -> None:
    with ScriptedServer([block("print(1)"), RISKY]) as server:
        program = start(["-t", "x", "--json"], tmp_path, **of(server))
        assert program.stdout is not None
        for line in program.stdout:
            if json.loads(line)["type"] == "question":
                break
        second = run(["--resume", "--json", "-t", "y"], tmp_path, **of(server))
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=30)
    assert second.returncode == 1
    assert second.stdout == ""
    assert str(program.pid) in one_line(second.stderr)


def test_no_engine_is_an_error_event_and_status_1(tmp_path: Path) -> None:
    with ScriptedServer([block("print(1)")]) as server:
        done = run(["-t", "x", "--json"], tmp_path, DOCKER_HOST=f"unix://{tmp_path}/none", **of(server))
    found = events(done.stdout)
    assert done.returncode == 1
    assert [event["type"] for event in found] == ["task", "error", "stop"]
    assert "Docker" in found[1]["text"]
    assert found[1]["hint"]


def test_a_wrong_key_is_an_error_event_and_status_1(tmp_path: Path) -> None:
    with ScriptedServer([ANSWER], key="sk-another-0123456789") as server:
        done = run(["-t", "x", "--json"], tmp_path, **of(server))
    found = events(done.stdout)
    assert done.returncode == 1
    assert found[-2]["type"] == "error"
    assert "key" in found[-2]["text"] + found[-2]["hint"]
    assert KEY not in done.stdout + done.stderr


def test_a_dotenv_of_the_current_directory_cannot_send_a_key_elsewhere(tmp_path: Path) -> None:
    with ScriptedServer([ANSWER]) as mine, ScriptedServer([ANSWER]) as theirs:
        (tmp_path / ".env").write_text(f"OPENAI_BASE_URL={theirs.base_url}\nEXTRA_BASE_URL={theirs.base_url}\n")
        done = run(["-t", "x", "--json"], tmp_path, **of(mine))
        (tmp_path / "models.yaml").write_text(
            "default: mine\nprofiles:\n  mine:\n    base_url: ${EXTRA_BASE_URL}\n    model: scripted\n"
        )
        other = run(["-t", "x", "--json", "--models-file", "models.yaml"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert other.returncode == 2
    assert "EXTRA_BASE_URL" in one_line(other.stderr)
    assert theirs.requests == []


def test_the_log_file_holds_json_and_no_secret(tmp_path: Path) -> None:
    with ScriptedServer([block(f"print('{KEY}')"), ANSWER]) as server:
        done = run(["-t", f"say {KEY}", "--json", "--log-file", "log.jsonl"], tmp_path, **of(server))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "log.jsonl").read_text()
    entries = [json.loads(line) for line in text.splitlines()]
    logged = [entry["event"] for entry in entries if "event" in entry]
    assert [(event["seq"], event["type"]) for event in logged] == [
        (event["seq"], event["type"]) for event in events(done.stdout)
    ]
    assert "Here it is" not in text
    assert KEY not in text
    assert KEY not in done.stdout


def containers_of(pid: int) -> list[str]:
    """Containers whose label names this process."""
    client = connect()
    try:
        found = client.api.containers(all=True, filters={"label": OWNER_LABEL})
        return [one["Id"] for one in found if f" {pid} " in str(one["Labels"][OWNER_LABEL])]
    finally:
        client.close()


@pytest.mark.slow
def test_the_demo_is_played_for_a_program_too(tmp_path: Path) -> None:
    done = run(["--demo", "--json"], tmp_path)
    found = events(done.stdout)
    assert done.returncode == 0, done.stderr
    outputs = [event["output"] for event in of_type(found, "execution")]
    assert "factorial(5) = 120" in "".join(outputs)
    assert [event["exit_code"] for event in of_type(found, "execution")] == [1, 0, 0]
    assert (ROOT / "utils" / "demo.yaml").exists()
