"""The shapes of well-known keys and tokens: what is taken for a secret wherever it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Shape:
    """One kind of key. `sign` is a text that every such key has, for a quick look before the pattern is tried."""

    name: str
    sign: str
    expression: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern for text."""
        return re.compile(self.expression)

    @cached_property
    def in_bytes(self) -> re.Pattern[bytes]:
        """The pattern for the bytes of a file."""
        return re.compile(self.expression.encode())


SHAPES: tuple[Shape, ...] = (
    Shape(
        "private key",
        "PRIVATE KEY-----",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
    ),
    Shape("api key", "sk-", r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{16,}"),
    *(
        Shape("github token", f"gh{kind}_", rf"(?<![A-Za-z0-9_])gh{kind}_[A-Za-z0-9]{{30,}}")
        for kind in ("p", "o", "u", "s", "r")
    ),
    Shape("github token", "github_pat_", r"(?<![A-Za-z0-9_])github_pat_[A-Za-z0-9_]{40,}"),
    Shape("aws key", "AKIA", r"(?<![A-Z0-9])AKIA[A-Z0-9]{16}(?![A-Z0-9])"),
    Shape("aws key", "ASIA", r"(?<![A-Z0-9])ASIA[A-Z0-9]{16}(?![A-Z0-9])"),
    Shape("google key", "AIza", r"(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}"),
    Shape("slack token", "xox", r"(?<![A-Za-z0-9])xox[abeprs]-[A-Za-z0-9-]{10,}"),
    Shape("bearer token", "earer ", r"(?<=[Bb]earer )[A-Za-z0-9._~+/-]{20,}=*"),
    Shape("password in a url", "://", r"(?<=://)[^\s/:@\"'<>{}\\]{0,64}:[^\s/@\"'<>{}\\]{3,128}(?=@)"),
)
"""Sources: the documented prefixes of OpenAI, Anthropic, GitHub, AWS, Google and Slack; RFC 7468, 6750 and 3986."""
