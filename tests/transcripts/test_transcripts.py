"""Thirty ordinary conversations, one readable file each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transcripts.play import DIRECTORY, Transcript, play

TRANSCRIPTS = sorted(DIRECTORY.glob("*.yaml"))


def test_there_are_thirty() -> None:
    assert len(TRANSCRIPTS) >= 30


@pytest.mark.docker
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
async def test_transcript(path: Path, tmp_path: Path) -> None:
    transcript = Transcript.load(path)
    (await play(transcript, tmp_path)).check(transcript.expect)
