"""The connection to the Docker engine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from utils.errors import SandboxError

if TYPE_CHECKING:
    import docker

PING_TIMEOUT_S = 5
"""How long the engine may take to say that it is there."""
REQUEST_TIMEOUT_S = 60
"""How long the engine may be silent in a later request."""

_START_HINT = "Start Docker (Docker Desktop, or `sudo systemctl start docker`), or run `make setup`, which can do it."
_PERMISSION_HINT = (
    "Add yourself to its group (`sudo usermod -aG docker $USER`, then log in again), or use rootless Docker."
)


def connect() -> docker.DockerClient:
    """Connect to the engine of DOCKER_HOST, of the current Docker context, or of a well-known socket.

    Raises `SandboxError` when none answers within five seconds. The caller closes the client.
    """
    import docker
    from docker.errors import DockerException

    address = _address()
    try:
        if address is None:
            client = docker.from_env(timeout=PING_TIMEOUT_S)
        else:
            client = docker.DockerClient(base_url=address, timeout=PING_TIMEOUT_S)
    except (DockerException, OSError, ValueError) as error:
        raise _connection_error(error, address or os.environ.get("DOCKER_HOST", "")) from error
    client.api.timeout = REQUEST_TIMEOUT_S
    return client


def engine_version() -> str:
    """Version of the engine that answers, as `20.10.24`. Raises `SandboxError`."""
    client = connect()
    try:
        return str(client.version()["Version"])
    finally:
        client.close()


def _address() -> str | None:
    """Where the engine listens; None leaves it to docker-py: DOCKER_HOST, or its default."""
    if os.environ.get("DOCKER_HOST"):
        return None
    return _context_address() or next((f"unix://{path}" for path in _sockets() if path.is_socket()), None)


def _context_address() -> str | None:
    """Address of the Docker context in use, where it is a local socket other than the default."""
    from docker.context import ContextAPI

    try:
        context = ContextAPI.get_current_context()
    except Exception:  # docker-py raises whatever a damaged ~/.docker/config.json leads to
        return None
    host = str(getattr(context, "Host", None) or "")
    return host if host.startswith("unix://") and Path(host[len("unix://") :]).is_socket() else None


def _sockets() -> list[Path]:
    if sys.platform == "win32":
        return []
    home = Path.home()
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    return [
        Path("/var/run/docker.sock"),
        runtime / "docker.sock",
        home / ".docker/run/docker.sock",
        home / ".docker/desktop/docker.sock",
        home / ".orbstack/run/docker.sock",
        home / ".colima/default/docker.sock",
    ]


def _connection_error(error: BaseException, address: str) -> SandboxError:
    """Say in one line what kept us from the engine."""
    where = f" at {address}" if address else ""
    if _caused_by(error, PermissionError):
        return SandboxError(f"You may not use the Docker engine{where}: permission denied.", _PERMISSION_HINT)
    if _caused_by(error, TimeoutError) or "timed out" in str(error).lower():
        return SandboxError(
            f"The Docker engine{where} did not answer within {PING_TIMEOUT_S} seconds.",
            "Restart Docker, or wait for it.",
        )
    return SandboxError(f"No Docker engine answers{where}.", _START_HINT)


def _caused_by(error: BaseException, kind: type[BaseException]) -> bool:
    """Tell whether an exception of this kind is anywhere in the chain of causes or among the arguments."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        item = waiting.pop()
        if not isinstance(item, BaseException) or id(item) in seen:
            continue
        if isinstance(item, kind):
            return True
        seen.add(id(item))
        waiting += [item.__cause__, item.__context__, *item.args]
    return False
