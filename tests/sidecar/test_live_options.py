"""The plugin's options as they come with a request: absent, as text, and not usable."""

import pytest

from tests.sidecar.conversations import fell_back


@pytest.mark.parametrize(
    "options",
    [{"least_share": "50"}, {"least_share": None, "mode": None}, None, {"of_tomorrow": 1}],
)
def test_options_may_be_text_or_absent(talk, options):
    talk.chat(4)
    assert talk.ask(options=options)["outcome"] == "replaced"


@pytest.mark.parametrize(
    "options",
    [{"mode": "losless"}, {"least_share": "much"}, {"least_share": 101}, {"too_little": "maybe"}],
)
def test_an_option_that_cannot_be_honoured_chooses_no_way_but_the_summary(talk, options):
    talk.chat(4)
    reply = talk.ask(options=options)
    assert fell_back(reply) == "bad_option"
    assert f"$.{next(iter(options))}" in reply["receipt"]
