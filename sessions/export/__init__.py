"""A session in a form to take away: notebook, script, HTML, Markdown, JSON lines."""

from __future__ import annotations

import importlib

from sessions.export.story import read_story
from sessions.store import Store
from utils.errors import ConfigurationError

SUFFIXES = {"notebook": ".ipynb", "script": ".py", "html": ".html", "markdown": ".md", "jsonl": ".jsonl"}
"""Each form with the suffix of its files."""


def export(store: Store, session: str, form: str) -> str:
    """The session in one of the forms of `SUFFIXES`, as the text of one file. Raises `ConfigurationError`."""
    if form not in SUFFIXES:
        raise ConfigurationError(f"There is no export to {form!r}.", f"Choose one of {', '.join(SUFFIXES)}.")
    if form == "jsonl":
        return "".join(f"{event.model_dump_json()}\n" for event in store.events(session))
    module = importlib.import_module(f"sessions.export.to_{form}")
    text: str = module.render(read_story(store, session))
    return text
