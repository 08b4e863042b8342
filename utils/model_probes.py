"""Quick questions to endpoints, for the menu and the doctor."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from typing import Any

from utils.model_profiles import Profile
from utils.models import create_client


async def ping(profile: Profile) -> str:
    """Ask the model one tiny thing; return its answer on one line. Raises `ModelError`."""
    from autogen_core.models import UserMessage

    client = create_client(profile.model_copy(update={"retries": min(profile.retries, 1)}), source="ping")
    try:
        result = await client.create([UserMessage(content="Answer with the word ok.", source="user")])
        return " ".join(str(result.content).split())[:80]
    finally:
        await client.close()


async def ollama_models(base_url: str = "http://localhost:11434", timeout_s: float = 1.0) -> list[str]:
    """Names of the models that an Ollama has; empty where none answers within `timeout_s` seconds."""
    url = base_url.rstrip("/").removesuffix("/v1") + "/api/tags"
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def settle(names: list[str]) -> None:
        if not answer.done():
            answer.set_result(names)

    def fetch() -> None:
        names = _names(_get(url, timeout_s))
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, names)

    # A thread of its own: the default executor may be busy, and must not be waited for at the end.
    threading.Thread(target=fetch, name="ollama probe", daemon=True).start()
    try:
        return await asyncio.wait_for(answer, timeout_s)
    except asyncio.TimeoutError:
        return []


def _get(url: str, timeout_s: float) -> Any:
    # A proxy has no business between this program and a model on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=timeout_s) as response:
            return json.loads(response.read(2**20))
    except (OSError, ValueError):
        return None


def _names(answer: Any) -> list[str]:
    models = answer.get("models") if isinstance(answer, dict) else None
    names = [one.get("name") for one in models if isinstance(one, dict)] if isinstance(models, list) else []
    return [name for name in names if isinstance(name, str)]
