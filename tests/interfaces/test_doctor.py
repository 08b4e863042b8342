"""`doctor`: each line ok or what to do; and attacks whose judges can tell a sandbox that does not hold."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from interfaces.terminal import attack as attack_module
from interfaces.terminal.attack import play
from interfaces.terminal.attacks import ATTACKS, MARK, Attack, Scene
from interfaces.terminal.checks import check_disk, check_packages
from sandbox.base import ExecutionResult
from sandbox.policy import SandboxPolicy
from tests.interfaces.program import KEY, run
from tests.scripted_server import ScriptedServer
from utils.docker_utils import connect, image_name
from utils.settings import ROOT, Settings


def said(output: str) -> dict[str, tuple[bool, str]]:
    """Name of each finding with whether it is ok and its words; a later one of a name counts."""
    found = {}
    for line in output.splitlines():
        match = re.match(r"(ok|NOT OK)\s+(\S+)\s+(.*)", line)
        if match:
            found[match[2]] = (match[1] == "ok", match[3])
    return found


@pytest.mark.docker
def test_all_is_in_place(tmp_path: Path) -> None:
    with ScriptedServer(["ok"]) as server:
        done = run(["doctor", "--ping"], tmp_path, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=KEY)
    found = said(done.stdout)
    # Other versions than the lock's, on a developer's machine, are no fault of the doctor.
    others = [line for line in done.stdout.splitlines() if line.startswith("NOT OK") and "packages" not in line]
    assert not others, done.stdout
    assert set(found) == {
        "Python",
        "packages",
        "Docker",
        "left-overs",
        "image",
        "limits",
        "model",
        "ping",
        "prompts",
        "data",
        "disk",
    }
    assert "no network" in found["limits"][1]
    assert "memory 1 GiB" in found["limits"][1]
    assert done.returncode == (0 if found["packages"][0] else 1)
    assert KEY not in done.stdout + done.stderr


def test_what_is_missing_says_what_to_do(tmp_path: Path) -> None:
    done = run(["doctor"], tmp_path, DOCKER_HOST=f"unix://{tmp_path}/none")
    found = said(done.stdout)
    assert done.returncode == 1
    assert done.stderr == ""
    assert found["Docker"][0] is False
    assert "Start Docker" in found["Docker"][1]
    assert found["model"][0] is False
    assert "OPENAI_API_KEY" in found["model"][1]
    assert found["data"][0] is True


@pytest.mark.docker
def test_an_image_that_is_missing_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "sandbox.yaml").write_text("image: nowhere.example/none:1\n")
    done = run(["doctor", "--sandbox-file", "sandbox.yaml"], tmp_path)
    assert done.returncode == 1
    assert said(done.stdout)["image"] == (
        False,
        "nowhere.example/none:1 is not there. Do: docker pull nowhere.example/none:1.",
    )


@pytest.mark.docker
def test_a_wrong_key_is_found_by_the_ping(tmp_path: Path) -> None:
    with ScriptedServer([], key="another") as server:
        done = run(["doctor", "--ping"], tmp_path, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=KEY)
    assert said(done.stdout)["ping"][0] is False
    assert done.returncode == 1
    assert KEY not in done.stdout


def test_settings_that_cannot_be_read_are_findings(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("colour: red\n")
    files = ["--models-file", "bad.yaml", "--sandbox-file", "bad.yaml", "--prompts-dir", "none"]
    done = run(["doctor", *files], tmp_path)
    found = said(done.stdout)
    assert done.returncode == 1
    assert [found[name][0] for name in ("models", "sandbox", "prompts")] == [False, False, False]
    assert "colour" in found["models"][1]


def test_packages_are_compared_with_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.txt"
    lock.write_text("pydantic==0.1\n    # via us\nno-such-package==1.0\ncolorama==9 ; sys_platform == 'nowhere'\n")
    finding = check_packages(lock)
    assert not finding.ok
    assert "pydantic is " in finding.text
    assert ", not 0.1" in finding.text
    assert "no-such-package is missing" in finding.text
    assert "colorama" not in finding.text
    assert "pip install -r requirements.txt" in finding.text
    assert not check_packages(tmp_path / "none").ok


def test_a_full_disk_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data_dir=tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: _Usage(10_000_000))
    assert not check_disk(settings).ok


class _Usage:
    def __init__(self, free: int) -> None:
        self.free = free


# -- attacks


@pytest.mark.docker
def test_all_ten_attacks_are_contained(tmp_path: Path) -> None:
    done = run(["doctor", "--attack"], tmp_path)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("contained", "NOT CONTAINED"))]
    assert [line for line in lines if not line.startswith("contained")] == []
    assert len(lines) == 10
    assert done.returncode == 0, done.stdout
    seconds = re.search(r"10 of 10 attacks contained, in ([\d.]+) s", done.stdout)
    assert seconds


@pytest.mark.slow
@pytest.mark.docker
def test_an_attack_that_is_not_contained_ends_with_status_1(tmp_path: Path) -> None:
    (tmp_path / "sandbox.yaml").write_text("env: [LEAKED_API_KEY]\n")
    done = run(
        ["doctor", "--attack", "--sandbox-file", "sandbox.yaml"], tmp_path, LEAKED_API_KEY="sk-leaked-1234567890"
    )
    assert done.returncode == 1
    assert re.search(
        r"^NOT CONTAINED\s*stolen environment\s+a key of this machine is inside", done.stdout, re.MULTILINE
    )
    assert "9 of 10 attacks contained" in done.stdout
    assert "sk-leaked" not in done.stdout


def test_without_an_engine_nothing_is_called_contained(tmp_path: Path) -> None:
    done = run(["doctor", "--attack"], tmp_path, DOCKER_HOST=f"unix://{tmp_path}/none")
    assert done.returncode == 1
    assert "0 of 0 attacks contained" in done.stdout


def test_a_broken_sandbox_file_is_said_once_more_at_the_attack(tmp_path: Path) -> None:
    (tmp_path / "sandbox.yaml").write_text("memory_mib: 1\n")
    done = run(["doctor", "--attack", "--sandbox-file", "sandbox.yaml"], tmp_path)
    assert done.returncode == 1
    assert "memory_mib" in done.stdout


@pytest.mark.docker
@pytest.mark.parametrize("name", ["stolen environment", "escape by path", "setuid", "host's services"])
def test_the_attacks_do_get_out_of_a_container_that_is_not_hardened(name: str) -> None:
    """Else "contained" would say nothing."""
    attack = next(attack for attack in ATTACKS if attack.name == name)
    code = attack.code.replace("@PORT@", "9").replace("@ADDRESSES@", "127.0.0.1")
    client = connect()
    try:
        output = client.containers.run(
            image_name(),
            [
                "sh",
                "-c",
                'mkdir -p /root/.ssh; python3 -m http.server 2375 >/dev/null 2>&1 & sleep 1; exec python3 -c "$0"',
                code,
            ],
            user="0",
            remove=True,
            working_dir="/tmp",
        ).decode()
    finally:
        client.close()
    assert MARK in output


def scene(tmp_path: Path, visitors: int = 0) -> Scene:
    environ = {"OPENAI_API_KEY": KEY, "SHELL_THING": "something of the host"}
    return Scene(SandboxPolicy(), environ, tmp_path, lambda: visitors, 1, ())


RAN = ExecutionResult(exit_code=0, output="", duration_s=0.1)


def _link(path: Path) -> None:
    (path / "attack_link").symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    ("name", "result", "says"),
    [
        ("fork bomb", replace(RAN, output="processes until the limit: 4000"), "4000 processes, 256 are allowed"),
        ("memory bomb", replace(RAN, output="all of it"), "did not end as out of memory"),
        ("endless output", replace(RAN, output="x" * 10_000_000, truncated=True, timed_out=True), "10000000 bytes"),
        ("endless output", replace(RAN, output="x"), "not cut"),
        ("stolen environment", replace(RAN, output=f"K={KEY}"), "a key of this machine"),
        ("stolen environment", replace(RAN, output="SHELL_THING=something of the host"), "SHELL_THING"),
        ("metadata address", replace(RAN, output=f"{MARK} to 169.254.169.254"), "169.254.169.254"),
        ("metadata address", replace(RAN, exit_code=1, output="NameError: x"), "the attack itself failed"),
        ("escape by path", replace(RAN, output=f"{MARK}: wrote /etc/"), "wrote /etc/"),
        ("daemon", replace(RAN, duration_s=5.0), "held up for 5.0 s"),
        ("killed supervisor", replace(RAN, output=f"{MARK} into /proc/1/mem"), "/proc/1/mem"),
        ("setuid", replace(RAN, output=f"{MARK}: root by setuid"), "root by setuid"),
    ],
)
def test_a_judge_tells_what_was_not_contained(name: str, result: ExecutionResult, says: str, tmp_path: Path) -> None:
    assert says in judge(name)(result, scene(tmp_path))


def test_a_visitor_of_the_hosts_service_is_told(tmp_path: Path) -> None:
    assert "was reached" in judge("host's services")(RAN, scene(tmp_path, visitors=1))


@pytest.mark.parametrize("plant", [_link, lambda path: (path.parent / "attack_escaped").touch()])
def test_a_file_that_came_out_is_told(plant: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    plant(tmp_path / "work")
    assert "came back" in judge("escape by path")(RAN, scene(tmp_path / "work"))


def judge(name: str) -> Callable[[ExecutionResult, Scene], str]:
    return next(attack.judge for attack in ATTACKS if attack.name == name)


@pytest.mark.docker
async def test_processes_that_are_left_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The look afterwards is no formality."""
    harmless = Attack("nothing", "bash", "true", lambda result, scene: "", lambda result: "fine")
    monkeypatch.setattr(attack_module, "ATTACKS", (harmless,))
    monkeypatch.setattr(attack_module, "MOST_PROCESSES", 0)
    monkeypatch.setattr(attack_module, "_own_addresses", lambda: ())
    outcomes = [outcome async for outcome in play(Settings(data_dir=tmp_path, sandbox_file=ROOT / "sandbox.yaml"))]
    assert [outcome.contained for outcome in outcomes] == [False]
    assert "processes are left" in outcomes[0].text
