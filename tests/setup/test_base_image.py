"""The base is pulled where it can be, else made with debootstrap; what goes wrong is one line."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import docker
import pytest
from docker.errors import ImageNotFound

from utils import base_image
from utils.errors import SandboxError


class FakeEngine:
    """As much of docker-py's client as the base needs: a pull answers what was given; images come by pull or import."""

    def __init__(self, *events: dict[str, Any], stall: threading.Event | None = None) -> None:
        self.there: set[str] = set()
        self.events = events
        self.stall = stall
        self.images = self
        self.api = self

    def get(self, name: str) -> str:
        if name not in self.there:
            raise ImageNotFound(name)
        return name

    def pull(self, name: str, *, stream: bool, decode: bool) -> Iterator[dict[str, Any]]:
        if self.stall:
            self.stall.wait(10)
        yield from self.events
        if not any("error" in event for event in self.events):
            self.there.add(name)

    def info(self) -> dict[str, str]:
        return {"Architecture": "x86_64"}

    def import_image_from_file(self, path: str, *, repository: str, tag: str) -> None:
        assert Path(path).exists()
        self.there.add(f"{repository}:{tag}")

    def ensure(self, cache: Path) -> tuple[str, list[str]]:
        progress: list[str] = []
        name = base_image.ensure_base(cast(docker.DockerClient, self), "default", progress.append, cache, may_ask=False)
        return name, progress


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A make_base.sh that writes its arguments instead of a file system; we pass for root, debootstrap for there."""
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    path = recipe / "make_base.sh"
    path.write_text('echo "$@" > "$3"\n')
    monkeypatch.setattr(base_image, "RECIPE_DIR", recipe)
    monkeypatch.setattr(base_image, "effective_text", lambda name: "recipe")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/sbin/{name}")
    return path


NO_REGISTRY = {"error": "Get https://registry.invalid/v2/: dial tcp: lookup registry.invalid: no such host"}


def test_a_base_that_is_there_is_taken(tmp_path: Path) -> None:
    engine = FakeEngine()
    engine.there.add(base_image.PULLED)
    assert engine.ensure(tmp_path) == (base_image.PULLED, [])


def test_the_base_is_pulled(tmp_path: Path) -> None:
    engine = FakeEngine({"status": "Pulling from library/python"}, {"status": "Pull complete", "id": "abc"})
    name, progress = engine.ensure(tmp_path)
    assert name == base_image.PULLED
    assert progress == [f"pulling {base_image.PULLED}", "pulled layer abc"]


def test_no_registry_debootstrap(tmp_path: Path, script: Path) -> None:
    name, progress = FakeEngine(NO_REGISTRY).ensure(tmp_path)
    assert name.startswith("roundtable-sandbox-base:")
    assert any("no such host" in line and "debootstrap" in line for line in progress)
    arguments = next(tmp_path.glob("roundtable-sandbox-base-*.tar.gz")).read_text().split()
    assert arguments[0] == base_image.SUITE
    assert {"python3", "nodejs", "gcc", "g++", "perl", "libc6-dev"} <= set(arguments[3:])


def test_a_registry_that_says_nothing_is_not_waited_for(
    tmp_path: Path, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_image, "FIRST_ANSWER_S", 0.05)
    stall = threading.Event()
    name, progress = FakeEngine(stall=stall).ensure(tmp_path)
    stall.set()
    assert name.startswith("roundtable-sandbox-base:")
    assert any("no answer for 0.05 seconds" in line for line in progress)


def test_the_archive_is_made_once_and_older_ones_go(tmp_path: Path, script: Path) -> None:
    older = tmp_path / "roundtable-sandbox-base-0123456789ab-x86_64.tar.gz"
    other = tmp_path / "roundtable-sandbox-base-full-0123456789ab-x86_64.tar.gz"
    older.touch()
    other.touch()
    FakeEngine(NO_REGISTRY).ensure(tmp_path)
    assert not older.exists()
    assert other.exists()
    script.write_text("exit 7\n")
    _, progress = FakeEngine(NO_REGISTRY).ensure(tmp_path)
    assert any(line.startswith("using ") for line in progress)


def test_a_failure_of_debootstrap_is_one_line(tmp_path: Path, script: Path) -> None:
    script.write_text("echo 'E: Failed getting release file'; exit 1\n")
    with pytest.raises(SandboxError) as caught:
        FakeEngine(NO_REGISTRY).ensure(tmp_path)
    assert "E: Failed getting release file" in caught.value.message
    assert base_image.PULLED in caught.value.hint
    assert "\n" not in str(caught.value)


def test_who_is_not_root_is_told_how(tmp_path: Path, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(SandboxError) as caught:
        FakeEngine(NO_REGISTRY).ensure(tmp_path)
    assert "needs root" in caught.value.message
    assert "sudo make image" in caught.value.hint


def test_where_there_is_no_debootstrap_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(SandboxError) as caught:
        FakeEngine(NO_REGISTRY).ensure(tmp_path)
    assert "no such host" in caught.value.message
    assert "docker load" in caught.value.hint
