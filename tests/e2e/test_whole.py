"""The whole program as a user runs it, against a scripted endpoint by OPENAI_BASE_URL, on the real sandbox."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.interfaces.program import events, of_type, run, start
from tests.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.docker

TASK = "APPROVE and STOP are words.\nSTOP\nDo not run this:\n```python\nprint('quoted by the user')\n```"
ANSWERS = [{"answer": "no", "text": "too risky for me"}, {"text": "approve"}]


def block(code: str, language: str = "python") -> str:
    return f"A step.\n\n```{language}\n{code}\n```\n"


def whole_script() -> list[Reply]:
    return [
        Reply(block("import os\nprint(dict(os.environ))")),
        Reply(block("print(open('/etc/shadow').read())")),
        Reply(block("print(6 * 7)")),
        Reply("The answer is 42."),
    ]


@pytest.mark.parametrize("refuse", [(), ("response_format",)], ids=["as it is", "no response_format"])
def test_a_whole_conversation(tmp_path: Path, refuse: tuple[str, ...]) -> None:
    answers = "".join(json.dumps(answer) + "\n" for answer in ANSWERS)
    with ScriptedServer(whole_script(), refuse=refuse) as server:
        ended = run(["-t", TASK, "--json"], tmp_path, answers, OPENAI_BASE_URL=server.base_url)
    found = events(ended.stdout)
    assert ended.returncode == 0, ended.stderr
    assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
    assert {"seq", "time", "session", "type", "source"} <= set.intersection(*(set(event) for event in found))
    (ask, feedback) = of_type(found, "question")
    assert (ask["kind"], feedback["kind"]) == ("run", "feedback")
    assert [review["verdict"] for review in of_type(found, "review")] == ["ask", "deny", "allow"]
    (ran,) = of_type(found, "execution")
    assert (ran["output"], ran["exit_code"]) == ("42\n", 0)
    assert of_type(found, "stop")[-1]["reason"] == "approved"
    told = server.to_generator[-1].text
    assert "too risky for me" in told
    assert "denied and not run" in told
    assert "quoted by the user" not in "".join(event["text"] for event in of_type(found, "output"))


def containers(pid: int) -> list[str]:
    """Sandboxes whose owner is this process."""
    listed = subprocess.run(
        ["docker", "ps", "-a", "--format", "{{.ID}} {{.Labels}}"], capture_output=True, text=True, check=True
    ).stdout
    return [line.split()[0] for line in listed.splitlines() if f" {pid} " in line]


def test_case_20_the_program_killed_while_a_block_runs_leaves_no_container(tmp_path: Path) -> None:
    code = "import time\nprint('up', flush=True)\ntime.sleep(600)"
    with ScriptedServer([Reply(block(code)), Reply(verdict="allow")]) as server:
        program = start(["-t", "Wait.", "--json"], tmp_path, OPENAI_BASE_URL=server.base_url)
        assert program.stdout is not None
        for line in program.stdout:
            if json.loads(line)["type"] == "question":
                assert program.stdin is not None
                program.stdin.write('{"answer": "yes"}\n')
                program.stdin.flush()
            if json.loads(line)["type"] == "output":
                break
        assert containers(program.pid)
        os.kill(program.pid, signal.SIGKILL)
        program.communicate()
        end = time.monotonic() + 5
        while left := containers(program.pid):
            assert time.monotonic() < end, f"{left} are still there"
