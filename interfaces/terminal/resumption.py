"""A session that is resumed goes on as it was: the same model, work directory and kernel, unless others are named."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from interfaces.terminal.own_files import keep_apart
from utils.settings import Settings

if TYPE_CHECKING:
    from sessions.store import SessionInfo

_LABEL = re.compile(r"(?P<model>.+) \((?P<profile>[^()]+)\)")
"""`Profile.label`, except the demo's."""


def as_it_was(settings: Settings, prefix: str) -> tuple[str, Settings]:
    """Find the session (the last one without a prefix), and the settings to go on with. Raises `StoreError`.

    Raises `ConfigurationError` where its work directory holds what the program is made of.
    """
    from sessions.events import TaskEvent
    from sessions.sqlite_store import SqliteStore

    with contextlib.closing(SqliteStore.from_settings(settings, read_only=True)) as store:
        info = store.info(store.find(prefix or None))
        tasks = [event for event in store.events(info.id) if isinstance(event, TaskEvent)]
    changes: dict[str, object] = {"kernel": settings.kernel or any(task.kernel for task in tasks[-1:])}
    model = _model_of(info, settings)
    if model and not settings.model and not settings.agent_models:
        changes["model"] = model
    if settings.work_dir is None and _is_the_users(info, settings):
        changes["work_dir"] = Path(info.work_dir)
    settings = settings.model_copy(update=changes)
    keep_apart(settings)
    return info.id, settings


def _is_the_users(info: SessionInfo, settings: Settings) -> bool:
    """Whether it worked in a folder of the user's that is still there; a session's own is found without being named."""
    path = Path(info.work_dir)
    return bool(info.work_dir) and settings.data_dir not in path.parents and path.is_dir()


def _model_of(info: SessionInfo, settings: Settings) -> str:
    """The name of the session's model for `--model`; empty where it cannot answer any more."""
    from utils.models import Models

    models = Models.load(settings.models_file, settings.environ)
    label = _LABEL.fullmatch(info.model)
    name = f"{label['profile']}:{label['model']}" if label else info.model
    profile = name.partition(":")[0]
    if profile not in models.profiles or not models.is_ready(name):
        return ""
    # The default's own model follows models.yaml, should the user have edited that meanwhile.
    return "" if profile == models.default and models.resolve().label == info.model else name
