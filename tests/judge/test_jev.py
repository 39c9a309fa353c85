import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from lcc_sidecar.compaction import compact
from lcc_sidecar.errors import JudgeError, UsageError
from lcc_sidecar.judge import jev
from lcc_sidecar.judge.jev import Jev
from lcc_sidecar.judge.key import Key
from lcc_sidecar.options import Options
from tests.build import call, conversation, used, user
from tests.judge.build import SECRET_OUTPUT, session
from tests.judge.conftest import KEY
from tests.judge.server import Service, dripping

QUESTIONS = {"keep_call_a": {"type": "noul", "instructions": "Does it matter?"}}


def ask(url: str | None = None) -> Any:
    service = Jev(Key(KEY), "jev-latest", url)
    try:
        return service.evaluate({"goal": "x"}, QUESTIONS)
    finally:
        service.close()


def test_a_request_is_what_the_service_expects(start: Callable[..., Service]):
    service = start()
    compact(session(1), Options(provider="jev", question="mend it", jev_model="jev-1.13.0"))

    body, headers = service.bodies[0], service.headers[0]
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert headers["Accept-Encoding"] == "identity"  # a small answer stays small
    assert sorted(body) == ["model", "questions", "state"]
    assert body["model"] == "jev-1.13.0"
    assert body["state"]["goal"] == "mend it"
    assert sorted(body["questions"]) == ["keep_call_t0", "keep_result_t0"]
    assert {q["type"] for q in body["questions"].values()} == {"noul"}
    assert KEY not in json.dumps(body)


def test_the_judge_never_sees_a_results_payload(start: Callable[..., Service]):
    service = start()
    compact(session(20), Options(provider="jev"))

    assert SECRET_OUTPUT not in json.dumps(service.bodies)
    assert "ok, 10" in json.dumps(service.bodies)


def test_the_report_says_once_what_left_the_machine_and_holds_no_key(start: Callable[..., Service]):
    service = start()
    report = compact(session(20), Options(provider="jev")).report

    assert KEY not in json.dumps(report)
    chars = int(report["sent"].split()[0])
    bodies = sum(
        len(json.dumps(b, ensure_ascii=False, separators=(",", ":"))) for b in service.bodies
    )
    assert chars == bodies
    assert "no tool output" in report["sent"]


def test_nothing_left_the_machine_without_a_service():
    assert compact(session(1), Options(provider="jev")).report["sent"] is None


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 529])
def test_a_status_that_passes_is_tried_again(status: int, start: Callable[..., Service]):
    service = start(script=[(status, {}, b"")] * 3)

    assert "keep_call_a" in ask()["answers"]
    assert len(service.bodies) == 4


def test_it_is_given_up_after_four_tries(start: Callable[..., Service]):
    service = start(script=[(503, {}, b"busy")] * 9)

    with pytest.raises(JudgeError, match=r"^HTTP 503, 4 times$"):
        ask()
    assert len(service.bodies) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_status_that_stays_is_not_tried_again(status: int, start: Callable[..., Service]):
    service = start(script=[(status, {}, b'{"detail": {"error_type": "max_tokens_exceeded"}}')])

    with pytest.raises(JudgeError, match=rf"^HTTP {status} \(max_tokens_exceeded\)$"):
        ask()
    assert len(service.bodies) == 1


