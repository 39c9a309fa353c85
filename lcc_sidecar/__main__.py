"""`python -m lcc_sidecar`: the command line; `serve` runs the sidecar without loading all of it."""

import sys


def main() -> int:
    if sys.argv[1:2] == ["serve"]:
        return _serve(asked=sys.argv[3] if sys.argv[2:3] == ["--asked"] else "")
    from lcc_sidecar.cli.main import main as command_line  # noqa: PLC0415

    command_line()
    return 0


def _serve(asked: str) -> int:
    """Serve as a process whose output nobody sees: the log is where to look."""
    try:
        from lcc_sidecar.sidecar import lifecycle, log  # noqa: PLC0415
    except ImportError as error:  # this interpreter lacks a package: only the near side can tell
        from lcc_sidecar.near.log import note  # noqa: PLC0415

        note("serve", error)
        return 1
    try:
        lifecycle.serve(asked)  # one that is there already is as good: the starter will find it
    except Exception as error:  # noqa: BLE001
        log.report("serve", error)
        return 1
    return 0


sys.exit(main())
