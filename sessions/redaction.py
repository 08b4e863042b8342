"""Secrets are replaced by a mark before anything is stored, logged or exported."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from sessions.secret_shapes import SHAPES

SHORTEST_SECRET = 8
"""Characters. A shorter value of a variable is no secret worth the name and would be found in ordinary words."""

_SHORTEST_START = 6
"""Characters of a known secret at the end of a piece of output that are taken for its start."""

_REACH = 4096
"""Characters of a stream that may belong to a secret which goes on in the next piece: a private key in PEM form."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_PLACE_NAME = re.compile(r"(?:PATH|FILE|DIR|DIRECTORY|HOME|SOCK|COUNT|LIMIT|MAP)$", re.IGNORECASE)


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
        self._names = {value: names[value] for value in sorted(names, key=len, reverse=True)}
        self._signs = (
            *(json.dumps(value, ensure_ascii=ascii_only)[1:-1] for value in names for ascii_only in (False, True)),
            *(shape.sign for shape in SHAPES),
        )

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
        for value, name in self._names.items():
            if value in text:
                text = text.replace(value, f"[redacted:{name}]")
        for shape in SHAPES:
            if shape.sign in text:
                cleaned = shape.pattern.sub(f"[redacted:{shape.name}]", text)
                text = cleaned if cleaned != text else text
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

    def may_hold_secret(self, document: str) -> bool:
        """A quick look at a JSON document: False only where `clean_data` would change nothing of what it holds."""
        return any(sign in document for sign in self._signs)

    def holds_secret(self, data: bytes) -> bool:
        """Whether a known secret value or a key's shape stands in the bytes of a file."""
        if any(value.encode("utf-8", "surrogatepass") in data for value in self._names):
            return True
        return any(shape.sign.encode() in data and shape.in_bytes.search(data) for shape in SHAPES)

    def clean_piece(self, before: str, piece: str) -> str:
        """Clean a piece of a stream that began with `before`, the true text of the pieces before it.

        A secret that began there ends here: its end is replaced too. A start of a known value at the very end is
        replaced as well, since the next piece may complete it.
        """
        joined = before + piece
        spans = [
            (found.start(), found.end(), name)
            for value, name in self._names.items()
            if value in joined
            for found in re.finditer(re.escape(value), joined)
        ]
        spans += [
            (found.start(), found.end(), shape.name)
            for shape in SHAPES
            if shape.sign in joined
            for found in shape.pattern.finditer(joined)
        ]
        for value, name in self._names.items():
            if length := _length_of_start(joined, value):
                spans.append((len(joined) - length, len(joined), name))
        return _mark_spans(joined, spans, len(before))

    def stream(self) -> Callable[[str], str]:
        """A function that cleans one stream's pieces, in the order in which they come."""
        before = ""

        def clean(piece: str) -> str:
            nonlocal before
            cleaned = self.clean_piece(before, piece)
            before = (before + piece)[-_REACH:]
            return cleaned

        return clean


def _length_of_start(text: str, value: str) -> int:
    """Length of the longest start of `value`, not the whole of it, that the text ends with; 0 below the least."""
    place = text.find(value[:_SHORTEST_START], max(0, len(text) - len(value) + 1))
    while place >= 0:
        if value.startswith(text[place:]):
            return len(text) - place
        place = text.find(value[:_SHORTEST_START], place + 1)
    return 0


def _mark_spans(text: str, spans: list[tuple[int, int, str]], start: int) -> str:
    """The text from `start` on, with a mark for each span that reaches into it."""
    parts: list[str] = []
    place = start
    for first, end, name in sorted(spans):
        if end > place:
            parts += [text[place : max(first, place)], f"[redacted:{name}]"]
            place = end
    return "".join([*parts, text[place:]])
