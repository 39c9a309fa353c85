"""Bills that no provider writes, for the tests of everything that reads one."""

from typing import Any

from hypothesis import strategies as st

from tests.build import Session, tool_use

_PLAUSIBLE = st.integers(0, 300_000)
_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from([10**8, 10**8 + 1, 10**18, 10**30, 10**309, 10**400, -1, -(10**400)]),
    st.recursive(st.just(7), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)),
)
COUNT = st.one_of(_PLAUSIBLE, _PLAUSIBLE, _ODD)
_KEPT = st.fixed_dictionaries(
    {}, optional={"ephemeral_1h_input_tokens": COUNT, "ephemeral_5m_input_tokens": COUNT}
)
_NAMES = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
USAGE = st.one_of(
    st.fixed_dictionaries({"input_tokens": _PLAUSIBLE}),
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(_NAMES, COUNT)
        | {"cache_creation": _KEPT | _ODD, "iterations": _ODD},
    ),
    _ODD,
)
# growing by steps, as a bill does, so that something can be fitted to them; and the rest of it
BILLS = st.lists(USAGE, min_size=14, max_size=20) | st.lists(
    st.integers(1, 200_000), min_size=14, max_size=20
).map(lambda steps: [{"input_tokens": sum(steps[: n + 1])} for n in range(len(steps))])


def bill(session: Session, usages: list[Any], boundary: int = -1) -> None:
    """Have the session go on, each request billed as given; compacted before one of them."""
    for number, usage in enumerate(usages):
        if number == boundary:
            session.add("system", subtype="compact_boundary")
        session.replies(tool_use(f"u{number}", "Bash", command="make"))
        session.rows[-1]["message"]["usage"] = usage
        session.returns(f"u{number}", "words and more " * (number * 37 % 90 + 1))
