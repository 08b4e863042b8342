from benchmarks.__main__ import GROUPS, main
from benchmarks.rows import compare, median, not_measured, table


def test_a_ratio_is_held_to_its_bar() -> None:
    assert compare("block, ms", 2, 10, "theirs", "<= 0.25").met
    assert not compare("block, ms", 3, 10, "theirs", "<= 0.25").met
    assert compare("blocks a second", 50, 10, "theirs", ">= 4.5").met


def test_the_first_figure_only_warms_up() -> None:
    assert median([900, 1, 2, 3]) == 2


def test_what_was_not_measured_says_why_and_is_not_met() -> None:
    row = not_measured("block, ms", "<= 1", "theirs does not start:\n" + "at length " * 100 + "no such network")
    assert not row.met
    assert (row.ours, row.peer, row.ratio) == (None, None, None)
    assert row.note.startswith("not measured: theirs does not start: ")
    assert row.note.endswith("no such network")
    assert len(row.note) < 300
    assert table([row]).splitlines()[1].startswith("NO  block, ms")


def test_the_others_come_last_and_a_group_that_is_not_there_is_refused() -> None:
    assert list(GROUPS)[-1] == "others"
    assert main(["nowhere"]) == 2
