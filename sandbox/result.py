"""What a block printed, put together while it comes."""

from __future__ import annotations

import codecs
from typing import Literal

from sandbox.base import OnOutput

Stream = Literal["stdout", "stderr"]
_STREAMS: dict[int, Stream] = {1: "stdout", 2: "stderr"}
_decoder = codecs.getincrementaldecoder("utf-8")


class Output:
    """Both streams as one text, decoded with replacement."""

    def __init__(self, on_output: OnOutput | None) -> None:
        self._on_output = on_output
        self._decoders = {number: _decoder("replace") for number in _STREAMS}
        self._pieces: list[str] = []

    def add(self, number: int, data: bytes) -> None:
        """Take a piece of a stream and pass its text on."""
        self._emit(number, self._decoders[number].decode(data))

    def cut(self, dropped: int) -> None:
        """Mark the place where the middle is missing."""
        self._finish()
        if dropped:
            self._emit(1, f"\n[... {dropped} bytes of output left out ...]\n")

    def _finish(self) -> None:
        for number, decoder in self._decoders.items():
            self._emit(number, decoder.decode(b"", final=True))
            decoder.reset()

    def _emit(self, number: int, text: str) -> None:
        if not text:
            return
        self._pieces.append(text)
        if self._on_output is not None:
            self._on_output(_STREAMS[number], text)

    def text(self) -> str:
        """All of it."""
        self._finish()
        return "".join(self._pieces)
