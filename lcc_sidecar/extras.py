"""Packages that only some verbs need, and how a person has them installed."""


def how_to_get(extra: str) -> str:
    """Return what to do where a package of an extra is missing."""
    return f"`python3 install --with {extra}`, in a clone of lcc-sidecar, installs it"