def test_the_wait_doubles_with_each_try(start: Callable[..., Service], monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr(Jev, "_sleep", lambda _, seconds: waits.append(seconds))
    monkeypatch.setattr(jev, "JEV_BACKOFF_SECONDS", 0.5)
    start(script=[(503, {}, b"")] * 3)
    ask()

    assert waits == [0.5, 1.0, 2.0]


def test_the_server_is_waited_for_as_long_as_it_asks(start: Callable[..., Service]):
    service = start(script=[(429, {"Retry-After": "1"}, b"")])
    ask()

    assert 1.0 <= service.times[1] - service.times[0] < 2.5


def test_it_may_ask_with_a_date(start: Callable[..., Service], monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr(Jev, "_sleep", lambda _, seconds: waits.append(seconds))
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    start(script=[(429, {"Retry-After": date}, b""), (429, {"Retry-After": "soon"}, b"")])
    ask()

    assert 17 < waits[0] <= 20
    assert waits[1] == pytest.approx(0.02)


def test_a_server_that_asks_for_too_long_is_given_up(start: Callable[..., Service]):
    start(script=[(429, {"Retry-After": "3600"}, b"")])

    with pytest.raises(JudgeError, match=r"^HTTP 429, and it asks us to wait too long$"):
        ask()


def test_a_connection_that_fails_is_tried_again_and_then_named():
    with pytest.raises(JudgeError, match=r"^no answer \(ConnectError\), 4 times$"):
        ask("http://127.0.0.1:1")


def test_a_server_that_does_not_answer_in_time_is_given_up(start, monkeypatch):
    monkeypatch.setattr(jev, "JEV_READ_SECONDS", 0.1)
    monkeypatch.setattr(jev, "JEV_TRIES_MAX", 2)
    start(latency_s=0.5)

    with pytest.raises(JudgeError, match=r"^no answer \(ReadTimeout\), 2 times$"):
        ask()


def test_a_pass_has_an_end_whatever_the_service_does(start, monkeypatch):
    monkeypatch.setattr(jev, "JEV_TOTAL_SECONDS", 0.3)
    service = start(latency_s=0.2)
    began = time.monotonic()
    report = compact(session(9), Options(provider="jev", batch_size=1, max_workers=1)).report

    assert time.monotonic() - began < 3
    assert len(service.bodies) < 9
    assert "out of time" in " ".join(report["warnings"]) or "no time" in " ".join(
        report["warnings"]
    )


@pytest.mark.parametrize("drip", [b"HTTP/1.1 102 Processing\r\n\r\n", b"a"])
def test_a_server_that_drips_does_not_hold_up_the_end(drip: bytes, monkeypatch):
    monkeypatch.setattr(jev, "JEV_TOTAL_SECONDS", 0.5)
    with dripping(drip) as url:
        began = time.monotonic()
        with pytest.raises(JudgeError, match=r"^out of time$"):
            ask(url)

        assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_refused(status: int, start: Callable[..., Service]):
    service = start(script=[(status, {"Location": "http://127.0.0.1:1/v1/systemone"}, b"")])

    with pytest.raises(JudgeError, match="redirects are refused"):
        ask()
    assert len(service.bodies) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://api.typesafe.ai",
        "http://127.0.0.1.example.com",
        "http://10.0.0.1",
        "ftp://localhost",
        "https://user:pass@api.typesafe.ai",
        "https://api.typesafe.ai?x=1",
        "https://",
        "api.typesafe.ai",
        "http://[::1",
    ],
)
def test_an_address_that_is_not_safe_is_refused(url: str):
    with pytest.raises(UsageError, match="TYPESAFE_BASE_URL"):
        Jev(Key(KEY), "m", url)


@pytest.mark.parametrize(
    "url",
    ["https://api.typesafe.ai", "http://localhost:8000", "http://[::1]:1", "http://127.0.0.9"],
)
def test_https_and_this_machine_are_allowed(url: str):
    jev = Jev(Key(KEY), "m", url)
    jev.close()

    assert jev.host in url
    assert jev.host


