"""Texts like those that tools return, made up: log lines, code, findings of a search, prose."""

import random

_PARTS = (
    *("get", "set", "path", "join", "url", "server", "id", "handle", "request", "load", "index"),
    *("token", "parse", "file", "error", "warn", "stash", "body", "line", "read", "write", "open"),
    *("close", "user", "name", "test", "build", "cache", "map", "list", "node", "tree", "hash"),
)
COMMON = ("status", "error", "self", "info", "the", "is", "not", "path", "get", "of")


class Bodies:
    """Makes bodies out of a pool of lines; the same seed makes the same bodies."""

    def __init__(self, seed: int = 1, pool: int = 100_000) -> None:
        self._random = random.Random(seed)
        self.rare = [
            "".join(self._random.choices("abcdefghijklmnopqrst", k=7)) for _ in range(pool)
        ]
        self.names = [self._name() for _ in range(pool // 5)]
        self._pool = [self._line() for _ in range(pool)]

    def body(self, number: int, lines: int) -> str:
        """Return a text with one line of its own, the last but one; the others come again."""
        first = self._random.randrange(len(self._pool))
        near = self._pool[first : first + lines // 6 + 8]
        chosen = [f"{line} #{n}" for n, line in enumerate(self._random.choices(near, k=lines))]
        chosen.append(f"entry {number} holds needle{number} and markerWord{number}Here")
        return "\n".join([*chosen, "done"])

    def _name(self) -> str:
        parts = self._random.choices(_PARTS, k=self._random.randint(1, 4))
        titled = (part.title() for part in parts[1:])
        return "_".join(parts) if self._random.random() < 0.5 else "".join([parts[0], *titled])

    def _line(self) -> str:
        one, name, rare = self._random, self._random.choice, self.rare
        match one.randrange(4):
            case 0:
                clock = f"{one.randrange(24):02}:{one.randrange(60):02}:{one.randrange(60):02}"
                return (
                    f"2026-11-{one.randint(1, 30):02} {clock} INFO [worker-{one.randint(1, 16)}] "
                    f"{name(self.names)}: {name(rare)} took {one.randint(1, 9999)} ms status=200"
                )
            case 1:
                return (
                    f"    {name(self.names)} = self.{name(self.names)}({name(self.names)}, "
                    f"{name(rare)}={one.randint(0, 99)})"
                )
            case 2:
                return (
                    f"src/{name(_PARTS)}/{name(self.names)}.py:{one.randint(1, 900)}: "
                    f"{name(self.names)} is not what {name(rare)} {name(rare)} expects"
                )
            case _:
                return f"{name(rare)} the {name(rare)} of {name(rare)} and error {name(self.names)}"
