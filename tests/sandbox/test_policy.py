from pathlib import Path

import pytest
from pydantic import ValidationError

from sandbox.languages import TABLE, fence_names, find
from sandbox.policy import SandboxPolicy, load_policy
from utils.errors import ConfigurationError
from utils.image_recipe import languages as image_languages

ROOT = Path(__file__).resolve().parents[2]


def test_the_shipped_file_is_the_default_for_a_chat() -> None:
    assert load_policy(ROOT / "sandbox.yaml") == SandboxPolicy(warm=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timeout_s: 5\nmemry_mib: 3\n", r"sandbox\.yaml:2: unknown key 'memry_mib'\. Did you mean 'memory_mib'\?"),
        ("pids: 3\n", r"sandbox\.yaml:1: 'pids': .*greater than or equal to 16"),
        ("memory_mib: 300\n", r"sandbox\.yaml:1: .*= 960 MiB, but memory_mib is 300"),
        ("network: perhaps\n", r"sandbox\.yaml:1: 'network'"),
        ("user_id: 0\n", r"sandbox\.yaml:1: 'user_id'"),
        ("env: ['A=1']\n", r"'env': 'A=1' is not the name of a variable"),
        ("warm: true\nkernel: true\n", "exclude each other"),
        ("packages:\n  alow: []\n", r"sandbox\.yaml:2: unknown key 'packages\.alow'"),
        ("pids: [a\n", r"sandbox\.yaml:\d is not valid YAML"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "sandbox.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        load_policy(path)


def test_every_limit_tells_its_unit_and_range() -> None:
    for name, field in SandboxPolicy.model_fields.items():
        if field.annotation in (int, float):
            bounds = {type(item).__name__ for item in field.metadata}
            assert bounds == {"Ge", "Le"}, name


def test_the_digest_follows_what_is_permitted() -> None:
    assert SandboxPolicy().digest == SandboxPolicy().digest
    assert SandboxPolicy(network="ask").digest != SandboxPolicy().digest
    assert SandboxPolicy(timeout_s=61).digest != SandboxPolicy().digest


def test_a_policy_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        SandboxPolicy().network = "full"


def test_the_table_of_languages_and_the_image_agree() -> None:
    assert len(TABLE) == 15
    recipe = {language.name: (language.command, language.image) for language in image_languages("full")}
    assert {language.name for language in TABLE} == set(recipe)
    for language in TABLE:
        assert recipe[language.name][1] == language.image
    names = [name for language in TABLE for name in (language.name, *language.aliases)]
    assert len(names) == len(set(names)) == len(fence_names(language.name for language in TABLE))
    assert find("C++") is find("cpp")
    assert find("klingon") is None
