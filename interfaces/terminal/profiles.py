"""The profiles of models.yaml, for a list of what can be chosen."""

from __future__ import annotations

from utils.errors import RoundtableError
from utils.models import Models
from utils.settings import Settings


def profile_list(settings: Settings) -> list[tuple[str, str]]:
    """Names of the profiles, each with its model or what it lacks; empty where models.yaml cannot be read."""
    try:
        models = Models.load(settings.models_file, settings.environ)
    except RoundtableError:
        return []
    return [(name, _meaning(models, name)) for name in models.profiles]


def _meaning(models: Models, name: str) -> str:
    try:
        profile = models.resolve(name)
    except RoundtableError as error:
        return f"not set up: {error.message}"
    return "recorded replies" if profile.kind == "demo" else profile.model
