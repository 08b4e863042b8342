"""The server: plain asyncio in a thread of its own, so that a test may use it from anywhere."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from typing_extensions import Self

from tests.scripted_server.script import Reply, Request, Script
from tests.scripted_server.wire import completion, failure, sse

MODELS = ("scripted",)


class ScriptedServer:
    """Serves chat completions by a script; also `/v1/models` and Ollama's `/api/tags`.

    `replies` is a list (a text, a `Reply`, or its fields) or a function of the request; `refuse` names parameters or
    types of `response_format` that are answered with 400; `key` is the only key that is taken, where one is given.
    """

    def __init__(
        self,
        replies: Sequence[str | Mapping[str, Any] | Reply] | Callable[[Request], str | Reply] = (),
        *,
        refuse: Sequence[str] = (),
        review: Reply | None = None,
        key: str = "",
        models: Sequence[str] = MODELS,
        port: int = 0,
        on_request: Callable[[Request], None] | None = None,
    ) -> None:
        self.script = Script(replies, refuse=refuse, review=review)
        self.requests: list[Request] = []
        self._key, self._models, self._port, self._on_request = key, models, port, on_request
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="scripted server", daemon=True)
        self._up = threading.Event()
        self._stop: asyncio.Future[None] = self._loop.create_future()
        self._gates: dict[str, asyncio.Event] = {}
        self._reached: dict[str, threading.Event] = {}
        self._arrived = threading.Condition()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def to_generator(self) -> list[Request]:
        return [request for request in self.requests if request.to == "generator"]

    @property
    def to_reviewer(self) -> list[Request]:
        return [request for request in self.requests if request.to == "reviewer"]

    def start(self) -> Self:
        self._thread.start()
        if not self._up.wait(10):
            raise RuntimeError("the scripted server did not start")
        return self

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end)
            self._thread.join(10)

    def _end(self) -> None:
        if not self._stop.done():
            self._stop.set_result(None)

    def release(self, pause: str) -> None:
        """Let the replies go on that wait at this pause."""
        self._loop.call_soon_threadsafe(self._gate(pause).set)

    def wait_paused(self, pause: str, timeout_s: float = 10.0) -> None:
        """Wait until a reply waits at this pause. Blocks: in a coroutine use `asyncio.to_thread`."""
        if not self._reached.setdefault(pause, threading.Event()).wait(timeout_s):
            raise TimeoutError(f"no reply came to the pause {pause!r}")

    def wait_requests(self, number: int, timeout_s: float = 10.0) -> None:
        """Wait until so many requests came. Blocks: in a coroutine use `asyncio.to_thread`."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= number, timeout_s):
                raise TimeoutError(f"{len(self.requests)} requests came, not {number}")

    def wait_abandoned(self, number: int, timeout_s: float = 10.0) -> None:
        """Wait until the client has gone away from so many requests that hang. Blocks, as above."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: sum(r.abandoned for r in self.requests) >= number, timeout_s):
                raise TimeoutError("the client did not go away")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop()
        if kind is None and self.script.ran_out:
            raise AssertionError(f"the script ran out; the last request was:\n{self.requests[-1].last[-2000:]}")

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.__exit__(kind)

    def _gate(self, pause: str) -> asyncio.Event:
        return self._gates.setdefault(pause, asyncio.Event())

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", self._port, limit=2**24)
        self._port = server.sockets[0].getsockname()[1]
        self._up.set()
        await self._stop
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._one(reader, writer):
                pass
        with contextlib.suppress(Exception):
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection stays."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (h.partition(":") for h in head[1:] if h)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        if method == "GET":
            _send(writer, 200, self._list(path))
            return True
        request = Request(json.loads(raw or b"{}"), path, headers)
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        if self._on_request is not None:
            self._on_request(request)
        if self._key and self._key not in (headers.get("authorization", "")[7:], headers.get("api-key")):
            _send(writer, 401, failure("Incorrect API key provided: sk-***", "invalid_api_key"))
            return True
        return await self._answer(request, self.script.pick(request), reader, writer)

    def _list(self, path: str) -> dict[str, Any]:
        if path.startswith("/api/tags"):
            return {"models": [{"name": name} for name in self._models]}
        return {"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]}

    async def _answer(
        self, request: Request, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        if reply.status != 200:
            extra = {"Retry-After": reply.retry_after} if reply.retry_after else {}
            _send(writer, reply.status, failure(reply.error, reply.code), extra)
            return True
        if request.is_streamed:
            return await self._stream(request, reply, reader, writer)
        if reply.fault == "hang":
            await self._hang(request, reader)
            return False
        if reply.fault == "reset":
            _reset(writer)
            return False
        if reply.pause:
            await self._pause(reply.pause)
        if reply.fault in ("malformed", "odd"):
            _send(writer, 200, "<html>no JSON" if reply.fault == "malformed" else {"something": "else"})
        else:
            _send(writer, 200, completion(request, reply))
        return True

    async def _stream(
        self, request: Request, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        try:
            async for event in self._events(request, reply):
                writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
                if reply.piece_delay_s or reply.pause:
                    await writer.drain()
            if reply.fault == "hang":
                await self._hang(request, reader)
                return False
            if reply.fault == "reset":
                await writer.drain()
                _reset(writer)
                return False
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        except ConnectionError:
            request.abandoned = True
            return False
        return True

    async def _events(self, request: Request, reply: Reply) -> AsyncIterator[bytes]:
        for number, event in enumerate(sse(request, reply)):
            if number and reply.piece_delay_s:
                await asyncio.sleep(reply.piece_delay_s)
            if number == 1 and reply.pause:
                await self._pause(reply.pause)
            yield event

    async def _pause(self, name: str) -> None:
        self._reached.setdefault(name, threading.Event()).set()
        await self._gate(name).wait()

    async def _hang(self, request: Request, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read(1)
        with self._arrived:
            request.abandoned = True
            self._arrived.notify_all()


def _send(writer: asyncio.StreamWriter, status: int, body: object, headers: Mapping[str, str] = {}) -> None:
    data = (body if isinstance(body, str) else json.dumps(body)).encode()
    lines = [f"HTTP/1.1 {status} Scripted", "Content-Type: application/json", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close at once with RST: what was sent may be lost, and no end of the stream is sent."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
