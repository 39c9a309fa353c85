import socket
import sys
from pathlib import Path

import pytest

from lcc_sidecar.limits import CAUTIOUS_CHARS_PER_TOKEN
from lcc_sidecar.transcript.tokens import token_counter


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("something asked for the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("no_network")
def test_an_exact_count_comes_from_the_vocabulary_in_the_wheel(isolated_home: Path):
    counter = token_counter("exact")

    assert counter.method == "exact: o200k_base"
    assert counter.count(["hello world", "hello"]) == 3
    [kept] = (isolated_home / "lcc" / "cache").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("no_network")
def test_the_fast_form_counts_the_same():
    text = "def f(x):\n    return x * 2  # ünïcode 漢字\n" * 50
    first = token_counter("exact").count([text])

    assert token_counter("exact").count([text]) == first
    assert first > 500


def test_a_damaged_fast_form_is_passed_over(isolated_home: Path):
    token_counter("exact")
    [kept] = (isolated_home / "lcc" / "cache").iterdir()
    kept.write_bytes(b"\x91")

    assert token_counter("exact").count(["hello world"]) == 2


def test_special_tokens_and_half_emoji_are_ordinary_text():
    assert token_counter("exact").count(["<|endoftext|>"]) > 1
    assert token_counter("exact").count(["half \ud83d emoji"]) > 1


def test_without_a_vocabulary_the_heuristic_counts_and_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "bpe_openai.registry", None)

    counter = token_counter("exact")

    assert counter.method.startswith("heuristic")
    assert counter.count(["x" * 220]) == round(220 / CAUTIOUS_CHARS_PER_TOKEN)


def test_an_estimate_names_itself():
    assert token_counter("estimate").method.startswith("estimate")


def test_a_million_spaces_are_counted():
    assert token_counter("exact").count([" " * 1_000_000]) > 0
