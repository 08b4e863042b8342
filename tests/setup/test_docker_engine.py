"""No engine, no permission, no answer: each is one line that says what to do."""

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from utils import docker_engine
from utils.docker_utils import connect, engine_version
from utils.errors import SandboxError


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A directory whose name leaves room for a socket's."""
    with tempfile.TemporaryDirectory(prefix="rt") as directory:
        yield Path(directory)


def test_no_engine(short_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{short_dir}/none.sock")
    with pytest.raises(SandboxError) as caught:
        connect()
    assert "No Docker engine answers" in caught.value.message
    assert "make setup" in caught.value.hint
    assert "\n" not in str(caught.value)


def test_an_engine_that_does_not_answer(short_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_engine, "PING_TIMEOUT_S", 0.2)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{short_dir}/silent.sock")
        silent.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{short_dir}/silent.sock")
        with pytest.raises(SandboxError, match=r"did not answer within 0\.2 seconds"):
            connect()


def test_an_address_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "nonsense://x")
    with pytest.raises(SandboxError, match="No Docker engine answers at nonsense"):
        connect()


def test_permission_denied(monkeypatch: pytest.MonkeyPatch, short_dir: Path) -> None:
    """Root may use every socket, so the refusal is made where the socket is opened."""

    def refuse(self: socket.socket, address: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("DOCKER_HOST", f"unix://{short_dir}/refused.sock")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(SandboxError) as caught:
        connect()
    assert "permission denied" in caught.value.message
    assert "usermod -aG docker" in caught.value.hint


@pytest.mark.docker
def test_a_damaged_docker_configuration_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{ not json")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert engine_version()


@pytest.mark.docker
def test_the_engine_tells_its_version() -> None:
    major = int(engine_version().split(".")[0])
    assert major >= 20


@pytest.mark.docker
def test_later_requests_may_take_longer_than_the_first() -> None:
    client = connect()
    try:
        assert client.api.timeout == docker_engine.REQUEST_TIMEOUT_S
        assert client.info()["OSType"] == "linux"
    finally:
        client.close()


def test_rootless_and_desktop_sockets_are_looked_for(monkeypatch: pytest.MonkeyPatch, short_dir: Path) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_dir))
    monkeypatch.setenv("DOCKER_CONFIG", str(short_dir))
    monkeypatch.setattr(docker_engine, "PING_TIMEOUT_S", 0.2)
    real = list(docker_engine._sockets())
    assert Path("/var/run/docker.sock") in real
    assert Path(os.environ["XDG_RUNTIME_DIR"], "docker.sock") in real
    monkeypatch.setattr(docker_engine, "_sockets", lambda: [short_dir / "none.sock", short_dir / "docker.sock"])
    with socket.socket(socket.AF_UNIX) as rootless:
        rootless.bind(str(short_dir / "docker.sock"))
        rootless.listen()
        with pytest.raises(SandboxError, match=f"{short_dir}/docker.sock did not answer"):
            connect()
