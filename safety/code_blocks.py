"""The one parser of fenced code. The reviewer, the human and the executor see what it returns and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class CodeBlock:
    """One fenced block of a message that can be run."""

    index: int
    """Place among the runnable blocks of the message, from 0."""
    language: str
    """Canonical name, such as `python` or `bash`."""
    code: str
    """The exact text between the fences, with its line ends."""
    line: int = 0
    """Line of the first line of code in the message, from 1."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hexadecimal of language, NUL and the exact bytes (UTF-8, lone surrogates kept)."""
        return digest(self.language, self.code)


def digest(language: str, code: str) -> str:
    """SHA-256 in hexadecimal of language, NUL and the exact bytes of the code."""
    return hashlib.sha256(f"{language}\0{code}".encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ParsedMessage:
    """What a message holds, as CommonMark reads it."""

    blocks: tuple[CodeBlock, ...] = ()
    """The blocks that can be run, in order. Empty when the message has an unterminated fence."""
    unsupported: tuple[str, ...] = ()
    """Info strings of programming languages that cannot be run here, in order, to be named to the generator."""
    unterminated: bool = False
    """A fence was opened and never closed: nothing of the message runs."""


def parse(text: str, languages: Mapping[str, str]) -> ParsedMessage:
    """Read the fenced blocks of a message.

    `languages` maps a fence's name, in lower case, to the canonical name of a language that can be run here, such as
    `{"py": "python", "python": "python"}`. Fences named as data (`text`, `json`, `output`, none) are passed over.
    """
    raise NotImplementedError
