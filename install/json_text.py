"""Change one member of a JSON text and leave every other byte as it stands.

The text is strict JSON, as the client itself demands of its settings. An inserted member follows
the indentation around it; taking it out again gives the text that was there before.
"""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

Path = tuple[str, ...]

_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    start: int  # of the key
    value: int  # start of the value
    end: int  # just behind the value


def parse(text: str) -> dict[str, Any]:
    """Return the object that `text` is. Raise ValueError, with the place, if it is none."""
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - one kind of error for one file
    return found


def with_member(text: str, path: Path, value: Any) -> str:
    """Return `text` with `value` at `path`; the same text if it is there already.

    Raise ValueError if `text` is no JSON object, or something else than an object is in the way.
    """
    parse(text)
    opening = _skip_space(text, 0)
    for depth, key in enumerate(path):
        found = _member(text, opening, key)
        rest = path[depth + 1 :]
        if found is None:
            return _insert(text, opening, key, _nested(rest, value))
        if not rest:
            if json.loads(text[found.value : found.end]) == value:
                return text
            written = _written(text, value, _indent_of(text, found.start))
            return text[: found.value] + written + text[found.end :]
        if text[found.value] != "{":
            raise ValueError(f"its key {json.dumps(key)} holds no object")
        opening = found.value
    return text


def without_member(text: str, path: Path, *, keep: frozenset[Path] = frozenset()) -> str:
    """Return `text` without the member at `path`, and without parents that this leaves empty.

    A parent named in `keep` stays, as `{}`. Raise ValueError if `text` is no JSON object.
    """
    parse(text)
    opening = _opening(text, path[:-1])
    if opening is None or _member(text, opening, path[-1]) is None:
        return text
    while (found := _member(text, opening, path[-1])) is not None:
        text = _cut(text, opening, found)
    for depth in range(len(path) - 1, 0, -1):
        parent = path[:depth]
        opening = _opening(text, parent[:-1])
        found = None if opening is None else _member(text, opening, parent[-1])
        if opening is None or found is None or parent in keep or _members(text, found.value)[0]:
            break
        text = _cut(text, opening, found)
    return text


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _opening(text: str, path: Path) -> int | None:
    """Return where the object at `path` opens; None if there is none."""
    opening = _skip_space(text, 0)
    for key in path:
        found = _member(text, opening, key)
        if found is None or text[found.value] != "{":
            return None
        opening = found.value
    return opening


def _member(text: str, opening: int, key: str) -> _Member | None:
    """Return the member that counts: of two with the same key, the last."""
    members, _ = _members(text, opening)
    return next((member for member in reversed(members) if member.key == key), None)


def _members(text: str, opening: int) -> tuple[list[_Member], int]:
    """Return the members of the object that opens there, and where it closes."""
    members = []
    at = _skip_space(text, opening + 1)
    while text[at] != "}":
        start = at
        key, at = _DECODER.raw_decode(text, start)
        value = _skip_space(text, _skip_space(text, at) + 1)  # over the colon
        _, end = _DECODER.raw_decode(text, value)
        members.append(_Member(key, start, value, end))
        at = _skip_space(text, end)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return members, at


def _insert(text: str, opening: int, key: str, value: Any) -> str:
    members, closing = _members(text, opening)
    if members and "\n" not in text[opening : members[0].start]:
        pair = f", {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        return text[: members[-1].end] + pair + text[members[-1].end :]
    outer = _indent_of(text, opening)
    indent = _indent_of(text, members[0].start) if members else outer + _unit(text)
    break_ = _line_break(text)
    pair = f"{break_}{indent}{json.dumps(key)}: {_written(text, value, indent)}"
    if members:
        return text[: members[-1].end] + "," + pair + text[members[-1].end :]
    return text[: opening + 1] + pair + break_ + outer + text[closing:]


def _cut(text: str, opening: int, member: _Member) -> str:
    members, closing = _members(text, opening)
    at = members.index(member)
    if at > 0:
        return text[: members[at - 1].end] + text[member.end :]
    if len(members) > 1:
        return text[: member.start] + text[members[1].start :]
    return text[: opening + 1] + text[closing:]


def _nested(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _written(text: str, value: Any, indent: str) -> str:
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return (_line_break(text) + indent).join(lines)


def _unit(text: str) -> str:
    """Return what one level of indentation is in this text."""
    members, _ = _members(text, _skip_space(text, 0))
    return (_indent_of(text, members[0].start) if members else "") or "  "


def _indent_of(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
