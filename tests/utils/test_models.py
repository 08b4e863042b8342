from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from utils.errors import ConfigurationError
from utils.model_profiles import Prices, ProfileSettings
from utils.models import Models, create_client
from utils.settings import ROOT

KEYS = {
    "OPENAI_API_KEY": "sk-planted-openai",
    "ANTHROPIC_API_KEY": "k",
    "GEMINI_API_KEY": "k",
    "OPENROUTER_API_KEY": "k",
    "AZURE_OPENAI_API_KEY": "k",
    "AZURE_OPENAI_ENDPOINT": "https://name.openai.azure.com",
    "AZURE_OPENAI_DEPLOYMENT": "mine",
}


def shipped(**environ: str) -> Models:
    return Models.load(ROOT / "models.yaml", environ)


def written(tmp_path: Path, text: str, **environ: str) -> Models:
    path = tmp_path / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return Models.load(path, environ)


@pytest.mark.parametrize(
    ("name", "base_url"),
    [
        ("openai", "https://api.openai.com/v1"),
        ("azure", "https://name.openai.azure.com"),
        ("anthropic", "https://api.anthropic.com/v1"),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("openrouter", "https://openrouter.ai/api/v1"),
        ("ollama", "http://localhost:11434/v1"),
        ("server", "http://localhost:8080/v1"),
        ("demo", ""),
    ],
)
def test_every_shipped_profile_works_as_it_stands(name: str, base_url: str) -> None:
    profile = shipped(**KEYS).resolve(name)
    assert profile.base_url == base_url
    assert profile.model


def test_the_default_is_openai_and_serves_any_endpoint() -> None:
    assert shipped(**KEYS).resolve().base_url == "https://api.openai.com/v1"
    own = shipped(OPENAI_BASE_URL="http://10.0.0.7:9000/v1/", OPENAI_MODEL="mine").resolve()
    assert (own.base_url, own.model) == ("http://10.0.0.7:9000/v1", "mine")


def test_an_endpoint_of_ones_own_needs_no_key() -> None:
    assert shipped(OPENAI_BASE_URL="https://models.example.org/v1").resolve().api_key.get_secret_value() == "none"
    assert shipped().resolve("ollama").api_key.get_secret_value() == "none"


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://eu.api.openai.com/v1"])
def test_openai_itself_needs_a_key_by_whatever_address(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY is not set.*\.env"):
        shipped(OPENAI_BASE_URL=url).resolve()


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("azure", "AZURE_OPENAI_ENDPOINT"),
        ("", "OPENAI_API_KEY"),
        ("gpt-99", "OPENAI_API_KEY"),
    ],
)
def test_a_missing_key_is_named_with_the_place_for_it(name: str, variable: str) -> None:
    with pytest.raises(ConfigurationError, match=variable) as error:
        shipped().resolve(name)
    assert ".env" in error.value.hint
    assert error.value.exit_status == 2
    assert "\n" not in str(error.value)


def test_an_empty_key_counts_as_missing() -> None:
    assert not shipped(OPENAI_API_KEY="  ").is_ready()
    assert shipped(OPENAI_API_KEY="k").is_ready()


@pytest.mark.parametrize(
    ("name", "model", "host"),
    [
        ("gpt-99-turbo", "gpt-99-turbo", "api.openai.com"),
        ("llama3.3:70b", "llama3.3:70b", "api.openai.com"),
        ("ollama:qwen3:8b", "qwen3:8b", "localhost"),
        ("openrouter:meta-llama/llama-4", "meta-llama/llama-4", "openrouter.ai"),
    ],
)
def test_any_model_name_is_taken(name: str, model: str, host: str) -> None:
    profile = shipped(**KEYS).resolve(name)
    assert profile.model == model
    assert host in profile.base_url


