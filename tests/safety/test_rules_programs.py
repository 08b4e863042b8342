"""Twenty ordinary programs, of the kinds that people ask for: none is flagged."""

from __future__ import annotations

from pathlib import Path

import pytest

from safety.rules import review

PROGRAMS = sorted((Path(__file__).parent / "programs").iterdir())
LANGUAGES = {".py": "python", ".sh": "bash"}


def test_there_are_twenty() -> None:
    assert len([path for path in PROGRAMS if path.suffix in LANGUAGES]) == 20


@pytest.mark.parametrize("path", [path for path in PROGRAMS if path.suffix in LANGUAGES], ids=lambda path: path.name)
def test_ordinary_program_is_allowed(path: Path) -> None:
    verdict, findings = review(LANGUAGES[path.suffix], path.read_text(encoding="utf-8"))
    assert (verdict, findings) == ("allow", ())
