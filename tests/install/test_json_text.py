"""One member of a JSON text changes, and no other byte."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from install.json_text import parse, with_member, without_member

PATH = ("enabledPlugins", "lcc-sidecar@lcc-sidecar")

_TEXTS = st.text('aü{}[]",:\\ \n', max_size=5)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(
    st.sampled_from(["a", "b", 'quote " and \\ brace }', "hooks"]), _VALUES, max_size=4
)
_INDENTS = st.sampled_from([None, 1, 2, 4, "\t"])


@given(_OBJECTS, st.none() | _OBJECTS, _INDENTS, st.sampled_from(["", "\n", "\r\n", "  "]))
def test_what_is_put_in_is_there_and_taking_it_out_gives_the_old_bytes(top, plugins, indent, end):
    document = top if plugins is None else {**top, "enabledPlugins": plugins}
    text = json.dumps(document, indent=indent, ensure_ascii=False) + end
    if end == "\r\n":
        text = text.replace("\n", "\r\n").replace("\r\r", "\r")
    put_in = with_member(text, PATH, value=True)
    expected = {**document, "enabledPlugins": {**(plugins or {}), PATH[1]: True}}
    assert json.loads(put_in) == expected
    assert list(json.loads(put_in)) == list(expected)
    assert with_member(put_in, PATH, value=True) == put_in
    assert "\n" not in put_in.replace("\r\n", "") or end != "\r\n"
    keep = frozenset() if plugins is None else frozenset({PATH[:1]})
    assert without_member(put_in, PATH, keep=keep) == text


def test_a_new_member_is_indented_like_its_neighbours():
    text = '{\n\t"a": {\n\t\t"b": 1\n\t}\n}'
    wanted = '{\n\t"a": {\n\t\t"b": 1,\n\t\t"c": {\n\t\t\t"d": 2\n\t\t}\n\t}\n}'
    assert with_member(text, ("a", "c"), {"d": 2}) == wanted


def test_a_parent_on_one_line_stays_on_one_line():
    text = '{\n  "enabledPlugins": {"x@y": true}\n}\n'
    wanted = '{\n  "enabledPlugins": {"x@y": true, "lcc-sidecar@lcc-sidecar": true}\n}\n'
    assert with_member(text, PATH, value=True) == wanted


def test_a_value_is_replaced_where_it_stands():
    text = '{"enabledPlugins": { "lcc-sidecar@lcc-sidecar" : false , "z": 1}}'
    assert with_member(text, PATH, value=True) == text.replace("false", "true")


def test_the_last_of_two_equal_keys_is_the_one_that_counts():
    text = '{"enabledPlugins": {}, "enabledPlugins": {"a": 1}}'
    put_in = with_member(text, PATH, value=True)
    assert json.loads(put_in)["enabledPlugins"] == {"a": 1, PATH[1]: True}
    assert without_member(put_in, PATH) == text


def test_an_absent_member_is_taken_out_of_nothing():
    text = '{"enabledPlugins": {}}'
    assert without_member(text, PATH) == text
    assert without_member('{"enabledPlugins": 3}', PATH) == '{"enabledPlugins": 3}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, // note\n}', "line 1 column"),
        ('{"a": 1,}', "line 1 column"),
        ('{"a": NaN}', "NaN"),
        ("[]", "no JSON object"),
        ("", "line 1 column 1"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"enabledPlugins": []}', '"enabledPlugins" holds no object'),
    ],
)
def test_what_the_client_would_not_read_is_refused_with_the_place(text, reason):
    with pytest.raises(ValueError, match=reason):
        with_member(text, PATH, value=True)


def test_a_whole_text_is_parsed():
    assert parse(' {"a": [1]} ') == {"a": [1]}
