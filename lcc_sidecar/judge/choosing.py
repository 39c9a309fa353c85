"""Which judge answers: the one that was asked for, or in words why there is none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lcc_sidecar.errors import UsageError
from lcc_sidecar.judge.key import NETWORK_VARIABLE, Key, find_key, network_disabled
from lcc_sidecar.judge.laya import MODEL as LAYA_MODEL
from lcc_sidecar.judge.laya import Laya, LayaMissingError, load_laya
from lcc_sidecar.options import Options

if TYPE_CHECKING:
    from lcc_sidecar.judge.jev import Jev

Evaluate = Callable[[Mapping[str, Any], Mapping[str, Mapping[str, Any]]], Any]


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge that can be asked. `local`: it sees one call at a time, in its own few tokens."""

    provider: str
    evaluate: Evaluate
    local: Laya | None = None
    service: "Jev | None" = None

    def close(self) -> None:
        if self.service is not None:
            self.service.close()


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No judge of this name, and why; every call is kept."""

    provider: str
    why: tuple[str, ...]


def choose(options: Options, client: Any = None) -> Judge | Unavailable:
    """Return the judge for a pass. `client` is the caller's own, with `evaluate(state, questions)`.

    The caller answers for what its own judge does, with the network disabled as well. Raise
    UsageError for a client that cannot be asked and for an address of the service that is not safe.
    """
    if client is not None:
        if not callable(getattr(client, "evaluate", None)):
            raise UsageError("the client has no evaluate(state, questions): give one that has")
        return Judge("laya" if options.provider == "laya" else "jev", client.evaluate)
    if options.provider == "laya":
        return _laya(options)
    jev = _jev(options)
    if isinstance(jev, Judge) or options.provider == "jev":
        return jev
    laya = _laya(options)
    return laya if isinstance(laya, Judge) else Unavailable("jev", (*jev.why, *laya.why))


def _jev(options: Options) -> Judge | Unavailable:
    if network_disabled():
        return Unavailable("jev", (f"jev_unavailable: {NETWORK_VARIABLE} forbids connections",))
    key = find_key()
    if not isinstance(key, Key):
        return Unavailable("jev", (f"jev_unavailable: {key}",))
    from lcc_sidecar.judge.jev import Jev  # noqa: PLC0415 - its HTTP client takes 0.2 s to import

    service = Jev(key, options.jev_model)
    return Judge("jev", service.evaluate, service=service)


def _laya(options: Options) -> Judge | Unavailable:
    try:
        laya: Laya = load_laya(options.laya_model or LAYA_MODEL)
    except LayaMissingError as error:
        return Unavailable("laya", (f"laya_unavailable: {error}",))
    return Judge("laya", laya.evaluate, local=laya)
