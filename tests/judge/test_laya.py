"""The local judge: with the real package and a tiny checkpoint where it is installed.

The package brings PyTorch, some gigabytes; it is no part of the development group. The tests named
"real" run where it is there, and the others with an agent that stands in for it.
"""

import importlib.util
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from lcc_sidecar.compaction import Compaction, compact
from lcc_sidecar.options import Options
from tests.build import call, conversation, used
from tests.judge.build import SECRET_OUTPUT, Scripted, session
from tests.judge.test_fail_safe import everything_is_kept, standing
from tests.judge.tiny_laya import make_checkpoint

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
needs_laya = pytest.mark.skipif(
    importlib.util.find_spec("laya") is None, reason="the package laya is not installed"
)


@pytest.fixture(autouse=True)
def flags_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*OFFLINE, "HF_HUB_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "0")


class Agent(Scripted):
    """An agent as the package loads it: a configuration, a tokenizer, `predict`."""

    def __init__(self, max_len: int = 512, **answers: tuple[Any, Any]) -> None:
        super().__init__(**answers)
        self.cfg = {"max_len": max_len, "head_max_len": 192}
        self.tok = types.SimpleNamespace(encode=lambda text: text[::3])
        self.truncated = False

    def predict(self, state: Any, questions: Any) -> Any:
        return self.evaluate(state, questions) | {"usage": {"truncated": self.truncated}}


def install(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    monkeypatch.setitem(sys.modules, "laya", types.SimpleNamespace(load=load))


def run(calls: int = 4, **changes: Any) -> Compaction:
    return compact(session(calls), Options(**{"provider": "laya"} | changes))


def test_without_the_package_every_call_is_kept_and_the_report_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "laya", None)
    done = run()

    assert standing(done) == ("laya", True, "none", "laya_unavailable_fail_safe")
    assert {d.reason for d in done.decisions} == {"laya_unavailable_fail_safe"}
    assert "python3 install --with laya" in done.report["warnings"][0]
    assert everything_is_kept(done)


def test_without_weights_every_call_is_kept_and_the_report_says_why(monkeypatch):
    def load(_: str) -> Any:
        raise FileNotFoundError("no such folder")

    install(monkeypatch, load)
    done = run(laya_model="/nowhere")

    assert standing(done) == ("laya", True, "none", "laya_unavailable_fail_safe")
    assert (
        "no weights could be loaded for /nowhere (FileNotFoundError)" in done.report["warnings"][0]
    )


def test_the_offline_flags_are_set_before_anything_is_loaded(monkeypatch):
    seen: dict[str, str | None] = {}

    def load(_: str) -> Any:
        seen.update({name: os.environ.get(name) for name in OFFLINE})
        return Agent()

    install(monkeypatch, load)
    run()

    assert seen == dict.fromkeys(OFFLINE, "1")


def test_it_is_asked_about_one_call_at_a_time_within_its_context(monkeypatch):
    agent = Agent(t0=(0, 0), t1=(1, 0))
    install(monkeypatch, lambda _: agent)
    done = run()

    assert [sorted(q) for _, q in agent.asked] == [
        [f"keep_call_t{n}", f"keep_result_t{n}"] for n in range(4)
    ]
    assert standing(done) == ("laya", False, "judged", None)
    assert [d.kind for d in done.decisions] == ["drop", "trim", "keep", "keep"]
    assert done.report["state_fit_stage"] == "one-call"
    assert done.report["state_tokens"] <= 512 - 192
    assert SECRET_OUTPUT not in str(agent.asked)


def test_a_call_too_large_for_its_context_is_kept_unjudged(monkeypatch):
    agent = Agent(max_len=230)
    install(monkeypatch, lambda _: agent)
    done = run()

    assert standing(done) == ("degraded", True, "none", "laya_no_answers_fail_safe")
    assert "laya_state_too_long:t0" in done.report["warnings"]
    assert agent.asked == []


def test_an_input_is_cut_until_it_fits(monkeypatch):
    agent = Agent()
    install(monkeypatch, lambda _: agent)
    before = conversation(used(call("t", "Write", content="word " * 9000), "y" * 400))
    compact(before, Options(provider="laya"))

    assert 60 <= len(agent.asked[0][0]["call"]["input"]) <= 601


def test_what_the_model_did_not_see_whole_is_not_judged(monkeypatch):
    agent = Agent(t0=(0, 0))
    agent.truncated = True
    install(monkeypatch, lambda _: agent)
    done = run()

    assert everything_is_kept(done)
    assert "the model's context cut off" in done.report["warnings"][0]


def test_auto_takes_it_where_no_key_is(monkeypatch):
    install(monkeypatch, lambda _: Agent())

    assert standing(run(provider="auto")) == ("laya", False, "judged", None)


def test_credentials_are_not_shown_to_it_either(monkeypatch):
    agent = Agent()
    install(monkeypatch, lambda _: agent)
    secret = "ghp_" + "a1B2" * 9
    before = conversation(used(call("t", "Bash", command=f"push {secret}"), "y" * 400))
    compact(before, Options(provider="laya", question=secret))

    assert secret not in str(agent.asked)


@needs_laya
@pytest.mark.filterwarnings("ignore")  # what the package's own dependencies warn of
def test_the_real_package_loads_a_tiny_checkpoint_and_judges_every_call(tmp_path: Path):
    folder = make_checkpoint(tmp_path / "tiny", max_len=2048)
    done = run(laya_model=str(folder))

    assert standing(done) == ("laya", False, "judged", None)
    assert all(0 < d.scores["keep_call"] < 1 for d in done.decisions)


@needs_laya
@pytest.mark.filterwarnings("ignore")
def test_the_real_package_without_weights_keeps_every_call(tmp_path: Path):
    done = run(laya_model=str(tmp_path))

    assert standing(done) == ("laya", True, "none", "laya_unavailable_fail_safe")
    assert "FileNotFoundError" in done.report["warnings"][0]
