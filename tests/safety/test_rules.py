"""Every rule against its own examples, both ways."""

from __future__ import annotations

import pytest

from safety.rules import all_rules, review
from safety.rules.rule import Rule


def judge(example: str) -> set[str]:
    """The rules that an example sets off; a first line `#!bash` marks shell."""
    language = "bash" if example.startswith("#!bash\n") else "python"
    return {finding.rule for finding in review(language, example.removeprefix("#!bash\n"))[1]}


BAD = [
    pytest.param(rule, example, id=f"{rule.id}-{count}")
    for rule in all_rules()
    for count, example in enumerate(rule.bad)
]
GOOD = [
    pytest.param(rule, example, id=f"{rule.id}-{count}")
    for rule in all_rules()
    for count, example in enumerate(rule.good)
]


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_rule_flags_its_bad_examples(rule: Rule, example: str) -> None:
    assert rule.id in judge(example)


@pytest.mark.parametrize(("rule", "example"), GOOD)
def test_rule_leaves_its_good_examples_alone(rule: Rule, example: str) -> None:
    assert rule.id not in judge(example)


def test_identifiers_are_unique_and_every_rule_says_why() -> None:
    rules = all_rules()
    assert len({rule.id for rule in rules}) == len(rules)
    assert all(rule.why.endswith(".") and "\n" not in rule.why for rule in rules)
