"""What holds for every test: none of them reaches a model, or anything else, beyond this machine."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

_KEYS = ("OPENAI_", "AZURE_OPENAI_", "ANTHROPIC_", "GEMINI_", "OPENROUTER_", "OLLAMA_", "SERVER_")


@pytest.fixture(autouse=True, scope="session")
def _stay_on_this_machine() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(_KEYS):
                patch.delenv(name)
        connect = socket.socket.connect

        def guarded(self: socket.socket, address: Any) -> None:
            if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
                pytest.fail(f"a test wants to reach {address[0]}: script it with tests.scripted_server")
            connect(self, address)

        patch.setattr(socket.socket, "connect", guarded)
        yield


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


collect_ignore = [] if os.environ.get("ROUNDTABLE_FULL") else ["full"]
"""tests/full needs the full image, which takes minutes to make: `make test-full` makes it and runs them."""