@pytest.mark.parametrize("name", ["olama", "opnai", "open router", "demo:gpt-4"])
def test_a_misspelt_profile_is_told(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Did you mean|Profiles:"):
        shipped(**KEYS).resolve(name)


def test_a_profile_for_an_agent_and_who_wins(tmp_path: Path) -> None:
    text = "default: a\nagents: {judge: b}\nprofiles:\n" + "".join(
        f"  {name}: {{base_url: 'http://localhost/v1', model: model-{name}}}\n" for name in "abcd"
    )
    models = written(tmp_path, text)
    assert models.for_agent("judge").model == "model-b"
    assert models.for_agent("writer").model == "model-a"
    assert models.for_agent("judge", chosen="c").model == "model-c"
    assert models.for_agent("judge", chosen="c", own="d").model == "model-d"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("default: a\nprofiles:\n  a: {base_url: [\n", r"models.yaml:\d+ is not valid YAML"),
        ("default: a\nprofiles:\n\ta: {}\n", r"models.yaml:3 is not valid YAML"),
        ("default: a\nprofiles:\n  a:\n    modle: x\n", r"models.yaml:4: unknown key 'profiles.a.modle'.*'model'"),
        ("defualt: a\nprofiles: {a: {}}\n", r"models.yaml:1: unknown key 'defualt'.*'default'"),
        ("profiles: {a: {}}\n", r"models.yaml: 'default' is missing"),
        ("default: b\nprofiles: {a: {}}\n", r"default profile 'b' is not among"),
        ("default: a\nprofiles:\n  a:\n    temperature: hot\n", r"models.yaml:4: 'profiles.a.temperature'"),
        ("default: a\nprofiles:\n  a:\n    temperature: 3\n", r"models.yaml:4: .*less than or equal to 2"),
        ("default: a\nprofiles:\n  a:\n    prices: {promt: 1}\n", r"models.yaml:4: unknown key.*'prompt'"),
        ("default: a\nprofiles:\n  a: {}\n  a: {}\n", r"models.yaml:4: the key 'a' is there twice"),
        ("- a\n- b\n", r"models.yaml"),
        ("", r"models.yaml"),
        ("default: a\nprofiles:\n  a:\n    when: 2026-99-99\n", r"models.yaml"),
    ],
)
def test_a_malformed_file_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as error:
        written(tmp_path, text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "nosuch:xx",
            r"no profile 'nosuch' in models.yaml.*Profiles: openai, .*For a .*: openai:nosuch:xx\.",
        ),
        ("olama:xx", r"Did you mean 'ollama:xx'\?"),
        (":xx", r"no profile ''"),
        ("nosuch:", r"no profile 'nosuch'"),
    ],
)
def test_what_stands_before_a_colon_must_be_a_profile(name: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        shipped(**KEYS).resolve(name)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("openai:nosuch:xx", "nosuch:xx"),
        ("llama3.2:3b", "llama3.2:3b"),
        ("mistral:latest", "mistral:latest"),
        ("qwen2.5-coder:0.5b-instruct-q4_K_M", "qwen2.5-coder:0.5b-instruct-q4_K_M"),
        ("deepseek/deepseek-r1:free", "deepseek/deepseek-r1:free"),
        ("ft:gpt-4o-mini:org::abc", "ft:gpt-4o-mini:org::abc"),
    ],
)
def test_a_models_own_name_may_hold_a_colon(name: str, model: str) -> None:
    assert shipped(**KEYS).resolve(name).model == model


@pytest.mark.parametrize("address", ["http://x.example:99999/v1", "http://[::1/v1", "http://x\\0y/v1"])
def test_a_profile_that_no_client_can_be_made_for_is_told(address: str, tmp_path: Path) -> None:
    text = f'default: a\nprofiles:\n  a: {{base_url: "{address}", model: m}}\n'
    with pytest.raises(ConfigurationError, match=r"profile 'a'"):
        create_client(written(tmp_path, text).resolve())


def test_all_that_is_wrong_is_told_in_the_files_order(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as error:
        written(tmp_path, "defualt: a\nprofiles:\n  a:\n    temperature: 3\n    max_tokens: none\n    modle: m\n")
    first, *others = (error.value, *error.value.others)
    told = [one.message.removeprefix(f"{tmp_path}/") for one in (first, *others)]
    assert [text.partition(": ")[0] for text in told] == [f"models.yaml:{line}" for line in (1, 4, 5, 6)]
    assert "unknown key 'defualt'" in told[0]
    assert all(text in str(error.value) for text in told)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is missing"):
        Models.load(tmp_path / "models.yaml", {})


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "models.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Models.load(tmp_path / "models.yaml", {})


def test_a_key_in_the_file_is_refused_and_not_shown(tmp_path: Path) -> None:
    text = "default: a\nprofiles:\n  a:\n    api_key_env: sk-planted-in-yaml\n"
    with pytest.raises(ConfigurationError, match="name of an environment variable") as error:
        written(tmp_path, text)
    assert "planted" not in str(error.value)


@pytest.mark.parametrize("url", ["localhost:8080/v1", "ftp://localhost", "http://"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ConfigurationError, match="not a URL"):
        shipped(OPENAI_BASE_URL=url).resolve()


def test_a_key_is_never_shown() -> None:
    models = shipped(**KEYS)
    profile = models.resolve()
    assert profile.api_key.get_secret_value() == "sk-planted-openai"
    for shown in (repr(profile), str(profile), str(profile.model_dump()), profile.model_dump_json(), repr(models)):
        assert "planted" not in shown


def test_the_file_shows_every_setting_with_its_default() -> None:
    text = (ROOT / "models.yaml").read_text(encoding="utf-8")
    missing = [name for name in ProfileSettings.model_fields if f" {name}:" not in text]
    assert not missing
    shown = dict(re.findall(r"# (\w+_s|retries|structured_output|stream_usage): (\w+) ", text))
    assert len(shown) >= 8
    for name, value in shown.items():
        default = ProfileSettings.model_fields[name].default
        assert yaml.safe_load(value) == default, name


def test_prices_give_a_cost() -> None:
    profile = shipped(**KEYS).resolve().model_copy(update={"prices": Prices(prompt=2.0, completion=10.0)})
    assert profile.cost(1_000_000, 100_000) == pytest.approx(3.0)


def test_profiles_are_read_without_the_libraries_that_take_long_to_import() -> None:
    program = (
        "import sys; from pathlib import Path; from utils.models import Models, create_client; import utils.prompts;"
        "import utils.model_probes; Models.load(Path('models.yaml'), {'OPENAI_API_KEY': 'k'}).resolve();"
        "print([name for name in ('autogen_core', 'autogen_ext', 'openai', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
