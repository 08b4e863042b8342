"""Planted secrets, whole and in pieces."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.redaction import Redactor

SECRET = "pl4nted-Secret/Value+42=="

KEYS = {
    "openai": "sk-" + "aB3" * 10,
    "openai project": "sk-proj-" + "x_Y-9" * 8,
    "anthropic": "sk-ant-api03-" + "Zz9_" * 10,
    "github": "ghp_" + "a1B2" * 9,
    "github app": "ghs_" + "a1B2" * 9,
    "github fine": "github_pat_" + "a1B2_" * 12,
    "aws": "AKIA" + "ABCDEFGH12345678",
    "aws temporary": "ASIA" + "ABCDEFGH12345678",
    "google": "AIza" + "a" * 35,
    "slack": "xoxb-123456789012-abcdefABCDEF",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\ndef==\n-----END RSA PRIVATE KEY-----",
    "pem cut": "-----BEGIN PRIVATE KEY-----\nMIIEabc\ndef",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize("around", ["{}", "key={}", 'x = "{}"\n', "({})", "\n{}\n", "Bearer {}", "a {}, b"])
def test_keys_are_known_by_their_shape(key: str, around: str) -> None:
    text = around.format(key)
    cleaned = Redactor().clean(text)
    assert "[redacted:" in cleaned
    assert key not in cleaned
    assert key[-8:] not in cleaned
    assert Redactor().may_hold_secret(json.dumps(text))
    assert Redactor().holds_secret(b"\x00\xff" + text.encode())


def test_other_shapes() -> None:
    redactor = Redactor()
    assert redactor.clean("postgres://me:hunter22@host/db") == "postgres://[redacted:password in a url]@host/db"
    assert redactor.clean("Authorization: Bearer abcdefghijklmnopqrstuvwxyz") == (
        "Authorization: Bearer [redacted:bearer token]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "the task-runner disk-cleaner of risk-averse-people-everywhere",
        "sk-learn and sk-image",
        "https://example.org:8080/path?a=b",
        "see http://localhost:11434/v1 and mail@example.org",
        "AKIA is a prefix; so is AIza, ghp_ and xoxb-",
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
        "Bearer of bad news",
        "def f(x): return {'a://b': c@d}",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert Redactor({"MY_KEY": SECRET}).clean(text) is text


def test_which_variables_are_secret() -> None:
    environ = {
        "OPENAI_API_KEY": "value-of-key-1",
        "my_token": "value-of-token",
        "DB_PASSWORD": "value-of-password",
        "AWS_SECRET_ACCESS": "value-of-secret",
        "HOME": "/home/somebody",
        "SSH_KEY_PATH": "/home/somebody/.ssh/id",
        "SHORT_KEY": "abc",
        "EMPTY_TOKEN": "",
        "LANG": "en_US.UTF-8",
    }
    text = " ".join(environ.values())
    assert Redactor.from_environ(environ).clean(text) == (
        "[redacted:OPENAI_API_KEY] [redacted:my_token] [redacted:DB_PASSWORD] [redacted:AWS_SECRET_ACCESS]"
        " /home/somebody /home/somebody/.ssh/id abc  en_US.UTF-8"
    )


def test_a_secret_within_a_secret_the_longer_goes_first() -> None:
    redactor = Redactor({"A_KEY": "abcdefgh", "B_KEY": "abcdefgh-and-more"})
    assert redactor.clean("abcdefgh-and-more abcdefgh") == "[redacted:B_KEY] [redacted:A_KEY]"


def test_other_forms_of_a_value() -> None:
    redactor = Redactor({"A_KEY": "a b/c?d&e=f"})
    assert redactor.clean("GET /x?key=a%20b%2Fc%3Fd%26e%3Df") == "GET /x?key=[redacted:A_KEY]"
    padded = Redactor({"A_KEY": " padded-value\n"})
    assert padded.clean("x padded-value y") == "x [redacted:A_KEY] y"


def test_data_is_cleaned_to_its_depth() -> None:
    data = {"a": [{"b": (SECRET, 1, None, True, 2.5)}], SECRET: "key"}
    cleaned = Redactor({"K_KEY": SECRET}).clean_data(data)
    assert cleaned == {"a": [{"b": ["[redacted:K_KEY]", 1, None, True, 2.5]}], "[redacted:K_KEY]": "key"}


@given(st.text(min_size=8, max_size=30), st.text(max_size=40), st.text(max_size=40))
def test_a_document_that_holds_a_secret_never_passes_the_quick_look(secret: str, before: str, after: str) -> None:
    redactor = Redactor({"A_KEY": secret})
    for ascii_only in (True, False):
        document = json.dumps({"x": [before + secret + after]}, ensure_ascii=ascii_only)
        assert redactor.may_hold_secret(document)


@given(st.lists(st.integers(1, 30), max_size=8), st.sampled_from([SECRET, KEYS["pem"], KEYS["slack"]]))
def test_a_secret_in_pieces_never_comes_out(cuts: list[int], secret: str) -> None:
    text = f"before {secret} after, and {secret} again"
    clean = Redactor({"A_KEY": secret}).stream()
    out, place = [], 0
    for cut in [*cuts, len(text)]:
        out.append(clean(text[place : place + cut]))
        place += cut
    joined = "".join(out)
    assert secret not in joined
    for length in range(8, len(secret)):
        assert secret[:length] not in joined
        assert secret[-length:] not in joined
    assert joined.startswith("before ")
    assert joined.endswith(" again")


@given(st.lists(st.text(max_size=50), max_size=10))
def test_a_stream_without_secrets_stays_as_it_is(pieces: list[str]) -> None:
    clean = Redactor({"A_KEY": "\U0001f511secret-of-this-test"}).stream()
    assert [clean(piece) for piece in pieces] == pieces


def test_binary_files_without_secrets_are_no_secrets() -> None:
    redactor = Redactor({"A_KEY": SECRET})
    assert not redactor.holds_secret(bytes(range(256)) * 1000)
    assert not redactor.holds_secret(base64.b64encode(bytes(range(256)) * 100))
    assert redactor.holds_secret(b"\xff" * 1000 + SECRET.encode())
