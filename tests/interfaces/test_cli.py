"""The command line through its public door: help, bad usage, settings that cannot be used."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from interfaces.terminal.arguments import HELP, STATES, build_parser, parse
from sessions.events import EXIT_STATUS
from tests.interfaces.program import KEY, MAIN, ROOT, environment, one_line, run
from tests.interfaces.terminals import PseudoTerminal


def test_help_fits_one_screen_and_names_every_option_and_command(tmp_path: Path) -> None:
    done = run(["--help"], tmp_path)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert done.stderr == ""
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    for action in build_parser()._actions:
        for flag in action.option_strings:
            assert re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", done.stdout), flag
    for command in ("doctor", "sessions", "show", "rm", "export", "audit"):
        assert re.search(rf"^ .*\b{command}\b", done.stdout, re.MULTILINE), command


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nonsense"], ["export", "--help"]])
def test_help_and_bad_usage_import_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import runpy, sys, atexit\n"
        "heavy = ['autogen_core', 'autogen_agentchat', 'openai', 'docker', 'rich', 'pydantic', 'asyncio', 'dotenv']\n"
        "atexit.register(lambda: sys.stderr.write('HEAVY:' + ','.join(n for n in heavy if n in sys.modules) + ';'))\n"
        f"sys.argv = ['main.py', *{arguments!r}]\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        f"runpy.run_path({MAIN!r}, run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "HEAVY:;" in done.stderr


def test_every_way_to_end_is_a_state_that_sessions_can_be_looked_up_by() -> None:
    assert {*STATES} == {*EXIT_STATUS, "running", "unfinished"}


@pytest.mark.parametrize("arguments", [["doctor"], ["sessions"], ["show"], ["rm"], ["export"], ["audit"]])
def test_every_command_has_a_help(arguments: list[str], tmp_path: Path) -> None:
    done = run([*arguments, "--help"], tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: python main.py {arguments[0]}")
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_version(tmp_path: Path) -> None:
    done = run(["--version"], tmp_path)
    assert done.returncode == 0
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert done.stdout == f"roundtable {version[1]}\n"


@pytest.mark.parametrize("version", [(3, 9), (3, 6), (2, 7)])
def test_an_old_python_is_told_in_one_line(version: tuple[int, int]) -> None:
    code = f"import sys, runpy; sys.version_info = {version!r} + (1,); runpy.run_path({MAIN!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    name = ".".join(map(str, version))
    assert one_line_of(done.stderr).startswith(f"Roundtable needs Python 3.10 or newer; this is {name}: ")


def one_line_of(text: str) -> str:
    assert text.count("\n") == 1
    return text


def test_main_has_only_what_old_pythons_can_parse() -> None:
    source = Path(MAIN).read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 7))
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Match)
    assert not [node for node in ast.walk(tree) if isinstance(node, newer)]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.arg) and node.annotation]
    assert [node.module for node in tree.body if isinstance(node, ast.ImportFrom)] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["factorial of 5"], 'a task is set with -t "TEXT"'),
        (["-t", "  "], "not an empty text"),
        (["-t"], "expected one argument"),
        (["-t", "x", "--ask", "sometimes"], "always"),
        (["-t", "x", "--retries", "21"], "from 0 to 20, not '21'"),
        (["-t", "x", "--retries", "-1"], "from 0 to 20"),
        (["-t", "x", "--max-turns", "0"], "from 1 to 100000"),
        (["-t", "x", "--max-tokens", "many"], "from 0 up, not 'many'"),
        (["-t", "x", "--max-cost", "nan"], "from 0 up, not 'nan'"),
        (["-t", "x", "--max-cost", "inf"], "from 0 up"),
        (["-t", "x", "--model", ""], "takes a name"),
        (["-t", "x", "--model-for", "reviewer"], "AGENT=NAME"),
        (["-t", "x", "--model-for", "=gpt"], "AGENT=NAME"),
        (["-t", "x", "--mod", "gpt"], "no command 'gpt'"),
        (["-t", "x", "--resum"], "--resum"),
        (["--json"], "--json needs a task"),
        (["--demo", "-t", "x"], "--demo has a task and a model of its own"),
        (["-t", "x", "doctor"], "--task does not go with the command doctor"),
        (["doctor", "--json"], "--json"),
        (["--json", "doctor"], "--json does not go with the command doctor"),
        (["sessions", "--state", "nonsense"], "takes one of approved, stopped, answered, stuck, limit, interrupted"),
        (["export"], "--to"),
        (["export", "--to", "pdf"], "notebook"),
        (["rm"], "ID"),
    ],
)
def test_bad_usage_is_one_line_with_a_pointer(arguments: list[str], says: str, tmp_path: Path) -> None:
    done = run(arguments, tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    line = one_line(done.stderr)
    assert says in line
    assert line.endswith("--help")


@pytest.mark.parametrize(
    ("arguments", "environ", "says"),
    [
        (["--work-dir", "{home}/nowhere"], {}, "work directory {home}/nowhere does not exist"),
        (["--work-dir", "{home}/file"], {}, "is not a directory"),
        (["--files", "{home}/file", "{home}/gone.csv"], {}, "{home}/gone.csv does not exist"),
        (["--files", "{home}/file", "{home}/prompts/file"], {}, "would both be file in the workspace"),
        (
            ["--files", "{home}/prompts/file", "--work-dir", "{home}"],
            {},
            "{home}/file is there already, and is another",
        ),
        (["--files", "{home}/deep/prompts", "--work-dir", "{home}"], {}, "{home}/prompts/file is there already"),
        (["--work-dir", str(ROOT)], {}, f"The work directory {ROOT} holds {ROOT}: what blocks write there"),
        (["--work-dir", "/"], {}, f"The work directory / holds {ROOT}"),
        (["--work-dir", str(ROOT / "sandbox" / "inside")], {}, "is a part of the program"),
        (["--work-dir", "{home}/mine", "--data-dir", "{home}/mine/data"], {}, "holds {home}/mine/data"),
        (["--work-dir", "{home}/mine", "--sandbox-file", "{home}/mine/own.yaml"], {}, "holds {home}/mine/own.yaml"),
        (["--data-dir", "{home}/file/x"], {}, "cannot be made"),
        (["--log-file", "{home}/nowhere/log"], {}, "log file"),
        (["--models-file", "{home}/none.yaml"], {}, "none.yaml is missing"),
        (["--models-file", "{home}/broken.yaml"], {}, "broken.yaml:2"),
        (["--models-file", "{home}/odd.yaml"], {}, "{home}/odd.yaml:3: unknown key"),
        (["--models-file", "{home}/mine.yaml", "--model", "opnai"], {}, "no profile 'opnai' in {home}/mine.yaml"),
        (["--models-file", "{home}/mine.yaml"], {}, "Add it in {home}/mine.yaml."),
        (["--sandbox-file", "{home}/unknown.yaml"], {}, "unknown key"),
        (["--sandbox-file", "{home}/list.yaml"], {}, "list.yaml:1: 'env': a list is needed, such as [a, b]."),
        (
            ["--sandbox-file", "{home}/empty.yaml"],
            {},
            "empty.yaml:1: 'packages': keys with values are needed below it.",
        ),
        (
            ["--sandbox-file", "{home}/sum.yaml"],
            {},
            "sum.yaml:2: workspace_mib + tmp_mib + home_mib + shm_mib + reserve",
        ),
        (["--sandbox-file", "{home}/file"], {}, "{home}/file: keys with values are needed, such as `name: value`."),
        (["--sandbox-file", "{home}/none.yaml"], {}, "none.yaml is missing. Is that the right path?"),
        (["--sandbox-file", "{home}/local.yaml"], {}, "{home}/local.yaml says runtime: local"),
        (["--prompts-dir", "{home}/prompts"], {}, "code_generator.md {home}/prompts/code_generator.md"),
        (["--model", "opnai"], {}, "Did you mean 'openai'?"),
        (["--model-for", "code_generator=antropic"], {}, "Did you mean 'anthropic'?"),
        (["--model-for", "reviewer=openai"], {}, "There are: code_generator, safety_reviewer"),
        (["--fallback", "antropic"], {}, "Did you mean 'anthropic'?"),
        ([], {"ROUNDTABLE_ASK": "sometimes"}, "ROUNDTABLE_ASK"),
        ([], {"ROUNDTABLE_MODEL": "opnai"}, "Did you mean 'openai'?"),
        ([], {"OPENAI_API_KEY": ""}, "OPENAI_API_KEY is not set"),
    ],
)
def test_what_cannot_be_used_is_one_line_with_status_2(
    arguments: list[str], environ: dict[str, str], says: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "broken.yaml").write_text("default: demo\n  profiles: [\n")
    (tmp_path / "unknown.yaml").write_text("colour: red\n")
    (tmp_path / "odd.yaml").write_text("default: mine\nprofiles: {mine: {model: m}}\ncolour: red\n")
    (tmp_path / "mine.yaml").write_text("default: mine\nprofiles: {mine: {model: m}, openai: {model: m}}\n")
    (tmp_path / "local.yaml").write_text("runtime: local\n")
    (tmp_path / "list.yaml").write_text("env: HOME\n")
    (tmp_path / "sum.yaml").write_text("pids: 64\nworkspace_mib: 900\n")
    (tmp_path / "empty.yaml").write_text("packages:\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.yaml").write_text("pids: 64\n")
    for folder in (tmp_path / "prompts", tmp_path / "deep" / "prompts"):
        folder.mkdir(parents=True)
        (folder / "file").write_text(str(folder))
    filled = [text.format(home=tmp_path) for text in arguments]
    done = run(["-t", "x", *filled], tmp_path, **{"OPENAI_API_KEY": KEY, **environ})
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert says.format(home=tmp_path) in one_line(done.stderr)


def test_all_that_is_wrong_in_a_file_is_told_a_line_each(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("pids: 3\nmemry_mib: 64\nnetwork: perhaps\n")
    done = run(["-t", "x", "--sandbox-file", "mine.yaml"], tmp_path, OPENAI_API_KEY=KEY)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert [line.partition(": ")[2].partition(" ")[0] for line in lines] == [
        f"{tmp_path}/mine.yaml:{number}:" for number in (1, 2, 3)
    ]
    assert lines[1].endswith("unknown key 'memry_mib'. Did you mean 'memory_mib'?")


@pytest.mark.docker
def test_a_limit_that_docker_refuses_names_the_file_that_it_stands_in(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("cpus: 512\n")
    done = run(["-t", "x", "--sandbox-file", "mine.yaml"], tmp_path, OPENAI_API_KEY=KEY)
    assert done.returncode != 0
    assert f"Change that limit in {tmp_path}/mine.yaml." in " ".join(done.stdout.split())


def test_an_error_before_the_chat_is_one_line_whatever_the_width(tmp_path: Path) -> None:
    name = str(tmp_path / "a-file-whose-name-is-longer-than-the-terminal-is-wide.yaml")
    environ = environment(tmp_path, OPENAI_API_KEY=KEY)
    with PseudoTerminal(MAIN, "-t", "x", "--sandbox-file", name, columns=30, environ=environ) as terminal:
        assert terminal.exit_status() == 2
    told = terminal.raw.decode().strip()
    assert re.fullmatch(rf"roundtable: {re.escape(name)} is missing. Is that the right path\?", told), told


def test_no_key_and_no_terminal_is_one_line_with_status_2(tmp_path: Path) -> None:
    done = run([], tmp_path)
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in one_line(done.stderr)
    assert "--demo" in done.stderr


def test_no_task_and_no_terminal_is_one_line_with_status_2(tmp_path: Path) -> None:
    done = run([], tmp_path, OPENAI_API_KEY=KEY)
    assert done.returncode == 2
    assert '-t "TASK"' in one_line(done.stderr)


def test_a_name_with_control_characters_is_shown_not_obeyed(tmp_path: Path) -> None:
    done = run(["-t", "x", "--files", "\x1b[31mred\nline"], tmp_path)
    assert done.returncode == 2
    assert "\\x1b[31mred line" in one_line(done.stderr)


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    (tmp_path / "platformdirs.py").write_text("raise ModuleNotFoundError('gone', name='platformdirs')")
    done = run(["-t", "x"], tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "package platformdirs is missing: pip install -r requirements.txt" in one_line(done.stderr)


def test_what_was_not_expected_is_one_line_and_its_details_are_kept_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "docker.py").write_text("import os\nraise ZeroDivisionError('with ' + os.environ['OPENAI_API_KEY'])")
    done = run(["--data-dir", "d", "-t", "x"], tmp_path, PYTHONPATH=str(tmp_path), OPENAI_API_KEY=KEY)
    assert done.returncode == 1
    line = one_line(done.stderr)
    log = tmp_path / "d" / "roundtable.log"
    assert "ZeroDivisionError" in line
    assert str(log) in line
    entry = json.loads(log.read_text().splitlines()[-1])
    assert "docker.py" in entry["traceback"]
    assert "ZeroDivisionError" in entry["traceback"]
    assert KEY not in log.read_text()
    assert KEY not in done.stderr


def test_options_stand_before_and_after_the_command() -> None:
    before = parse(["--data-dir", "a", "--model", "m", "--model-for", "x=1", "doctor", "--ping"])
    after = parse(["doctor", "--ping", "--model-for", "x=1", "--model", "m", "--data-dir", "a"])
    for args in (before, after):
        assert (args.command, args.data_dir, args.model, args.model_for, args.ping) == (
            "doctor",
            "a",
            "m",
            [("x", "1")],
            True,
        )


def test_the_later_option_wins_and_repeated_ones_add_up() -> None:
    args = parse(
        [
            "--model",
            "a",
            "--model-for",
            "x=1",
            "--files",
            "f",
            "--retries",
            "1",
            "doctor",
            "--model",
            "b",
            "--model-for",
            "y=2",
        ]
    )
    assert args.model == "b"
    assert args.model_for == [("x", "1"), ("y", "2")]
    assert args.files == ["f"]


def test_what_stands_before_the_command_is_not_forgotten() -> None:
    args = parse(["--max-cost", "1.5", "--retries", "0", "sessions", "--limit", "3"])
    assert (args.max_cost, args.retries, args.limit) == (1.5, 0, 3)


def test_the_help_is_the_parsers_own() -> None:
    assert build_parser().format_help() == HELP
