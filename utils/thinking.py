"""Reasoning that a model shows before its answer: told apart from the words, while they stream and afterwards.

Only a thought at the very beginning counts. A tag further on is text like any other, so that code which holds one is
never eaten. (AutoGen's client strips the *characters* of the tags from both ends of a thought: not used.)
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["thought", "words"]

OPEN = "<think>"
CLOSE = "</think>"

_TAGS = {OPEN: CLOSE, "<thinking>": "</thinking>", "<thought>": "</thought>", "[THINK]": "[/THINK]"}
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


class ThinkSplitter:
    """Splits a stream of text. Pieces that may turn out to be part of a tag are held back until that is known."""

    def __init__(self) -> None:
        self._held = ""
        self._close = ""
        self._state: Literal["start", "thought", "words"] = "start"
        self._seen_thought = False

    def feed(self, text: str) -> list[tuple[Kind, str]]:
        """Take the next piece of the stream; return what can be shown now, in order."""
        self._held += text
        pieces: list[tuple[Kind, str]] = []
        while self._held:
            if self._state == "words":
                pieces.append(("words", self._held))
                self._held = ""
            elif self._state == "thought":
                if not self._read_thought(pieces):
                    break
            elif not self._read_start():
                break
        return pieces

    def finish(self) -> list[tuple[Kind, str]]:
        """Return what was held back, at the end of the stream."""
        kind: Kind = "thought" if self._state == "thought" else "words"
        held, self._held = self._held, ""
        return [(kind, held)] if held and (held.strip() or not self._seen_thought) else []

    def _read_start(self) -> bool:
        """Whether the beginning could be read: a tag, or words."""
        text = self._held.lstrip()
        for tag, close in _TAGS.items():
            if text.startswith(tag):
                self._held, self._close, self._state, self._seen_thought = text[len(tag) :], close, "thought", True
                return True
        if any(tag.startswith(text) for tag in _TAGS):
            return False
        self._state = "words"
        if self._seen_thought:
            self._held = self._held.lstrip()
        return True

    def _read_thought(self, pieces: list[tuple[Kind, str]]) -> bool:
        """Whether the end of the thought was found."""
        thought, found, rest = self._held.partition(self._close)
        if found:
            if thought:
                pieces.append(("thought", thought))
            self._held, self._state = rest, "start"
            return True
        keep = next((n for n in range(len(self._close) - 1, 0, -1) if self._held.endswith(self._close[:n])), 0)
        ready, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        if ready:
            pieces.append(("thought", ready))
        return False


def split_thought(text: str) -> tuple[str, str]:
    """Split a whole message into its leading thought and its words; the thought is empty where there is none.

    Some chat templates open the thought in the prompt, so that the message has only the closing tag: everything before
    it is the thought, unless the tag stands in code.
    """
    splitter = ThinkSplitter()
    pieces = splitter.feed(text) + splitter.finish()
    thought = "".join(piece for kind, piece in pieces if kind == "thought")
    words = "".join(piece for kind, piece in pieces if kind == "words")
    if not thought and OPEN not in words:
        before, found, after = words.partition(CLOSE)
        if found and not _is_in_code(before):
            return before.strip(), after.lstrip()
    return thought.strip(), words


def _is_in_code(before: str) -> bool:
    """Whether the text after `before` stands in a fence or in inline code."""
    line = before.rpartition("\n")[2]
    return len(_FENCE.findall(before)) % 2 == 1 or line.count("`") % 2 == 1
