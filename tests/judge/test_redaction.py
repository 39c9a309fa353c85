import math
import time

import pytest

from lcc_sidecar.judge.redaction import REDACTED, redact, redact_value

SECRET = "s3cr3tV4lue0123456789"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("key sk-proj-abcdefghij0123456789 end", "sk-proj-abcdefghij0123456789"),
        ("ghp_" + "a1" * 18, "ghp_" + "a1" * 18),
        ("github_pat_" + "A1" * 12, "github_pat_" + "A1" * 12),
        ("glpat-abcdefghij0123456789", "glpat-abcdefghij0123456789"),
        ("xoxb-1234567890-abcdefghij", "xoxb-1234567890-abcdefghij"),
        ("AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
        ("hf_" + "aB3" * 9, "hf_" + "aB3" * 9),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "eyJzdWIiOiIx"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEow and no end", "MIIEow"),
        ("Authorization: Bearer abcdefgh1234", "abcdefgh1234"),
        ("authorization: basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("postgres://me:hunter2@db/x", "hunter2"),
        (f"DB_PASSWORD={SECRET}", SECRET),
        (f'"client_secret": "{SECRET}"', SECRET),
        ("password: 'correct horse'", "correct horse"),
        (f"export MY_API_KEY={SECRET}", SECRET),
        (f"mysql --password {SECRET}", SECRET),
        (f"login --token {SECRET}", SECRET),
        (f"NPM_TOKEN={SECRET}", SECRET),
        (r'curl -d "{\"password\":\"hunter2222\"}"', "hunter2222"),
        (r'"{\\\"password\\\": \\\"hunter 2222\\\"}"', "2222"),
        ("git clone https://0123456789abcdef0123456789abcdef01234567@h/x", "0123456789abcdef"),
        ("postgres://me:hun@ter2@db/x", "ter2"),
        ("curl -H 'Authorization: token short'", "short"),
        ('curl -H "Proxy-Authorization: hunter2"', "hunter2"),
        (r'"{\"Authorization\": \"token short\"}"', "short"),
        ("Cookie: session=hunter2; b=more2", "more2"),
        ("curl --cookie session=hunter2", "hunter2"),
        ("curl -u me:hunter2 http://h", "hunter2"),
        ("curl -u 'me:hunter2 more2' http://h", "more2"),
        ("curl --user=me:hunter2 http://h", "hunter2"),
        ("sshpass -p hunter2 ssh h", "hunter2"),
        ("'password' => 'hunter2'", "hunter2"),
        ("password := 'hunter2'", "hunter2"),
        ('setPassword("hunter2")', "hunter2"),
        (f"SECRET_{'OF_A_LONG_NAME' * 3}={SECRET}", SECRET),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBF\n-----END PGP", "lQOYBF"),
    ],
)
def test_what_looks_like_a_credential_goes(text: str, secret: str):
    assert secret not in redact(text)
    assert REDACTED in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "the password is required here",
        "def test_tokens(): max_tokens = 25000",
        "toolu_01AbCdEfGhIjKlMnOpQrStUv",
        "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        "https://example.com/a/b?x=1",
        "tokens = counter.count(before.texts())",
        "a basic idea",
        "git clone ssh://git@github.com/a/b",
        "def get_password(user): return cookie_jar",
        "sort -u file.txt; git push -u origin main",
        "the authorization of users and their cookies",
    ],
)
def test_everyday_text_stays(text: str):
    assert redact(text) == text


def test_values_of_inputs_go_by_their_names_too():
    value = {"password": "abc", "env": {"API_KEY": "xyz", "n": 1}, "list": [f"token={SECRET}"]}

    assert redact_value(value) == {
        "password": REDACTED,
        "env": {"API_KEY": REDACTED, "n": 1},
        "list": [f"token={REDACTED}"],
    }


@pytest.mark.parametrize(
    "value",
    [
        {"password": ["hunter2"]},
        {"api_key": {"value": "hunter2", "more": [{"x": "hunter2"}]}},
        {"env": [{"name": "DB_PASSWORD", "value": "hunter2"}]},
        {"headers": {"Proxy-Authorization": "hunter2", "Cookie": "a=hunter2"}},
        {"x": ("password=hunter2",)},
    ],
    ids=str,
)
def test_nothing_below_a_secrets_name_stays(value: object):
    assert "hunter2" not in str(redact_value(value))


def test_a_number_that_json_cannot_write_is_null():
    value = {"a": math.nan, "b": [math.inf, -math.inf], "c": 1.5, "d": 10**400, "e": True}

    assert redact_value(value) == {"a": None, "b": [None, None], "c": 1.5, "d": 10**400, "e": True}


def test_names_of_authors_stay():
    assert redact_value({"author": "me", "authors": ["you"]}) == {
        "author": "me",
        "authors": ["you"],
    }


def test_an_input_nested_without_end_is_bounded():
    value: dict[str, object] = {}
    for _ in range(500):
        value = {"x": value}

    assert str(redact_value(value)).count("{") < 100


@pytest.mark.parametrize(
    "text",
    ["-" * 200_000, "_" * 200_000, "a" * 200_000, "token " * 40_000, "://" * 60_000,
     "-----BEGIN PRIVATE KEY-----" * 8000, "eyJaaaaaaaaa." * 16_000, "password=" * 20_000,
     "password='" * 20_000, "secret" * 40_000, "password:\\" * 20_000, "cookie:" * 30_000,
     "authorization: a" * 15_000, "-u a:" * 40_000, "-u a:b" * 30_000, "sshpass -p a" * 15_000,
     "--cookie " * 20_000, "://a:" * 40_000, "-u 'a:b " * 20_000,
     "password=\"aaaa 'aaaa " * 10_000],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_hostile_text_takes_no_more_than_its_length(text: str):
    began = time.process_time()
    redact(text)

    assert time.process_time() - began < 2
