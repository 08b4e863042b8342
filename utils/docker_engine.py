"""The connection to the Docker engine."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from utils.errors import SandboxError

if TYPE_CHECKING:
    import docker

PING_TIMEOUT_S = 5
"""How long the engine may take to say that it is there."""
REQUEST_TIMEOUT_S = 60
"""How long the engine may be silent in a later request."""
UNIX = "unix://"

_START_HINT = "Start Docker (Docker Desktop, or `sudo systemctl start docker`), or run `make setup`, which can do it."
_PERMISSION_HINT = (
    "Add yourself to its group (`sudo usermod -aG docker $USER`, then log in again), or use rootless Docker."
)


class NoEngineError(SandboxError):
    """Nothing listens where the engine should: it may be started. Not raised where one refuses us or is silent."""


def connect() -> docker.DockerClient:
    """Connect to the engine of DOCKER_HOST, of the current Docker context, or of a well-known socket.

    Raises `SandboxError` when none answers within five seconds. The caller closes the client.
    """
    address = os.environ.get("DOCKER_HOST") or _context_address() or _socket_address()
    if address.startswith(UNIX):
        _ping(address)  # docker-py leaves its socket open where it cannot connect

    import docker
    from docker.errors import DockerException

    try:
        if os.environ.get("DOCKER_HOST") or not address:
            client = docker.from_env(timeout=PING_TIMEOUT_S)
        else:
            client = docker.DockerClient(base_url=address, timeout=PING_TIMEOUT_S)
    except (DockerException, OSError, ValueError) as error:
        raise _fault(address, error) from error
    client.api.timeout = REQUEST_TIMEOUT_S
    return client


def engine_version() -> str:
    """Version of the engine that answers, as `20.10.24`. Raises `SandboxError`."""
    client = connect()
    try:
        return str(client.version()["Version"])
    finally:
        client.close()


def _ping(address: str) -> None:
    """Ask a socket whether an engine is behind it. Raises `SandboxError`."""
    if sys.platform == "win32":
        return
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PING_TIMEOUT_S)
            connection.connect(address.removeprefix(UNIX))
            connection.sendall(b"GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n")
            if not connection.recv(1):
                raise ConnectionResetError("the connection was closed")
    except OSError as error:
        raise _fault(address, error) from error


def _context_address() -> str:
    """Address of the Docker context in use, where it is a local socket and not the default; else ""."""
    config = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker", "config.json")
    if not config.exists():
        return ""
    from docker.context import ContextAPI

    try:
        context = ContextAPI.get_current_context()
    except Exception:  # docker-py raises whatever a damaged ~/.docker/config.json leads to
        return ""
    host = str(getattr(context, "Host", None) or "")
    return host if getattr(context, "name", "default") != "default" and host.startswith(UNIX) else ""


def _socket_address() -> str:
    """Address of the first well-known socket that is there, else of the usual one; "" where there are none."""
    sockets = list(_sockets())
    found = [path for path in sockets if path.is_socket()] + sockets
    return f"{UNIX}{found[0]}" if found else ""


def _sockets() -> Iterator[Path]:
    """Where engines listen: the system's, a rootless one, those of the desktop programs."""
    if sys.platform == "win32":
        return
    yield Path("/var/run/docker.sock")
    yield Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}", "docker.sock")
    for path in (
        ".docker/run/docker.sock",
        ".docker/desktop/docker.sock",
        ".orbstack/run/docker.sock",
        ".colima/default/docker.sock",
    ):
        yield Path.home() / path


def _fault(address: str, error: Exception) -> SandboxError:
    """Say in one line what kept us from the engine."""
    where = f" at {address}" if address else ""
    if isinstance(error, PermissionError):
        return SandboxError(f"You may not use the Docker engine{where}: permission denied.", _PERMISSION_HINT)
    if isinstance(error, TimeoutError) or "timed out" in str(error).lower():
        return SandboxError(
            f"The Docker engine{where} did not answer within {PING_TIMEOUT_S} seconds.",
            "Restart Docker, or wait for it.",
        )
    return NoEngineError(f"No Docker engine answers{where}.", _START_HINT)
