from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from utils import prompts
from utils.errors import ConfigurationError
from utils.prompts import digest, is_edited, load_prompt
from utils.settings import ROOT


def prompt(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "code_generator.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_variables_are_put_in_and_may_be_left_out(tmp_path: Path) -> None:
    path = prompt(tmp_path, "Use {{ languages }} and {{languages}}.\n")
    assert load_prompt(path, {"languages": "Python", "network": "none"}) == "Use Python and Python.\n"


def test_braces_of_code_are_left_alone(tmp_path: Path) -> None:
    text = "`${HOME}`, `f'{x}'`, `{'a': {1}}`, `{{1}}`, `$x`, `{ {x} }`\n"
    assert load_prompt(prompt(tmp_path, text), {}) == text


def test_what_is_put_in_is_not_read_again(tmp_path: Path) -> None:
    assert load_prompt(prompt(tmp_path, "{{a}}"), {"a": "{{b}}"}) == "{{b}}\n"


def test_a_misspelt_variable_names_file_line_and_the_known_ones(tmp_path: Path) -> None:
    path = prompt(tmp_path, "first\n{{langauges}}")
    with pytest.raises(ConfigurationError, match=rf"{path}:2: unknown variable {{{{langauges}}}}") as error:
        load_prompt(path, {"languages": "Python"})
    assert "{{languages}}" in error.value.hint
    with pytest.raises(ConfigurationError, match=r"There are: \{\{a\}\}, \{\{b\}\}"):
        load_prompt(prompt(tmp_path, "{{something_else}}"), {"b": "", "a": ""})


@pytest.mark.parametrize("content", [None, b"", b"  \n", b"\xff\xfe"])
def test_a_prompt_that_cannot_be_used_is_told_in_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "safety_reviewer.md"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"safety_reviewer\.md") as error:
        load_prompt(path, {})
    assert error.value.hint
    assert "\n" not in str(error.value)


def test_an_edit_is_seen_and_line_ends_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = prompt(tmp_path, "one\ntwo\n")
    prompts.note_shipped(tmp_path)
    monkeypatch.setattr(prompts, "SHIPPED", tmp_path / ".shipped.json")
    assert not is_edited(path)
    path.write_bytes(b"one\r\ntwo  \r\n\r\n")
    assert not is_edited(path)
    prompt(tmp_path, "one\nthree\n")
    assert is_edited(path)
    own = tmp_path / "my_own_agent.md"
    own.write_text("mine")
    assert not is_edited(own)


def test_the_shipped_prompts_are_noted() -> None:
    """Compares what is committed, so that a user's own edit fails nothing."""
    noted = json.loads(_committed("prompts/.shipped.json"))
    names = sorted(path.name for path in (ROOT / "prompts").glob("*.md") if path.name in noted)
    assert names
    stale = [name for name in names if digest(_committed(f"prompts/{name}")) != noted[name]]
    assert not stale, f"run `python -m utils.prompts` and commit prompts/.shipped.json: {stale}"


def _committed(name: str) -> str:
    shown = subprocess.run(["git", "show", f"HEAD:{name}"], cwd=ROOT, capture_output=True, text=True, check=False)
    return shown.stdout if shown.returncode == 0 else (ROOT / name).read_text(encoding="utf-8")
