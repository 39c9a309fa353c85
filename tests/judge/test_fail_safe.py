"""Section 5 of the first specification, row by row: never silent; what is not judged is kept."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from lcc_sidecar.compaction import Compaction, compact
from lcc_sidecar.options import Options
from tests.judge.build import Scripted, session
from tests.judge.server import Service

STANDING = ("provider_used", "degraded", "semantic_guarantee", "degradation_reason")


def run(calls: int = 4, **changes: Any) -> Compaction:
    return compact(session(calls), Options(**{"provider": "jev"} | changes))


def standing(done: Compaction) -> tuple[Any, ...]:
    return tuple(done.report[key] for key in STANDING)


def everything_is_kept(done: Compaction, calls: int = 4) -> bool:
    return done.transcript == session(calls) and all(d.kind == "keep" for d in done.decisions)


@pytest.fixture
def anything_but_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr("httpx.AsyncClient.stream", refuse)


def test_without_a_key_every_call_is_kept(anything_but_a_connection: None):
    done = run()

    assert standing(done) == ("jev", True, "none", "jev_unavailable_fail_safe")
    assert {d.reason for d in done.decisions} == {"jev_unavailable_fail_safe"}
    assert {row["source"] for row in done.report["decisions"]} == {"fail_safe"}
    assert everything_is_kept(done)
    assert "TYPESAFE_API_KEY" in done.report["warnings"][0]
    assert done.report["requests"] == 0
    assert done.report["blocks_scored"] == 0


@pytest.mark.parametrize("provider", ["jev", "auto"])
def test_with_the_network_disabled_every_call_is_kept(
    provider: str, start: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
):
    service = start()
    monkeypatch.setenv("LCC_DISABLE_NETWORK", "1")
    monkeypatch.setitem(__import__("sys").modules, "laya", None)

    done = run(provider=provider)

    assert standing(done) == ("jev", True, "none", "jev_unavailable_fail_safe")
    assert everything_is_kept(done)
    assert service.bodies == []


def test_a_service_that_answers_judges_every_call(start: Callable[..., Service]):
    start()
    done = run()

    assert standing(done) == ("jev", False, "judged", None)
    assert done.report["blocks_scored"] == 4
    assert done.report["warnings"] == []
    assert done.report["jev_model_resolved"] == "jevcompat-mock-0.1"


def test_when_every_batch_fails_nothing_was_judged(start: Callable[..., Service]):
    start("wrong-route")
    done = run()

    assert standing(done) == ("degraded", True, "none", "jev_no_answers_fail_safe")
    assert everything_is_kept(done)
    assert (
        done.report["warnings"][0] == "jev_batch_1_failed: HTTP 404 (not_found); its calls are kept"
    )


def test_when_one_batch_fails_the_others_keep_their_verdict(start: Callable[..., Service]):
    start(script=[(404, {}, b"{}")])
    done = run(batch_size=1, max_workers=1)

    assert standing(done) == (
        "jev+partial_fail_safe",
        True,
        "partial",
        "jev_batch_failed_fail_safe",
    )
    judged = [d for d in done.decisions if d.scores is not None]
    assert [d.id for d in judged] == ["t1", "t2", "t3"]
    assert done.decisions[0].kind == "keep"
    assert done.decisions[0].reason == "not_judged_fail_safe"
    assert (done.report["requests"], done.report["calls"]) == (4, 3)
    assert [row["source"] for row in done.report["decisions"]] == ["fail_safe", "jev", "jev", "jev"]


def test_nothing_is_dropped_that_was_not_judged(start: Callable[..., Service]):
    zero = {
        f"keep_{kind}_t{n}": {"type": "noul", "noul": 0}
        for kind in ("call", "result")
        for n in (0, 2)
    }
    start(script=[(200, {}, json.dumps({"answers": zero}).encode())])

    done = run()

    assert done.dropped == {"t0", "t2"}
    assert standing(done)[:3] == ("jev", False, "partial")
    assert [w for w in done.report["warnings"] if "t1" in w] == [
        "jev_missing_answer:keep_call_t1",
        "jev_missing_answer:keep_result_t1",
    ]


@pytest.mark.parametrize(
    ("fault", "warning"),
    [
        ("noul-range", "jev_answer_out_of_range:keep_call_t0"),
        ("boolean-type", "jev_malformed_answer:keep_call_t0"),
    ],
)
def test_answers_that_are_all_wrong_keep_every_call(
    fault: str, warning: str, start: Callable[..., Service]
):
    start(fault)
    done = run()

    assert standing(done) == ("degraded", True, "none", "jev_no_answers_fail_safe")
    assert warning in done.report["warnings"]
    assert everything_is_kept(done)


def test_an_answer_to_one_question_alone_judges_nothing(start: Callable[..., Service]):
    start("first-question-only")
    done = run()

    assert "jev_missing_answer:keep_result_t0" in done.report["warnings"]
    assert everything_is_kept(done)


@pytest.mark.parametrize(
    "fault", ["nan", "extra-answer", "no-usage", "float-usage", "plain-content-type"]
)
def test_faults_that_touch_no_answer_change_nothing(fault: str, start: Callable[..., Service]):
    start(fault)

    assert standing(run()) == ("jev", False, "judged", None)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b")]}'\n{}", "the answer is not JSON"),
        (b"[]", "the answer is not a JSON object"),
        (b"{}", "ValueError"),
        (b'{"answers": []}', "ValueError"),
        (b"[" * 100_000, "the answer is not JSON"),
        (b" " * (1024 * 1024 + 1), "the answer is longer than 1048576 bytes"),
    ],
    ids=["prefixed", "list", "empty", "answers-list", "deep", "long"],
)
def test_an_answer_that_cannot_be_read_keeps_its_calls(
    body: bytes, why: str, start: Callable[..., Service]
):
    start(script=[(200, {}, body)])
    done = run()

    assert done.report["warnings"][0] == f"jev_batch_1_failed: {why}; its calls are kept"
    assert everything_is_kept(done)


def test_answers_that_contradict_each_other_judge_nothing(start: Callable[..., Service]):
    one, zero = '{"type": "noul", "noul": 1}', '{"type": "noul", "noul": 0}'
    twice = f'"keep_call_t0": {one}, "keep_call_t0": {zero}, "keep_result_t0": {zero}'
    inside = f'"keep_call_t1": {{"type": "noul", "noul": 1, "noul": 0}}, "keep_result_t1": {zero}'
    sound = f'"keep_call_t2": {zero}, "keep_result_t2": {zero}'
    start(script=[(200, {}, f'{{"answers": {{{twice}, {inside}, {sound}}}}}'.encode())])
    done = run(3)

    assert done.dropped == {"t2"}
    assert done.report["warnings"] == [
        "jev_malformed_answer:keep_call_t0",
        "jev_malformed_answer:keep_call_t1",
    ]


def test_with_nothing_to_score_no_call_is_claimed_as_judged(start: Callable[..., Service]):
    service = start()
    done = run(preserve_recent=1000)

    assert standing(done) == ("jev", False, "none", "no_candidates")
    assert done.report["blocks_scored"] == 0
    assert {row["source"] for row in done.report["decisions"]} == {"pin"}
    assert service.bodies == []


def test_auto_prefers_jev_when_a_key_is_there(start: Callable[..., Service]):
    start()

    assert standing(run(provider="auto")) == ("jev", False, "judged", None)
    assert run(provider="auto").report["provider_requested"] == "auto"


def test_auto_without_a_key_and_without_laya_keeps_every_call(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "laya", None)
    done = run(provider="auto")

    assert standing(done) == ("jev", True, "none", "jev_unavailable_fail_safe")
    assert [w.partition(":")[0] for w in done.report["warnings"]] == [
        "jev_unavailable",
        "laya_unavailable",
    ]


def test_a_judge_of_the_caller_that_raises_keeps_every_call_and_its_words_stay_with_it():
    class Broken(Scripted):
        def evaluate(self, *_: Any) -> Any:
            raise RuntimeError("my key is hunter2")

    done = compact(session(2), Options(provider="jev"), client=Broken())

    assert standing(done) == ("degraded", True, "none", "jev_no_answers_fail_safe")
    assert "hunter2" not in json.dumps(done.report)


def test_a_result_that_breaks_the_contract_keeps_everything(monkeypatch: pytest.MonkeyPatch):
    def loses_the_call(self: Any, ids: Any) -> Any:
        from dataclasses import replace

        return replace(self, messages=tuple(replace(m, calls=()) for m in self.messages))

    monkeypatch.setattr(
        "lcc_sidecar.transcript.model.Transcript.without",
        lambda self, ids: loses_the_call(self, ids) if ids else self,
    )
    done = compact(session(2), Options(provider="jev"), client=Scripted(t0=(0, 0)))

    assert standing(done) == ("jev", True, "none", "judged_verification_failed_fail_safe")
    assert everything_is_kept(done, 2)
