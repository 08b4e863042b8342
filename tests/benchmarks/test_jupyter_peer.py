"""How the benchmark waits for the gateway that AutoGen's executor talks to."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from benchmarks import jupyter_peer


@contextmanager
def gateway(*statuses: int) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Answers with one status after the other and with 200 from then on; 0: it hangs up."""
    left = list(statuses)
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, str(self.headers["Authorization"])))
            status = left.pop(0) if left else 200
            if status:
                self.send_response(status)
                self.end_headers()
            else:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port, asked
        finally:
            server.shutdown()
            thread.join()


async def test_waits_until_it_answers_well() -> None:
    with gateway(0, 503, 0) as (port, asked):
        await jupyter_peer.until_up("127.0.0.1", port, "abc")
    assert asked == [("/api/kernelspecs", "token abc")] * 4


async def test_one_that_never_does_is_no_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jupyter_peer, "READY_S", 0.2)
    with gateway(*[503] * 1000) as (port, _), pytest.raises(jupyter_peer.NoPeerError, match="503"):
        await asyncio.wait_for(jupyter_peer.until_up("127.0.0.1", port, "abc"), 10)
