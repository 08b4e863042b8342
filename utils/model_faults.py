"""What went wrong with a call to a model, in words for a person, and whether trying again may help."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import httpx
import openai

from utils.errors import ContextLengthError, ModelError, RequestRefusedError
from utils.model_abilities import ROLES
from utils.model_answer import MalformedAnswerError
from utils.model_profiles import NO_KEY, Profile

_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "input token count",
    "reduce the length",
)
"""Words of OpenAI, vLLM, llama.cpp, Ollama, Anthropic, Gemini and OpenRouter for a request that is too long."""

_REFUSED = ("response_format", "json_schema", "grammar", "structured output", "guided", *ROLES)
"""Words of a server that answers 404 or 500 where it means that it does not take the request."""


class SilenceError(Exception):
    """The endpoint said nothing for longer than the profile allows."""


class EmptyAnswerError(Exception):
    """The answer had no words."""


@dataclass(frozen=True)
class Fault:
    """One failed call."""

    error: ModelError
    """What to raise when nobody tries again."""
    reason: str
    """A few words, to be shown while waiting."""
    retry: Literal["no", "once", "yes"] = "no"
    retry_after_s: float | None = None
    """What the endpoint asked for, seconds."""


def explain(error: Exception, profile: Profile) -> Fault | None:
    """Put a failed call into words. None for an error that is no fault of a model or of the way to it."""
    where = f"{profile.model} at {profile.base_url}"
    if isinstance(error, openai.APIStatusError):
        return _explain_status(error, profile, where)
    if isinstance(error, (openai.APITimeoutError, SilenceError, asyncio.TimeoutError, httpx.TimeoutException)):
        return Fault(
            ModelError(
                f"{where} did not answer in time.",
                f"Try again; for a slow model raise first_token_timeout_s in {profile.file}.",
            ),
            "no answer in time",
            "once",
        )
    if isinstance(error, (openai.APIConnectionError, httpx.HTTPError)):
        if profile.is_local and _is_refused(error):
            # Nothing listens there. A program that starts or restarts may in a moment; one that does not run will not.
            return Fault(
                ModelError(
                    f"{profile.base_url} cannot be reached: nothing listens there (connection refused).",
                    f"Start the model's server, or check the address in {profile.file} or .env.",
                ),
                "connection refused",
                "once",
            )
        return Fault(
            ModelError(
                f"{profile.base_url} cannot be reached ({_root(error)}).",
                f"Check the address in {profile.file} or .env, and that the endpoint runs.",
            ),
            "connection failed",
            "yes",
        )
    if isinstance(error, EmptyAnswerError):
        return Fault(ModelError(f"{where} answered nothing.", "Try again, or another model."), "empty answer", "once")
    if isinstance(error, (MalformedAnswerError, json.JSONDecodeError, openai.APIResponseValidationError)):
        return Fault(
            ModelError(
                f"{where} sent a malformed answer.",
                "Is it an OpenAI-compatible endpoint? Its address mostly ends in /v1.",
            ),
            "malformed answer",
            "yes",
        )
    if isinstance(error, openai.APIError):
        # An error inside a stream: the status was 200 already.
        if _is_too_long(error.message):
            return Fault(_too_long(where), "request too long")
        return Fault(ModelError(f"{where} failed: {_quote(error.message, profile)}", "Try again."), "error", "yes")
    return None


def _explain_status(error: openai.APIStatusError, profile: Profile, where: str) -> Fault:
    status, message = error.status_code, _message(error)
    said = _quote(message, profile)
    if status in (401, 403):
        variable = profile.api_key_env
        return Fault(
            ModelError(
                f"{profile.base_url} refused the key (status {status}).",
                f"Check {variable} in .env." if variable else f"Give the profile an api_key_env in {profile.file}.",
            ),
            "key refused",
        )
    if status == 402 or "insufficient_quota" in (str(error.code), message):
        return Fault(
            ModelError(f"{where} wants payment: {said}", "Check the account's credit, or choose another model."),
            "no credit",
        )
    if status in (400, 413, 422, 500) and _is_too_long(f"{error.code} {message}"):
        return Fault(_too_long(where), "request too long")
    is_refused = any(word in message.lower() for word in _REFUSED)
    if status == 404 and not is_refused:
        return Fault(
            ModelError(
                f"There is no model {where} (status 404: {said})",
                f"Check the model's name and the address in {profile.file}; a local model may have to be pulled first.",
            ),
            "no such model",
        )
    if status in (400, 404, 405, 415, 422, 501) or (status == 500 and is_refused):
        if "content_filter" in str(error.code) or "content management policy" in message.lower():
            return Fault(
                ModelError(f"{where} refused the request by its content filter.", "Put the task in other words."),
                "content filter",
            )
        return Fault(
            RequestRefusedError(
                f"{where} refused the request (status {status}): {said}", f"Check the profile in {profile.file}."
            ),
            "request refused",
        )
    reason = "rate limit" if status == 429 else f"status {status}"
    hint = "Wait a little, or choose another model." if status == 429 else "Try again later, or another model."
    return Fault(
        ModelError(f"{where} answered with status {status}: {said}", hint),
        reason,
        "yes" if status in (408, 409, 425, 429) or status >= 500 else "no",
        _retry_after(error.response.headers),
    )


def _too_long(where: str) -> ContextLengthError:
    return ContextLengthError(
        f"The conversation is longer than {where} takes.", "Start a /new one, or choose a model with a larger window."
    )


def _is_too_long(message: str) -> bool:
    lower = message.lower()
    return any(words in lower for words in _TOO_LONG)


def _message(error: openai.APIStatusError) -> str:
    body: Any = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        body = inner.get("message", inner) if isinstance(inner, dict) else inner
        if not isinstance(body, (dict, list)):
            return str(body)
    return str(body or error.message)


def _quote(message: str, profile: Profile) -> str:
    """The endpoint's own words on one line, short, and without the key."""
    key = profile.api_key.get_secret_value()
    if key != NO_KEY:
        message = message.replace(key, "***")
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    return line if len(line) <= 300 else line[:299] + "…"


def _is_refused(error: BaseException | None) -> bool:
    """Whether a refused connection is what it comes from; that of one of several addresses counts, too."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError) or any(map(_is_refused, getattr(error, "exceptions", ()))):
            return True
        error = error.__cause__ or error.__context__
    return False


def _root(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split()) or type(error).__name__


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds that the endpoint asks to wait: `retry-after-ms`, `retry-after` in seconds or as a date."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
