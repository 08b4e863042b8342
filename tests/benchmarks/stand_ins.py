"""What stands in for llm-sandbox and smolagents: code runs right here, with a container beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
import zipfile
from pathlib import Path

MODULES = {
    "llm_sandbox": """
import contextlib, io, os, subprocess
from types import SimpleNamespace

def container(image, labels):
    print("noise that is no answer")
    label, = labels
    command = ["docker", "run", "--detach", "--network=none", "--label", label, image, "sleep", "600"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

def printed(code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {"os": os})
    return out.getvalue()

class SandboxSession:
    def __init__(self, image, lang, skip_environment_setup, runtime_configs):
        self.arguments = image, runtime_configs["labels"]
    def open(self):
        self.container = container(*self.arguments)
    def run(self, code):
        return SimpleNamespace(stdout=printed(code), stderr="", exit_code=0)
    def close(self):
        subprocess.run(["docker", "rm", "--force", self.container], check=True)
""",
    "smolagents.monitoring": """
from types import SimpleNamespace as AgentLogger
LogLevel = AgentLogger(OFF=-1)
""",
    "smolagents.remote_executors": """
from types import SimpleNamespace
import llm_sandbox
class DockerExecutor:
    def __init__(self, imports, logger, port, image_name, build_new_image, container_run_kwargs):
        assert logger.level == -1 and 0 < port < 65536 and not build_new_image
        assert "kernelgateway" in container_run_kwargs["command"]
        self.session = llm_sandbox.SandboxSession(image_name, "", True, container_run_kwargs)
        self.session.open()
    def __call__(self, code):
        return SimpleNamespace(logs=llm_sandbox.printed(code))
    def cleanup(self):
        self.session.close()
""",
}
"""Name of a module -> its text."""


def wheel(directory: Path) -> Path:
    """A distribution of a stand-in."""
    path = directory / "llm_sandbox-0.0-py3-none-any.whl"
    info = "llm_sandbox-0.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("llm_sandbox.py", MODULES["llm_sandbox"])
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-sandbox\nVersion: 0.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def environment(home: Path) -> str:
    """The Python of an environment that has the stand-ins."""
    venv.create(home, symlinks=os.name != "nt")
    python = shutil.which("python", path=str(home / ("Scripts" if os.name == "nt" else "bin")))
    assert python
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    for name, text in MODULES.items():
        path = packages.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return python
