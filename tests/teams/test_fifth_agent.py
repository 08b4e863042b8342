"""The README's worked example of a further agent, followed to the letter in a copy of the program."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from utils.settings import ROOT

ROOMS = ("agents", "teams", "safety", "sandbox", "sessions", "interfaces", "utils", "prompts", "tests")

PLAY = """
import asyncio
import sys
from pathlib import Path

from tests.teams.table import ok, python, table


async def main() -> None:
    replies = [python("print(6 * 7)"), "The program multiplied six by seven.", "It is 42.\\n\\nSTOP"]
    async with table(Path(sys.argv[1]), replies, results=[ok("42\\n")]) as t:
        stop = await t.conversation.run("What is 6 * 7?")
        for event in t.recorder.events:
            print(event.type, event.source, getattr(event, "text", ""), getattr(event, "kind", ""))
        print("prompt:", t.server.to_generator[1].system)
        print("read:", t.server.to_generator[2].text)
        print("reason:", stop.reason)


asyncio.run(main())
"""


def followed(copy: Path) -> None:
    """Do what the README says."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Add an agent")[1].split("\n## ")[0]
    agent, prompt, line = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)
    (copy / "agents" / "explainer_agent.py").write_text(agent, encoding="utf-8")
    (copy / "prompts" / "explainer.md").write_text(prompt, encoding="utf-8")
    team = copy / "teams" / "software_development_team.py"
    text = team.read_text(encoding="utf-8")
    text = text.replace(
        "from agents import code_executor_agent,", "from agents import explainer_agent, code_executor_agent,"
    )
    executor = "    code_executor_agent.build,\n"
    assert text.count(executor) == 1
    team.write_text(text.replace(executor, executor + line), encoding="utf-8")


def test_a_fifth_agent_is_one_file_one_prompt_and_one_line(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "models.yaml", copy)
    shutil.copy(ROOT / "sandbox.yaml", copy)
    followed(copy)
    ended = subprocess.run(
        [sys.executable, "-c", PLAY, str(tmp_path)], cwd=copy, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert "message explainer The program multiplied six by seven. words" in lines
    assert "prompt: You explain to a beginner, in two sentences, what the last run showed. You write no code." in lines
    assert "The program multiplied six by seven." in ended.stdout.split("read:")[1]
    assert lines.count("message explainer (pass) pass") == 0
    assert lines[-1] == "reason: stopped"
