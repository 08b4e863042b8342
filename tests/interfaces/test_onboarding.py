"""The first start, typed in a real pseudo-terminal; and how a key is kept."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pexpect
import pytest
from dotenv import dotenv_values

from interfaces.terminal.environment import keep, read_environment
from tests.interfaces.program import KEY, MAIN, environment
from tests.interfaces.terminals import CTRL_C, CTRL_D, ROOT, PseudoTerminal
from tests.scripted_server import ScriptedServer
from utils.errors import ConfigurationError

MENU = str(ROOT / "tests" / "interfaces" / "menu.py")
NO_OLLAMA = "http://127.0.0.1:9/v1"
MODELS = """
default: mine
profiles:
  mine: {{base_url: "{url}", api_key_env: MINE_API_KEY, model: scripted, retries: 0}}
  anthropic: {{base_url: "{url}", api_key_env: ANTHROPIC_API_KEY, model: scripted, retries: 0}}
  ollama: {{base_url: "${{OLLAMA_BASE_URL}}", model: some}}
  demo: {{kind: demo}}
"""


def menu(home: Path, **environ: str) -> PseudoTerminal:
    # The profile's address is this machine's: only a menu that is started by hand asks for a key there.
    variables = {"OLLAMA_BASE_URL": NO_OLLAMA, "MINE_API_KEY": "", **environ}
    return PseudoTerminal(MENU, str(home), environ=variables)


def test_the_program_offers_the_menu_where_no_model_is_configured(tmp_path: Path) -> None:
    with PseudoTerminal(MAIN, "--data-dir", str(tmp_path), environ=environment(tmp_path)) as terminal:
        shown = terminal.wait("Your choice")
        assert "1  see the demo" in shown
        assert "2  paste a key" in shown
        terminal.type(CTRL_C)
        terminal.process.expect(pexpect.EOF)
        assert terminal.process.wait() == 130


@pytest.mark.docker
def test_the_menu_leads_to_the_demo_which_ends(tmp_path: Path) -> None:
    with PseudoTerminal(MAIN, "--data-dir", str(tmp_path), environ=environment(tmp_path)) as terminal:
        terminal.wait("Your choice")
        terminal.enter("1")
        terminal.wait("factorial(5) = 120", timeout=60)
        terminal.wait("That was a recording", timeout=60)
        terminal.process.expect(pexpect.EOF)
        assert terminal.process.wait() == 0


def test_a_model_that_was_named_is_not_replaced_by_the_menu(tmp_path: Path) -> None:
    with PseudoTerminal(
        MAIN, "--model", "anthropic", "--data-dir", str(tmp_path), environ=environment(tmp_path)
    ) as terminal:
        shown = terminal.wait("ANTHROPIC_API_KEY is not set")
    assert "Your choice" not in shown


def test_the_demo_is_the_first_choice(tmp_path: Path) -> None:
    with menu(tmp_path) as terminal:
        terminal.wait("Your choice")
        terminal.enter()
        terminal.wait("CHOSEN 'demo'")
    assert not (tmp_path / ".env").exists()


def test_a_key_is_tried_hidden_and_kept(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# mine\nOTHER=1\nMINE_API_KEY=old\n")
    with ScriptedServer(["ok"], key=KEY) as server:
        (tmp_path / "models.yaml").write_text(MODELS.format(url=server.base_url))
        with menu(tmp_path) as terminal:
            terminal.wait("Your choice")
            terminal.enter("2")
            terminal.wait("The key")
            terminal.enter(KEY)
            shown = terminal.wait("CHOSEN '' mine")
    assert KEY not in shown
    assert KEY.encode() not in terminal.raw
    assert "Kept as MINE_API_KEY" in shown
    assert (tmp_path / ".env").read_text() == f"# mine\nOTHER=1\nMINE_API_KEY='{KEY}'\n"
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600


def test_a_key_that_does_not_work_is_not_kept(tmp_path: Path) -> None:
    with ScriptedServer([], key="another") as server:
        (tmp_path / "models.yaml").write_text(MODELS.format(url=server.base_url))
        with menu(tmp_path) as terminal:
            terminal.wait("Your choice")
            terminal.enter("2")
            terminal.wait("The key")
            terminal.enter(KEY)
            terminal.wait("It does not work")
            terminal.wait("The key", count=2)
            terminal.enter()
            terminal.wait("Your choice", count=2)
            terminal.type(CTRL_D)
            terminal.wait("Nothing was chosen")
    assert not (tmp_path / ".env").exists()


def test_a_key_goes_to_the_profile_that_it_looks_like(tmp_path: Path) -> None:
    key = "sk-ant-REDACTED"
    with ScriptedServer(["ok"], key=key) as server:
        (tmp_path / "models.yaml").write_text(MODELS.format(url=server.base_url))
        with menu(tmp_path) as terminal:
            terminal.wait("Your choice")
            terminal.enter("2")
            terminal.wait("The key")
            terminal.enter(key)
            terminal.wait("CHOSEN 'anthropic' anthropic")
    assert dotenv_values(tmp_path / ".env") == {"ANTHROPIC_API_KEY": key, "ROUNDTABLE_MODEL": "anthropic"}


def test_a_local_ollama_is_offered_with_its_models(tmp_path: Path) -> None:
    with (
        ScriptedServer([], models=["qwen3:8b", "llama3.2:3b"]) as server,
        menu(tmp_path, OLLAMA_BASE_URL=server.base_url) as terminal,
    ):
        shown = terminal.wait("Your choice")
        assert "3  use Ollama on this machine: llama3.2:3b, qwen3:8b" in shown
        terminal.enter("3")
        terminal.wait("Which one")
        terminal.enter("9")
        terminal.wait("'9' is none of these: type a number from 1 to 2, or a name.")
        terminal.wait("Which one", count=2)
        terminal.enter("2")
        terminal.wait("CHOSEN 'ollama:qwen3:8b' ollama qwen3:8b")
    assert dotenv_values(tmp_path / ".env") == {"ROUNDTABLE_MODEL": "ollama:qwen3:8b"}


def test_without_an_ollama_its_choice_is_none(tmp_path: Path) -> None:
    with menu(tmp_path) as terminal:
        terminal.wait("no Ollama answers")
        terminal.enter("3")
        terminal.wait("'3' is none of these: type 1 or 2, then Enter.")
        terminal.wait("Your choice", count=2)


def test_keeping_replaces_one_line_and_leaves_the_rest(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\nexport B='two'\n# B=no\nC=\n")
    path.chmod(0o644)
    keep("B", "new", path)
    keep("D", "x y#z", path)
    assert path.read_text() == "A=1\n# B=no\nC=\nB='new'\nD='x y#z'\n"
    assert dotenv_values(path)["D"] == "x y#z"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == [".env"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "secrets").write_text("A=1\n")
    (tmp_path / ".env").symlink_to("there/secrets")
    keep("B", "2", tmp_path / ".env")
    assert (tmp_path / ".env").is_symlink()
    assert dotenv_values(tmp_path / "there" / "secrets") == {"A": "1", "B": "2"}


@pytest.mark.parametrize("value", ["a\nB=1", "a\rb", "it's", "a\0b"])
def test_a_value_that_would_be_more_than_a_value_is_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        keep("A", value, tmp_path / ".env")
    assert not os.listdir(tmp_path)


def test_where_it_cannot_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        keep("A", "1", tmp_path / "file" / ".env")


def test_the_real_environment_stands_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interfaces.terminal.environment.ROOT_FILE", tmp_path / ".env")
    (tmp_path / ".env").write_text("RT_A=file\nRT_B=file\nRT_EMPTY=\nRT_RAW=a${RT_A}b\n")
    environ = read_environment({"RT_A": "real"})
    assert (environ["RT_A"], environ["RT_B"], environ["RT_RAW"]) == ("real", "file", "a${RT_A}b")
    assert "RT_EMPTY" not in environ
    assert "RT_B" not in os.environ


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interfaces.terminal.environment.ROOT_FILE", tmp_path / ".env")
    (tmp_path / ".env").write_bytes(b"A=\xff\xfe\n")
    with pytest.raises(ConfigurationError, match=r"\.env cannot be read"):
        read_environment({})
