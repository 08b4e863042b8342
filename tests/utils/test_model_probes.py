from __future__ import annotations

import time

import pytest

from tests.scripted_server import Reply, ScriptedServer
from utils.errors import ModelError
from utils.model_probes import ollama_models, ping
from utils.model_profiles import Profile


def profile(server: ScriptedServer) -> Profile:
    return Profile(name="t", base_url=server.base_url, model="m", retry_base_s=0.0)


async def test_a_ping_returns_the_answer_on_one_line() -> None:
    async with ScriptedServer(["ok\n\nthen"]) as server:
        assert await ping(profile(server)) == "ok then"


async def test_a_ping_tells_what_is_wrong() -> None:
    async with ScriptedServer([Reply(status=401)]) as server:
        with pytest.raises(ModelError, match="refused the key"):
            await ping(profile(server))


async def test_ollama_lists_its_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with ScriptedServer(models=["qwen3:8b", "llama3.3"]) as server:
        assert await ollama_models(server.base_url) == ["qwen3:8b", "llama3.3"]


async def test_where_no_ollama_answers_there_are_no_models() -> None:
    started = time.monotonic()
    assert await ollama_models("http://127.0.0.1:9", 0.5) == []
    assert time.monotonic() - started < 10
