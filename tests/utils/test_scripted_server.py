"""The server that the other tests trust."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.scripted_server import Reply, ScriptedServer
from utils.settings import ROOT


def post(base_url: str, content: str, **body: Any) -> tuple[int, Any]:
    data = json.dumps({"model": "m", "messages": [{"role": "user", "content": content}], **body}).encode()
    request = urllib.request.Request(f"{base_url}/chat/completions", data, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def words(answer: tuple[int, Any]) -> str:
    return str(answer[1]["choices"][0]["message"]["content"])


def test_the_reviewer_is_told_from_the_generator_and_allows_every_block() -> None:
    asked = '<code-0a1b index="0" language="python">\n</code-0a1b>\n<code-0a1b index="1" language="bash">\n'
    with ScriptedServer(["one", Reply(verdict="deny", reason="no")]) as server:
        assert words(post(server.base_url, "write code")) == "one"
        contract = "\n\nAnswer with one JSON object and nothing else"
        first = json.loads(words(post(server.base_url, asked + contract)))
        second = json.loads(words(post(server.base_url, asked + contract)))
    assert [(v["block"], v["verdict"]) for v in first["verdicts"]] == [(0, "deny"), (1, "deny")]
    assert [(v["block"], v["verdict"]) for v in second["verdicts"]] == [(0, "allow"), (1, "allow")]
    assert (len(server.to_generator), len(server.to_reviewer)) == (1, 2)


def test_a_script_that_runs_out_fails_loudly() -> None:
    server = ScriptedServer(["one"])
    with server:
        post(server.base_url, "first")
        assert post(server.base_url, "second")[0] == 400
        server.script.ran_out, ran_out = 0, server.script.ran_out
    server.script.ran_out = ran_out
    with pytest.raises(AssertionError, match="ran out"):
        server.__exit__(None)


def test_replies_may_be_a_function_of_the_request() -> None:
    with ScriptedServer(lambda request: f"you said {request.last}") as server:
        assert [words(post(server.base_url, str(n))) for n in range(3)] == [f"you said {n}" for n in range(3)]


def test_unused_replies_are_known() -> None:
    with ScriptedServer(["one", "two"]) as server:
        post(server.base_url, "first")
    assert [reply.text for reply in server.script.unused] == ["two"]


def test_it_serves_a_program_in_another_process(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": ["one", {"status": 503}], "refuse": ["response_format"]}))
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "tests.scripted_server", str(script), "--log", str(log)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        assert post(base_url, "x", response_format={"type": "json_object"})[0] == 400
        assert words(post(base_url, "x")) == "one"
        assert post(base_url, "x")[0] == 503
        process.communicate(timeout=10)
    assert process.returncode == 0
    assert [json.loads(line)["to"] for line in log.read_text().splitlines()] == ["generator"] * 3
