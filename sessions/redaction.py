"""Secrets are replaced by a mark before anything is stored, logged or exported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

SHORTEST_SECRET = 8
"""Characters. A shorter value of a variable is no secret worth the name and would be found in ordinary words."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_PLACE_NAME = re.compile(r"(?:PATH|FILE|DIR|DIRECTORY|HOME|SOCK|COUNT|LIMIT|MAP)$", re.IGNORECASE)

_SHAPES: tuple[tuple[str, str], ...] = (
    ("private key", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)"),
    ("api key", r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{16,}"),
    ("github token", r"(?<![A-Za-z0-9_])(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})"),
    ("aws key", r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])"),
    ("google key", r"(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}"),
    ("slack token", r"(?<![A-Za-z0-9])xox[abeprs]-[A-Za-z0-9-]{10,}"),
    ("bearer token", r"(?<=[Bb]earer )[A-Za-z0-9._~+/-]{20,}=*"),
    ("password in a url", r"(?<=://)[^\s/:@\"'<>]*:[^\s/@\"'<>]{3,}(?=@)"),
)
_HINT = re.compile(
    r"PRIVATE KEY|sk-[A-Za-z0-9_-]{16}|gh[pousr]_|github_pat_|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza|xox[abeprs]-|[Bb]earer |://[^\s/:@]*:"
)


class Redactor:
    """Replaces known secret values and texts that have the shape of a key by `[redacted:NAME]`.

    `secrets` maps a name that may be shown to a value that may not. Values shorter than `SHORTEST_SECRET` are left
    alone.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        names: dict[str, str] = {}
        for name, value in (secrets or {}).items():
            for form in (value, value.strip(), quote(value, safe="")):
                if len(form) >= SHORTEST_SECRET:
                    names.setdefault(form, name)
        self._names = names
        values = sorted(names, key=len, reverse=True)
        self._longest = max(map(len, values), default=0)
        self._values = re.compile("|".join(map(re.escape, values))) if values else None
        shapes = "|".join(f"(?P<s{place}>{pattern})" for place, (_, pattern) in enumerate(_SHAPES))
        self._shapes = re.compile(shapes)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Redactor:
        """Take the values of the variables whose names say that they hold a secret (key, token, secret, password)."""
        return cls(
            {
                name: value
                for name, value in environ.items()
                if _SECRET_NAME.search(name) and not _PLACE_NAME.search(name)
            }
        )

    def clean(self, text: str) -> str:
        """The text with every secret replaced by a mark; the very same object where there is none."""
        if self._values is not None and self._values.search(text):
            text = self._values.sub(lambda found: f"[redacted:{self._names[found.group()]}]", text)
        if _HINT.search(text):
            text = self._shapes.sub(_shape_mark, text)
        return text

    def clean_data(self, data: Any) -> Any:
        """The same for every string in lists, tuples and dictionaries, their keys included."""
        if isinstance(data, str):
            return self.clean(data)
        if isinstance(data, Mapping):
            return {self.clean_data(key): self.clean_data(value) for key, value in data.items()}
        if isinstance(data, list | tuple):
            return [self.clean_data(value) for value in data]
        return data

    def holds_secret(self, data: bytes) -> bool:
        """Whether a known secret value or a key's shape stands in the bytes of a file."""
        return self.clean(text := data.decode("utf-8", "replace")) is not text

    def clean_piece(self, before: str, piece: str) -> str:
        """Clean a piece of a stream that began with `before`, the true text of the pieces before it.

        A secret that began there ends here: its end is replaced too. A start of a known value at the very end is
        replaced as well, since the next piece may complete it.
        """
        joined = before + piece
        spans = [(found.start(), found.end(), self._names[found.group()]) for found in self._found_values(joined)]
        spans += [
            (found.start(), found.end(), _shape_name(found))
            for found in (self._shapes.finditer(joined) if _HINT.search(joined) else ())
        ]
        if start := self._unfinished(joined):
            spans.append((len(joined) - start, len(joined), "cut secret"))
        return _mark_spans(joined, spans, len(before)) if spans else piece

    @property
    def reach(self) -> int:
        """Characters of a stream to keep as `before` for `clean_piece`."""
        return max(self._longest, 256)

    def _found_values(self, text: str) -> list[re.Match[str]]:
        return list(self._values.finditer(text)) if self._values is not None else []

    def _unfinished(self, text: str) -> int:
        """Length of the longest start of a known value (6 characters at least) that the text ends with, else 0."""
        best = 0
        for value in self._names:
            for length in range(min(len(value) - 1, len(text)), max(best, 5), -1):
                if text.endswith(value[:length]):
                    best = length
                    break
        return best


def _shape_name(found: re.Match[str]) -> str:
    return _SHAPES[int((found.lastgroup or "s0")[1:])][0]


def _shape_mark(found: re.Match[str]) -> str:
    return f"[redacted:{_shape_name(found)}]"


def _mark_spans(text: str, spans: list[tuple[int, int, str]], start: int) -> str:
    """The text from `start` on, with a mark for each span that reaches into it."""
    parts: list[str] = []
    place = start
    for first, end, name in sorted(spans):
        if end <= place:
            continue
        parts += [text[place : max(first, place)], f"[redacted:{name}]"]
        place = end
    return "".join([*parts, text[place:]])
