from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.scripted_server import ScriptedServer
from utils import model_abilities
from utils.model_client import ModelClient
from utils.model_profiles import Profile
from utils.models import create_client

Make = Callable[..., ModelClient]
"""Makes a client for a scripted server; keywords are settings of its profile."""


@pytest.fixture(autouse=True)
def _nothing_known() -> None:
    model_abilities.forget()


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    made: list[ModelClient] = []

    def make(server: ScriptedServer, **options: Any) -> ModelClient:
        profile = Profile(**{"name": "t", "base_url": server.base_url, "model": "m", "retry_base_s": 0.0, **options})
        made.append(create_client(profile, source="code_generator"))
        return made[-1]

    yield make
    for client in made:
        await client.close()
