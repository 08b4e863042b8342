"""The program as a user starts it, in a process of its own, with an environment that is all the test's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MAIN = str(ROOT / "main.py")
KEYS = ("OPENAI", "ANTHROPIC", "GEMINI", "OPENROUTER", "AZURE_OPENAI")
KEY = "sk-test-0123456789abcdef"


def environment(home: Path, **more: str) -> dict[str, str]:
    """Keys are set to nothing, so that a developer's own .env counts for nothing."""
    environ = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "LANG", "DOCKER_HOST", "XDG_RUNTIME_DIR", "SYSTEMROOT")
    }
    environ |= {f"{name}_API_KEY": "" for name in KEYS} | {"OPENAI_BASE_URL": "", "ROUNDTABLE_MODEL": ""}
    return {
        **environ,
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "OLLAMA_BASE_URL": "http://127.0.0.1:9/v1",
        "PYTHONWARNINGS": "error",
        **more,
    }


def start(arguments: Sequence[str], home: Path, **environ: str) -> subprocess.Popen[str]:
    """Start the program with pipes on all three streams."""
    return subprocess.Popen(
        [sys.executable, MAIN, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env=environment(home, **environ),
    )


def run(
    arguments: Sequence[str], home: Path, stdin: str | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run it to its end. Without `stdin` its standard input is the null device."""
    return subprocess.run(
        [sys.executable, MAIN, *arguments],
        **({"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}),
        capture_output=True,
        text=True,
        cwd=home,
        env=environment(home, **environ),
        timeout=120,
        check=False,
    )


def events(output: str) -> list[dict[str, Any]]:
    """Read the lines of `--json`. Anything else on standard output is an error here."""
    return [json.loads(line) for line in output.splitlines()]


def of_type(found: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The events of a type."""
    return [event for event in found if event["type"] == kind]


def one_line(text: str) -> str:
    """The only line of standard error, which is no traceback."""
    lines = text.splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("roundtable: ")
    return lines[0]
