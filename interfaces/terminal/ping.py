"""A tiny request to a model: does it answer?"""

from __future__ import annotations

import time

from utils.model_profiles import Profile


async def ping(profile: Profile) -> float:
    """Ask for one word and return the seconds that it took. Not tried again. Raises `ModelError`."""
    from autogen_core.models import UserMessage

    from utils.models import create_client

    client = create_client(profile.model_copy(update={"retries": 0}), source="doctor")
    started = time.monotonic()
    try:
        await client.create([UserMessage(content="Answer with the one word: ready", source="user")])
    finally:
        await client.close()
    return time.monotonic() - started