def test_no_proxy_stands_between_us_and_this_machine(start: Callable[..., Service], monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    start()

    assert ask()["answers"]


def test_what_a_server_says_about_an_error_is_not_repeated(start: Callable[..., Service]):
    said = json.dumps({"detail": {"error_type": f"bad {KEY}", "message": KEY}}).encode()
    start(script=[(400, {"X": KEY}, said)])

    with pytest.raises(JudgeError) as caught:
        ask()
    assert str(caught.value) == "HTTP 400"


@pytest.mark.parametrize("word", [KEY, KEY.upper(), f"x{KEY}", KEY[:-3], "a_word_of_its_own"])
def test_no_word_of_a_servers_own_gets_into_an_error(word: str, start: Callable[..., Service]):
    start(script=[(400, {}, json.dumps({"detail": {"error_type": word}}).encode())])

    with pytest.raises(JudgeError, match=r"^HTTP 400$"):
        ask()


@pytest.mark.parametrize("name", [KEY, KEY.upper(), f"jev-{KEY}", KEY[3:-3]])
def test_a_model_that_is_named_like_the_key_is_not_repeated(name, start: Callable[..., Service]):
    start(script=[(200, {}, json.dumps({"model": name, "answers": {}}).encode())])
    report = compact(session(1), Options(provider="jev")).report

    assert report["jev_model_resolved"] is None
    assert name not in json.dumps(report)


def test_a_wrong_key_keeps_every_call_and_shows_it_nowhere(start: Callable[..., Service]):
    start(key="another")
    report = compact(session(2), Options(provider="jev")).report

    assert report["warnings"][0].startswith("jev_batch_1_failed: HTTP 401 (authentication_error)")
    assert KEY not in json.dumps(report)


def test_credentials_in_words_inputs_and_the_goal_are_not_sent(start: Callable[..., Service]):
    token = "ghp_" + "a1B2" * 9
    before = conversation(
        user(f"use {token}"),
        used(call("t", "Bash", command=f"curl -H 'Authorization: Bearer {token}'"), "y" * 400),
    )
    service = start()
    compact(before, Options(provider="jev", question=f"deploy with {token} and {KEY}"))

    sent = json.dumps(service.bodies)
    assert token not in sent
    assert KEY not in sent
    assert sent.count("[redacted]") >= 4


def test_a_number_that_json_cannot_write_is_sent_as_null(start: Callable[..., Service]):
    service = start()
    before = conversation(used(call("t", "B", x=float("nan"), y=float("inf")), "y" * 400))
    compact(before, Options(provider="jev"))

    assert '{"x": null, "y": null}' in json.dumps(service.bodies)
    assert "NaN" not in json.dumps(service.bodies)


def test_text_that_is_no_unicode_can_be_sent(start: Callable[..., Service]):
    start()
    before = conversation(user("half a pair \ud83d"), used(call("t", "B", x="\udc00"), "y" * 400))

    assert compact(before, Options(provider="jev")).report["semantic_guarantee"] == "judged"


def test_the_suites_own_server_process_judges_a_session(monkeypatch: pytest.MonkeyPatch):
    command = [
        sys.executable,
        "-c",
        "from jevcompat.cli import main; main()",
        "mock",
        "--port",
        "0",
    ]
    with subprocess.Popen(
        [*command, "--key", KEY], stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as server:
        try:
            url = server.stderr.readline().split("on ")[1].split("/v1/")[0]
            monkeypatch.setenv("TYPESAFE_BASE_URL", url)
            monkeypatch.setenv("TYPESAFE_API_KEY", KEY)
            report = compact(session(30), Options(provider="jev")).report
        finally:
            server.terminate()

    assert (report["semantic_guarantee"], report["requests"]) == ("judged", 4)


def test_the_key_itself_is_not_sent_in_a_body_whatever_it_looks_like(
    start: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
):
    plain = "just-some-words"
    service = start(key=plain)
    monkeypatch.setenv("TYPESAFE_API_KEY", plain)
    compact(session(1), Options(provider="jev", question=f"the key is {plain}"))

    assert service.headers[0]["Authorization"] == f"Bearer {plain}"
    assert plain not in json.dumps(service.bodies)


def test_a_client_that_cannot_be_asked_is_refused():
    with pytest.raises(UsageError, match="evaluate"):
        compact(session(1), Options(provider="jev"), client=object())


def test_a_pass_without_a_judge_does_not_load_the_http_client():
    code = "import sys, lcc_sidecar.cli.main, lcc_sidecar.compaction; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
