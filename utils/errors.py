"""The errors of the program, drawn as a tree.

Every one carries what happened (its message) and what to do (`hint`); an interface shows both on one line and never a
traceback.
"""

from __future__ import annotations

from collections.abc import Sequence

_CLOSING = "\"'`)]}»”’"
"""What may stand behind a sentence's last mark."""


def as_sentence(text: str) -> str:
    """The text with a full stop where it ends without a mark: what follows it must not read as a part of it."""
    text = text.rstrip()
    bare = text.rstrip(_CLOSING)
    return text if not bare or bare[-1] in ".!?…" else f"{text}."


class RoundtableError(Exception):
    """Something that the user can be told in one line.

    `message` says what happened, one sentence or more, with a full stop whatever it quotes at its end; `hint` what to
    do about it: a sentence, or a command behind a colon. `exit_status` is the status the program ends with when nothing
    handles the error.
    """

    exit_status = 1

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = as_sentence(message)
        super().__init__(self.message)
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class ConfigurationError(RoundtableError):
    """A setting, a file of settings, a prompt or an argument that cannot be used.

    `others` are what else is wrong in the same file, each to be told on a line of its own.
    """

    exit_status = 2

    def __init__(self, message: str, hint: str = "", *, others: Sequence[ConfigurationError] = ()) -> None:
        super().__init__(message, hint)
        self.others = tuple(others)

    def __str__(self) -> str:
        return " ".join([super().__str__(), *map(str, self.others)])


class ModelError(RoundtableError):
    """The model could not be reached, refused, or answered nothing usable after the retries."""


class ContextLengthError(ModelError):
    """The request was longer than the model takes."""


class RequestRefusedError(ModelError):
    """The endpoint does not take the request as it is: a parameter or a response format that it does not know."""


class StreamBrokenError(ModelError):
    """The answer broke off after a part of it was shown. The turn may be tried again, from the state before it."""


class SandboxError(RoundtableError):
    """The sandbox itself failed. Never a program's own failure, never shown as its output, never retried by itself."""


class ImageMissingError(SandboxError):
    """The sandbox image is not there."""


class NotApprovedError(RoundtableError):
    """The gate was asked for code that nobody approved, or approved otherwise."""


class StoreError(RoundtableError):
    """The session store could not be read or written."""


class SessionBusyError(StoreError):
    """Another program holds the session."""


class EndOfInputError(RoundtableError):
    """The input ended at a question: nobody is there to answer."""

    exit_status = 130
