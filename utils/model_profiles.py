"""One named profile: which endpoint and which model answer, and what is known about them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from utils.errors import ConfigurationError

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
"""`${NAME}` or `${NAME:-text for when it is not set}`."""

NO_KEY = "none"
"""Sent as the key to endpoints that need none: the OpenAI SDK insists on one."""


class Prices(BaseModel):
    """What tokens cost, in any one currency."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(default=0.0, ge=0.0)
    """A million prompt tokens."""
    completion: float = Field(default=0.0, ge=0.0)
    """A million completion tokens."""


class ProfileSettings(BaseModel):
    """A profile as models.yaml has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["openai", "azure", "demo"] = "openai"
    """`openai`: any endpoint that speaks OpenAI's chat completions; `azure`: Azure OpenAI; `demo`: recorded replies."""
    base_url: str = ""
    """Address of the endpoint, `/v1` included where it has one. May hold `${NAME}` and `${NAME:-default}`."""
    model: str = ""
    """Model name; for Azure the deployment. May hold `${NAME}` and `${NAME:-default}`."""
    api_key_env: str = Field(default="", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$")
    """Name of the environment variable with the key. Never the key itself."""
    api_version: str = ""
    """Azure's API version."""
    temperature: float | None = Field(default=None, ge=0.0, le=2.0)
    """0-2; none: the endpoint's own, which some models insist on."""
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    """Longest answer, tokens; 1-1000000; none: the endpoint's own."""
    reasoning_effort: str = ""
    """How much the model thinks, such as `low`; empty: the endpoint's own."""
    connect_timeout_s: float = Field(default=10.0, gt=0.0, le=300.0)
    """Time to reach the endpoint, seconds; up to 300."""
    first_token_timeout_s: float = Field(default=300.0, gt=0.0, le=3600.0)
    """Time to the first piece of an answer, or to a whole one that is not streamed, seconds; up to 3600. A local model
    that has to be loaded needs a minute or two."""
    idle_timeout_s: float = Field(default=90.0, gt=0.0, le=3600.0)
    """Longest silence between two pieces of an answer, seconds; up to 3600."""
    retries: int = Field(default=4, ge=0, le=20)
    """Times that a call is tried again after a fault that may pass; 0-20."""
    retry_base_s: float = Field(default=1.0, ge=0.0, le=60.0)
    """First wait between two tries, seconds; 0-60. It doubles each time, with jitter."""
    retry_budget_s: float = Field(default=120.0, ge=0.0, le=3600.0)
    """Most that one call may wait between tries in all, seconds; 0-3600."""
    structured_output: Literal["auto", "schema", "json", "text"] = "auto"
    """How a model is made to answer in JSON: by schema, by JSON mode, by asking; `auto` tries them in this order."""
    vision: bool = False
    """The model reads pictures."""
    context_tokens: int = Field(default=0, ge=0)
    """Size of the context window, tokens; 0: not known."""
    stream_usage: bool = True
    """Ask for the count of tokens with a stream. An endpoint that refuses it is asked without."""
    pace_s: float = Field(default=0.015, ge=0.0, le=1.0)
    """The demo's time between two words, seconds; 0-1."""
    prices: Prices = Prices()
    """For `--max-cost`."""

    @field_validator("api_key_env", mode="before")
    @classmethod
    def _is_no_key(cls, value: object) -> object:
        if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*|", value):
            # The message must not show the value: it may well be a key.
            raise ValueError("must be the name of an environment variable, such as OPENAI_API_KEY, never a key")
        return value


class Profile(ProfileSettings):
    """A profile with its address, model and key filled in: all that a client needs."""

    name: str
    """Name in models.yaml."""
    file: str = Field(default="models.yaml", repr=False, exclude=True)
    """The file that it stands in, for errors that say what to change there."""
    api_key: SecretStr = Field(default=SecretStr(NO_KEY), repr=False, exclude=True)

    @property
    def label(self) -> str:
        """How people see it: the model, and where it runs."""
        return self.name if self.kind == "demo" else f"{self.model} ({self.name})"

    @property
    def endpoint(self) -> str:
        """Key under which is remembered what this model at this address can do."""
        return f"{self.base_url} {self.model}"

    @property
    def is_loopback(self) -> bool:
        """Whether the endpoint is on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        return host in ("localhost", "::1") or host.startswith("127.")

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine or in its own network, by its address or a name without a domain."""
        return _is_local(urlsplit(self.base_url).hostname or "")

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Price of so many tokens, in the currency of `prices`."""
        return (prompt_tokens * self.prices.prompt + completion_tokens * self.prices.completion) / 1e6


def fill_in(
    name: str, settings: ProfileSettings, environ: Mapping[str, str], *, model: str = "", file: str = "models.yaml"
) -> Profile:
    """Fill in the variables and the key of a profile of `file`; `model` takes the place of its own model.

    Raises `ConfigurationError` that names the variable that is missing and where to put it.
    """
    if settings.kind == "demo":
        return Profile(name=name, file=file, **{**settings.model_dump(), "model": "demo"})
    base_url = _expand(settings.base_url, name, environ).rstrip("/")
    model = model or _expand(settings.model, name, environ)
    if not base_url or not model:
        missing = "model" if base_url else "base_url"
        raise ConfigurationError(f"The profile '{name}' has no {missing}.", f"Add it in {file}.")
    try:
        parts = urlsplit(base_url)
        _ = parts.port  # raises where it is out of range
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"'{base_url}' is not a URL: the address of the profile '{name}'.", "It should look like https://host/v1."
        )
    key = environ.get(settings.api_key_env, "").strip() if settings.api_key_env else ""
    is_open = _is_local(parts.hostname) or _is_own(settings, parts.hostname, environ)
    if not key and settings.api_key_env and not is_open:
        raise ConfigurationError(
            f"No key for '{name}': {settings.api_key_env} is not set.",
            f"Put {settings.api_key_env}=... in the file .env beside main.py, or try --demo.",
        )
    values = settings.model_dump() | {
        "base_url": base_url,
        "model": model,
        "api_version": _expand(settings.api_version, name, environ),
    }
    return Profile(name=name, file=file, api_key=SecretStr(key or NO_KEY), **values)


def _expand(text: str, name: str, environ: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        found = environ.get(match[1], "").strip()
        if found:
            return found
        if match[2] is not None:
            return match[2]
        raise ConfigurationError(
            f"The profile '{name}' needs {match[1]}, which is not set.",
            f"Put {match[1]}=... in the file .env beside main.py.",
        )

    return VARIABLE.sub(value, text)


def _is_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host == "host.docker.internal" or host.endswith((".local", ".localhost"))
    return address.is_loopback or address.is_private


def _is_own(settings: ProfileSettings, host: str, environ: Mapping[str, str]) -> bool:
    """Whether the user set the address by a variable of its own: such an endpoint may well need no key."""
    given = any(environ.get(match[1], "").strip() for match in VARIABLE.finditer(settings.base_url))
    return given and settings.kind == "openai" and not host.endswith("openai.com")
