"""Which model answers: models.yaml, its profiles, and the names that people give on the command line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, model_validator

from utils.errors import ConfigurationError
from utils.model_profiles import Profile, ProfileSettings, fill_in
from utils.settings import ROOT, file_name
from utils.yaml_settings import read_settings

if TYPE_CHECKING:
    from utils.model_client import ModelClient

OnWait = Callable[[str, int, int, float], None]
"""Called before a wait: reason, number of the next try, tries in all, delay in seconds."""


_HAS_COLON = re.compile(r"[^:]*/.*|ft:.+|[^:]+:(latest|\d[\w.+-]*)")
"""Models whose names have a colon: of OpenRouter (`vendor/model:free`), fine-tuned, local with a tag (`llama3:8b`)."""


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    default: str
    profiles: dict[str, ProfileSettings]
    agents: dict[str, str] = {}

    @model_validator(mode="after")
    def _default_is_there(self) -> _File:
        if self.default not in self.profiles:
            raise ValueError(f"the default profile '{self.default}' is not among the profiles")
        return self

    @model_validator(mode="before")
    @classmethod
    def _empty_agents(cls, data: object) -> object:
        # A section whose lines are all commented out reads as null.
        if isinstance(data, dict) and data.get("agents", ...) is None:
            return {key: value for key, value in data.items() if key != "agents"}
        return data


class Models:
    """The profiles of models.yaml, over one environment."""

    def __init__(self, file: _File, environ: Mapping[str, str], path: Path = ROOT / "models.yaml") -> None:
        self.file = file_name(path)
        """How people know the file that the profiles stand in."""
        self.default: str = file.default
        self.profiles: Mapping[str, ProfileSettings] = file.profiles
        self.agents: Mapping[str, str] = file.agents
        self._environ = dict(environ)

    @classmethod
    def load(cls, path: Path, environ: Mapping[str, str]) -> Models:
        """Read the file. Raises `ConfigurationError` that names file, line and key."""
        return cls(read_settings(path, _File), environ, path)

    def resolve(self, name: str = "") -> Profile:
        """Find the profile for a name: a profile's, `PROFILE:MODEL`, or a bare model name of the default's endpoint.

        Raises `ConfigurationError` for a name that is nearly a profile's, for one before a colon that is none's, and
        for a variable or key that is missing.
        """
        name = name.strip() or self.default
        if name in self.profiles:
            return fill_in(name, self.profiles[name], self._environ, file=self.file)
        prefix, colon, model = name.partition(":")
        if colon and model and prefix in self.profiles:
            return self._with_model(prefix, model)
        if colon and not _HAS_COLON.fullmatch(name):
            own = f"For a model of that name: {self.default}:{name}." if prefix and model else ""
            hint = f"Profiles: {', '.join(self.profiles)}. {own}".rstrip()
            close = difflib.get_close_matches(prefix, self.profiles, n=1, cutoff=0.6)
            hint = f"Did you mean '{close[0]}:{model}'?" if close and model else hint
            raise ConfigurationError(f"There is no profile '{prefix}' in {self.file}.", hint)
        close = difflib.get_close_matches(name, self.profiles, n=1, cutoff=0.75)
        if close or any(c.isspace() for c in name):
            hint = f"Did you mean '{close[0]}'?" if close else f"Profiles: {', '.join(self.profiles)}."
            raise ConfigurationError(f"There is no profile '{name}' in {self.file}.", hint)
        return self._with_model(self.default, name)

    def for_agent(self, agent: str, *, own: str = "", chosen: str = "") -> Profile:
        """Find the profile that answers for an agent.

        The first that is given counts: `own` (this agent's, from the command line), `chosen` (everybody's), the agent's
        in models.yaml, the default.
        """
        return self.resolve(own or chosen or self.agents.get(agent, ""))

    def is_ready(self, name: str = "") -> bool:
        """Whether nothing that the profile needs is missing. Reaches no endpoint."""
        try:
            self.resolve(name)
        except ConfigurationError:
            return False
        return True

    def _with_model(self, profile: str, model: str) -> Profile:
        settings = self.profiles[profile]
        if settings.kind == "demo":
            raise ConfigurationError(
                f"The profile '{profile}' plays recorded replies and has no model '{model}'.",
                f"Profiles: {', '.join(self.profiles)}.",
            )
        return fill_in(profile, settings, self._environ, model=model, file=self.file)


def create_client(profile: Profile, *, source: str = "", on_wait: OnWait | None = None) -> ModelClient:
    """Make the client that talks to a profile's endpoint, for the agent named `source`. Reaches no endpoint.

    Raises `ConfigurationError` where the profile lacks what its kind of client needs.
    """
    # Importing AutoGen and the OpenAI SDK takes a second and a half: not before a model is needed.
    if profile.kind == "demo":
        from utils.demo_client import DemoClient

        return DemoClient(profile, source=source)
    from utils.model_client import ModelClient

    try:
        return ModelClient(profile, on_wait=on_wait)
    except Exception as error:  # the SDK's own checks, of whatever class
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConfigurationError(
            f"The profile '{profile.name}' cannot be used: {reason}", f"Mend it in {profile.file}."
        ) from error
