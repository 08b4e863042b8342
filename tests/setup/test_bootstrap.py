"""The set-up does what is missing, once, and says in one line what it cannot do."""

import io
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import engine, environment, host
from scripts.engine import ensure_engine
from scripts.environment import ensure_environment, venv_python
from scripts.host import ROOT, SetupError


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache directory of the test's own, and nobody at the terminal."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.stdin", io.StringIO())


@pytest.mark.slow
def test_an_environment_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    venv, lock = tmp_path / "venv", tmp_path / "lock.txt"
    lock.write_text("a==1\n")
    installed: list[str] = []
    monkeypatch.setattr(environment, "_install", lambda python, lock: installed.append(lock.read_text()))

    ensure_environment(venv, lock)
    assert subprocess.run([venv_python(venv), "-c", "pass"], check=True).returncode == 0
    assert "making the virtual environment" in capsys.readouterr().out

    ensure_environment(venv, lock)
    assert capsys.readouterr().out == ""

    lock.write_text("a==2\n")
    ensure_environment(venv, lock)
    assert "making" not in capsys.readouterr().out
    assert installed == ["a==1\n", "a==2\n"]

    def fail(python: Path, lock: Path) -> None:
        raise SetupError("pip failed")

    monkeypatch.setattr(environment, "_install", fail)
    lock.write_text("a==3\n")
    for _ in range(2):  # what failed is not taken for done the next time
        with pytest.raises(SetupError, match="pip failed"):
            ensure_environment(venv, lock)


def test_an_old_python_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.version_info", (3, 8, 10))
    with pytest.raises(SystemExit, match=r"^Roundtable needs Python 3\.10 or newer; this is 3\.8: [^\n]+$"):
        runpy.run_path(str(ROOT / "scripts/bootstrap.py"))


def absent_engine(monkeypatch: pytest.MonkeyPatch, *, installed: bool) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(engine, "_answers", lambda python, quiet=True: False)
    monkeypatch.setattr(engine, "_has_dockerd", lambda: installed)
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/usr/bin/{name}")

    def no_command(*command: str) -> None:
        raise AssertionError(f"{command} must not be run here")

    monkeypatch.setattr(engine, "run", no_command)


def test_an_engine_that_answers_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    absent_engine(monkeypatch, installed=True)
    monkeypatch.setattr(engine, "_answers", lambda python, quiet=True: True)
    ensure_engine(Path(sys.executable))


def test_elsewhere_than_on_linux_there_is_a_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    absent_engine(monkeypatch, installed=False)
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(SetupError, match=r"Docker Desktop .*WSL 2"):
        ensure_engine(Path(sys.executable))


def test_a_chosen_engine_is_not_replaced_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    absent_engine(monkeypatch, installed=True)
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(SetupError, match="DOCKER_HOST=tcp://192"):
        ensure_engine(Path(sys.executable))


def test_without_apt_there_is_a_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    absent_engine(monkeypatch, installed=False)
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    with pytest.raises(SetupError, match="your distribution's packages"):
        ensure_engine(Path(sys.executable))


@pytest.mark.parametrize(("installed", "state"), [(True, "running"), (False, "installed")])
def test_nobody_becomes_root_without_being_asked(monkeypatch: pytest.MonkeyPatch, installed: bool, state: str) -> None:
    absent_engine(monkeypatch, installed=installed)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(SetupError, match=f"not {state}.*on a terminal"):
        ensure_engine(Path(sys.executable))


def test_a_no_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    absent_engine(monkeypatch, installed=True)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    with pytest.raises(SetupError, match="run `make setup` again"):
        ensure_engine(Path(sys.executable))


def test_an_engine_that_ends_at_once_is_told_by_its_last_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    absent_engine(monkeypatch, installed=True)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    started: list[tuple[str, ...]] = []

    def start(*command: str) -> None:
        started.append(command)
        (host.cache_dir() / "dockerd.pid").write_text("1\n")  # not a dockerd
        (host.cache_dir() / "dockerd.log").write_text("level=info\nfailed to start daemon: no space\n")

    monkeypatch.setattr(engine, "run", start)
    monkeypatch.setattr(engine, "DEFAULT_BRIDGE", tmp_path / "none")
    with pytest.raises(SetupError, match="failed to start daemon: no space"):
        ensure_engine(Path(sys.executable))
    assert [command[-1] for command in started] == ["docker", "--bridge=none"]

    started.clear()
    monkeypatch.setattr(engine, "DEFAULT_BRIDGE", tmp_path)
    with pytest.raises(SetupError):
        ensure_engine(Path(sys.executable))
    assert len(started) == 1


@pytest.mark.parametrize(
    "script", ["sandbox/image/make_base.sh", "sandbox/image/install_languages.sh", "scripts/start_engine.sh"]
)
def test_shell_scripts_are_understood_by_a_plain_shell(script: str) -> None:
    assert subprocess.run(["sh", "-n", ROOT / script], capture_output=True, check=True).stderr == b""
