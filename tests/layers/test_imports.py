"""Imports run downward only: main -> interfaces -> teams -> agents -> sandbox, tools -> safety, sessions -> utils."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = [
    {"utils"},
    {"safety", "sessions"},
    {"sandbox", "tools"},
    {"agents"},
    {"teams"},
    {"interfaces"},
    {"main"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
OUTSIDE = {"tests", "benchmarks", "scripts"}
"""What may import every room, and what no room may import."""


def imported(path: Path) -> Iterator[str]:
    """Top-level names of all that a file imports, also inside functions."""
    package = path.relative_to(ROOT).parts[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield package if node.level else str(node.module).partition(".")[0]


def violations(path: Path) -> list[str]:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for name in imported(path)
        if name in OUTSIDE or (name in FLOOR and name != room and FLOOR[name] >= FLOOR[room])
    ]


def files() -> list[Path]:
    rooms = [ROOT / room for room in FLOOR if (ROOT / room).is_dir()]
    return [ROOT / "main.py", *sorted(path for room in rooms for path in room.rglob("*.py"))]


def test_every_room_is_on_a_floor() -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert rooms - OUTSIDE <= set(FLOOR)


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_downward(path: Path) -> None:
    assert violations(path) == []


@pytest.mark.parametrize(
    ("room", "names"),
    [
        ("safety", {"docker", "autogen_core", "autogen_agentchat", "autogen_ext", "openai", "requests", "aiohttp"}),
        ("sessions", {"docker", "autogen_core", "autogen_agentchat", "autogen_ext", "openai"}),
        ("agents", {"docker", "rich", "prompt_toolkit"}),
        ("teams", {"docker", "rich", "prompt_toolkit"}),
    ],
)
def test_rooms_stay_clear_of(room: str, names: set[str]) -> None:
    """Rules are pure, sessions plain data, agents know no terminal and no Docker."""
    found = {(str(path.relative_to(ROOT)), name) for path in (ROOT / room).rglob("*.py") for name in imported(path)}
    assert not {hit for hit in found if hit[1] in names}


def test_an_upward_import_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The check itself can fail: also for an import inside a function."""
    monkeypatch.setattr("tests.layers.test_imports.ROOT", tmp_path)
    (tmp_path / "safety").mkdir()
    path = tmp_path / "safety" / "x.py"
    path.write_text("import utils.errors\n\ndef f():\n    from sandbox.base import Sandbox\n    import sessions\n")
    assert violations(path) == ["safety/x.py imports sandbox", "safety/x.py imports sessions"]
