"""The first start: no key and no local model yet. Offers the demo, a key, or a local Ollama."""

from __future__ import annotations

import asyncio
import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from interfaces.terminal.environment import ROOT_FILE, keep
from interfaces.terminal.plain import one_line
from utils.errors import ConfigurationError, EndOfInputError, ModelError

if TYPE_CHECKING:
    from utils.models import Models
    from utils.settings import Settings

OLLAMA_TIMEOUT_S = 1.5
"""How long a local Ollama may take to say which models it has."""
KEY_TRIES = 3
MODEL_VARIABLE = "ROUNDTABLE_MODEL"

_SHAPES = (("anthropic", "sk-ant-"), ("openrouter", "sk-or-"), ("gemini", "AIza"))
"""How keys begin that are not for the default profile."""


def ensure_model(settings: Settings, *, interactive: bool) -> Settings:
    """Return settings with a model that can answer: those given, or the menu's choice where nothing is configured.

    Raises `ConfigurationError` where nobody is there to choose, and for a models.yaml that cannot be used.
    """
    from utils.models import Models

    models = Models.load(settings.models_file, settings.environ)
    try:
        for agent in ("code_generator", "safety_reviewer"):
            models.for_agent(agent, own=settings.agent_models.get(agent, ""), chosen=settings.model)
        return settings
    except ConfigurationError:
        if settings.model or settings.agent_models or models.agents or not interactive:
            raise
    return Onboarding(settings, models).choose()


class Onboarding:
    """The menu. `env_file` is where a key and a choice are kept."""

    def __init__(self, settings: Settings, models: Models, env_file: Path = ROOT_FILE) -> None:
        self._settings = settings
        self._models = models
        self._env_file = env_file

    def choose(self) -> Settings:
        """Ask until something is chosen. Raises `EndOfInputError` where the input ends."""
        local = local_models(self._models)
        _show("No model is configured yet.\n")
        _show("  1  see the demo: a recorded conversation, played on the real sandbox")
        _show("  2  paste a key (OpenAI, Anthropic, Gemini or OpenRouter)")
        if local:
            _show(f"  3  use Ollama on this machine: {_listed(local)}")
        else:
            _show("     (no Ollama answers on this machine; once one does, it can be chosen here)")
        while True:
            choice = _ask("\nYour choice (1): ") or "1"
            if choice == "1":
                return self._with(model="demo")
            if choice == "2" and (settings := self._paste_key()):
                return settings
            if choice == "3" and local:
                return self._choose_local(local)
            if choice != "2":  # a key that did not work was told of
                _show(
                    f"'{one_line(choice, 60)}' is none of these: type {'1, 2 or 3' if local else '1 or 2'}, then Enter."
                )

    def _paste_key(self) -> Settings | None:
        """Take a key, try it and keep it. None after three that did not work."""
        for _ in range(KEY_TRIES):
            key = _ask_hidden("The key (it is not shown; Enter alone goes back): ").strip()
            if not key:
                return None
            profile = self._profile_for(key)
            variable = self._models.profiles[profile].api_key_env
            settings = self._with(model="" if profile == self._models.default else profile, **{variable: key})
            if not self._works(settings, profile):
                continue
            path = keep(variable, key, self._env_file)
            if settings.model:
                keep(MODEL_VARIABLE, settings.model, self._env_file)
            _show(f"It works. Kept as {variable} in {path}, which only you may read.\n")
            return settings
        return None

    def _works(self, settings: Settings, profile: str) -> bool:
        from utils.model_probes import ping
        from utils.models import Models

        _show("Trying it ...")
        try:
            asyncio.run(ping(Models.load(settings.models_file, settings.environ).resolve(profile)))
        except (ConfigurationError, ModelError) as error:
            _show(f"It does not work: {error}")
            return False
        return True

    def _choose_local(self, names: list[str]) -> Settings:
        """Take one of the models of the local Ollama and keep the choice."""
        for number, name in enumerate(names, 1):
            _show(f"  {number}  {name}")
        while True:
            choice = _ask("Which one (1): ") or "1"
            name = names[int(choice) - 1] if choice.isdecimal() and 0 < int(choice) <= len(names) else choice
            if name in names:
                model = f"ollama:{name}"
                path = keep(MODEL_VARIABLE, model, self._env_file)
                _show(f"Kept as {MODEL_VARIABLE}={model} in {path}.\n")
                return self._with(model=model)
            _show(f"'{one_line(choice, 60)}' is none of these: type a number from 1 to {len(names)}, or a name.")

    def _profile_for(self, key: str) -> str:
        """The profile that a key is for, by how it begins."""
        for profile, start in _SHAPES:
            if key.startswith(start) and profile in self._models.profiles:
                return profile
        default = self._models.profiles[self._models.default]
        return self._models.default if default.api_key_env else "openai"

    def _with(self, *, model: str, **variables: str) -> Settings:
        return self._settings.model_copy(update={"model": model, "environ": {**self._settings.environ, **variables}})


def local_models(models: Models) -> list[str]:
    """Names of the models of a local Ollama; empty where none answers."""
    from utils.model_probes import ollama_models

    try:
        address = models.resolve("ollama").base_url
    except ConfigurationError:
        return []
    return sorted(asyncio.run(ollama_models(address, OLLAMA_TIMEOUT_S)))


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown


def _show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _ask(prompt: str) -> str:
    try:
        return input(prompt).strip()
    except EOFError:
        raise EndOfInputError("Nothing was chosen.") from None


def _ask_hidden(prompt: str) -> str:
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise EndOfInputError("No key was given.") from None
