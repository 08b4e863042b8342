"""Wheels for the sandbox image, fetched on the host so that the build needs no network."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from utils.errors import SandboxError
from utils.image_recipe import RECIPE_DIR, packages

GLIBC_MINORS = (5, 12, 17, 24, 26, 27, 28, 31, 34, 35, 36)
"""Versions 2.N of glibc whose wheels run on the base: pip takes only the platforms that are named."""


def fetch_wheels(python: str, machine: str, cache: Path) -> Path:
    """Directory with every wheel of the image's lock for a Python (`3.12`) on Linux of a machine (`x86_64`).

    Raises `SandboxError` when pip cannot get them.
    """
    lock = RECIPE_DIR / "packages.txt"
    key = hashlib.sha256("\n".join([python, machine, *map("=".join, packages().items())]).encode()).hexdigest()[:12]
    wheels = cache / f"wheels-{key}"
    if wheels.exists():
        return wheels
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wheels-", dir=cache) as scratch:
        fetched = Path(scratch, "wheels")
        command = [python_with_pip(Path(scratch)), "-m", "pip", "download", "--quiet"]
        command += ["--disable-pip-version-check", "--no-input"]
        command += ["--no-deps", "--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
        command += [f"--platform={name}" for name in platforms(machine)]
        command += ["--dest", str(fetched), "--requirement", str(lock)]
        _run(command)
        # Another program may have been quicker, with the same wheels.
        if not wheels.exists():
            os.replace(fetched, wheels)
    return wheels


def platforms(machine: str, glibc_minor: int = GLIBC_MINORS[-1]) -> list[str]:
    """Platforms whose wheels run on Linux of a machine (`x86_64`) with glibc 2.N; those that need none always do."""
    names = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC_MINORS if minor <= glibc_minor]
    old = (("manylinux1", 5), ("manylinux2010", 12), ("manylinux2014", 17))
    return [*names, *(f"{name}_{machine}" for name, minor in old if minor <= glibc_minor), f"linux_{machine}"]


def python_with_pip(scratch: Path) -> str:
    """A Python that has pip: this interpreter, or one in an environment made for the purpose (uv's have none).

    Raises `SandboxError`.
    """
    if importlib.util.find_spec("pip"):
        return sys.executable
    _run([sys.executable, "-m", "venv", str(scratch / "venv")])
    directory = "Scripts" if os.name == "nt" else "bin"
    python = shutil.which("python", path=str(scratch / "venv" / directory))
    if python is None:
        raise SandboxError("Python's venv made no environment.", "Install pip for the Python that you use.")
    return python


def _run(command: list[str]) -> None:
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if result.returncode:
        errors = [line for line in result.stderr.splitlines() if "ERROR" in line] or result.stderr.splitlines()
        raise SandboxError(
            f"The wheels for the sandbox image could not be fetched: {(errors or ['no reason given'])[-1].strip()}",
            "Check that pip reaches its package index, then run `make image`.",
        )
