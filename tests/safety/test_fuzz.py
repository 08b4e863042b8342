"""The fuzz program: it runs, and it finds what is broken."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.__main__ import CORPUS, fuzz, main, read_seeds
from tests.fuzz.mutations import mutate
from tests.fuzz.targets import agree_with_cmark, look, pass_the_gate, read_message


def test_a_short_run_over_parser_gate_and_views_keeps_every_promise(tmp_path: Path) -> None:
    targets = (read_message, agree_with_cmark, pass_the_gate, look)
    assert fuzz(targets, read_seeds(CORPUS), seconds=2, seed=7, keep=tmp_path / "kept") == 0
    assert not (tmp_path / "kept").exists()


def test_a_broken_promise_is_found_shrunk_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def dislikes_tildes(text: str) -> None:
        assert "~~~~" not in text

    assert fuzz([dislikes_tildes], ["a~b\n", "x\n" * 50], seconds=30, seed=1, keep=tmp_path) == 1
    (kept,) = tmp_path.iterdir()
    assert json.loads(kept.read_text()) == {"dislikes_tildes": ["~~~~"]}
    assert "dislikes_tildes broke on '~~~~'" in capsys.readouterr().err
    assert read_seeds(tmp_path) == ["~~~~"]


def test_the_same_seed_makes_the_same_texts() -> None:
    seeds = read_seeds(CORPUS)
    first, second = ([mutate(random, seeds[0], seeds) for _ in range(50)] for random in (Random(3), Random(3)))
    assert first == second
    assert len(set(first)) > 40


def test_an_option_that_is_not_known_is_bad_usage() -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--minutes", "1"])
    assert stopped.value.code == 2
