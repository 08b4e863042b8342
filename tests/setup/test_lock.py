"""The lock names every package once, exactly, and every package that is imported."""

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"main"}
LOCKS = {"requirements.in": "requirements.txt", "sandbox/image/packages.in": "sandbox/image/packages.txt"}
IN_THE_SANDBOX = ("sandbox/supervisor.py", "sandbox/inside", "tests/safety/programs")
"""Run in the container, or only read: what they import is the image's."""


def named(source: str) -> set[str]:
    """Names of the distributions in a requirements file, normalised."""
    lines = (ROOT / source).read_text("utf-8").splitlines()
    names = (re.split(r"[\[=<>~; ]", line.strip())[0] for line in lines)
    return {name.lower().replace("_", "-") for name in names if name and not name.startswith("#")}


@pytest.mark.parametrize("lock", LOCKS.values())
def test_every_line_is_a_pin(lock: str) -> None:
    lines = [
        line for line in (ROOT / lock).read_text("utf-8").splitlines() if line and not line.lstrip().startswith("#")
    ]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[^\s@/]+( ; .+)?", line)] == []


@pytest.mark.parametrize(("source", "lock"), LOCKS.items())
def test_lock_has_what_was_asked_for(source: str, lock: str) -> None:
    assert named(source) <= named(lock)


def third_party() -> dict[str, str]:
    """Top-level modules that the program and its tests import, each with one file that does."""
    found: dict[str, str] = {}
    for path in [
        ROOT / "main.py",
        *(path for room in sorted(ROOMS - {"main"}) for path in (ROOT / room).rglob("*.py")),
    ]:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(IN_THE_SANDBOX):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                modules = [str(node.module)]
            found.update({module.partition(".")[0]: name for module in modules})
    return {module: path for module, path in found.items() if module not in ROOMS | set(sys.stdlib_module_names)}


def test_what_is_imported_is_asked_for_by_name() -> None:
    """Nothing is used only because another package happens to bring it."""
    distributions = packages_distributions()
    asked = named("requirements.in") | {"autogen-core", "pydantic-core"}  # pinned by autogen-agentchat and pydantic
    unnamed = {
        f"{module} ({path})"
        for module, path in third_party().items()
        # What is not installed at all fails by itself where it is needed.
        if module in distributions and not {name.lower().replace("_", "-") for name in distributions[module]} & asked
    }
    assert unnamed == set()
