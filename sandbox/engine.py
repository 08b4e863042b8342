"""Requests to the Docker engine on the event loop, so that many sandboxes wait for nobody's thread.

docker-py finds the engine; what a sandbox asks of it are five plain HTTP requests and one that becomes a stream.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sandbox.threads import in_thread
from utils.docker_utils import connect
from utils.errors import SandboxError

REQUEST_TIMEOUT_S = 120
"""How long the engine may take for one request: it may be starting many containers at once."""


class EngineError(Exception):
    """The engine refused a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status: 404 where something is not there, 409 where it is in the way."""
        self.message = message


@dataclass(frozen=True)
class Engine:
    """Where the engine listens."""

    socket_path: str = ""
    """Path of the Unix socket; empty: the next two."""
    host: str = ""
    port: int = 0
    tls: ssl.SSLContext | None = None

    @classmethod
    async def find(cls) -> Engine:
        """The engine that answers, looked for once for each DOCKER_HOST. Raises `SandboxError`."""
        address = os.environ.get("DOCKER_HOST", "")
        if address not in _found:
            _found[address] = await in_thread(cls._find)
        return _found[address]

    @classmethod
    def _find(cls) -> Engine:
        client = connect()
        try:
            api = client.api
            path = getattr(api.get_adapter(api.base_url), "socket_path", "")
            if path:
                return cls(socket_path=path)
            address = urlsplit(api.base_url)
            if address.scheme not in ("http", "https") or not address.hostname:
                raise SandboxError(
                    f"The Docker engine at {api.base_url} is reached in a way that sandboxes cannot use.",
                    "Set DOCKER_HOST to a unix:// or tcp:// address.",
                )
            tls = _tls(api.verify, api.cert) if address.scheme == "https" else None
            return cls(host=address.hostname, port=address.port or 2375, tls=tls)
        finally:
            client.close()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.socket_path:
            return await asyncio.open_unix_connection(self.socket_path)
        return await asyncio.open_connection(self.host, self.port, ssl=self.tls)

    async def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a request and return the decoded answer, None where it is empty.

        Raises `EngineError` for a refusal and `SandboxError` where the engine does not answer.
        """
        try:
            return await asyncio.wait_for(self._request(method, path, body), REQUEST_TIMEOUT_S)
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            _found.clear()  # it may be elsewhere when it is back
            raise SandboxError(
                f"The Docker engine did not answer ({type(error).__name__}: {error}).", "Is Docker running?"
            ) from error

    async def _request(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        reader, writer = await self._open()
        try:
            data = b"" if body is None else json.dumps(body).encode()
            # HTTP 1.0: the answer ends with the connection, and is not chunked.
            head = f"{method} {path} HTTP/1.0\r\nHost: docker\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
            status = await _status(reader)
            answer = await reader.read()
        finally:
            writer.close()
        if status >= 400:
            raise EngineError(status, _message(answer))
        return json.loads(answer) if answer.strip() else None

    async def attach(self, container: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Standard input and output of a container as one stream. Raises `EngineError` and `SandboxError`."""
        return await self._stream(f"/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1", b"")

    async def execute(self, container: str, body: dict[str, Any]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Start another process in a container; its standard input and output as one stream. Raises as `attach`."""
        made = await self.request("POST", f"/containers/{container}/exec", body)
        return await self._stream(f"/exec/{made['Id']}/start", b'{"Detach": false, "Tty": false}')

    async def _stream(self, path: str, body: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            reader, writer = await self._open()
        except OSError as error:
            raise SandboxError(f"The Docker engine did not answer ({error}).", "Is Docker running?") from error
        head = f"POST {path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\n"
        head += f"Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        try:
            status = await asyncio.wait_for(_status(reader), REQUEST_TIMEOUT_S)
            if status not in (101, 200):
                raise EngineError(status, _message(await reader.read()))
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            writer.close()
            raise SandboxError(f"The Docker engine did not answer ({error}).", "Is Docker running?") from error
        except BaseException:
            writer.close()
            raise
        return reader, writer


_found: dict[str, Engine] = {}


async def _status(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1])


def _message(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["message"])
    except (ValueError, KeyError, TypeError):
        return answer.decode("utf-8", "replace").strip()


def _tls(verify: bool | str | None, certificate: tuple[str, str] | str | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=verify if isinstance(verify, str) else None)
    if verify is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if isinstance(certificate, tuple):
        context.load_cert_chain(*certificate)
    elif certificate:
        context.load_cert_chain(certificate)
    return context
