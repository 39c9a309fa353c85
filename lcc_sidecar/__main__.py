"""`python -m lcc_sidecar`: the command line; `serve` runs the sidecar without loading all of it."""

import sys


def main() -> int:
    if sys.argv[1:2] == ["serve"]:
        from lcc_sidecar.sidecar.lifecycle import serve  # noqa: PLC0415

        asked = sys.argv[3] if sys.argv[2:3] == ["--asked"] and len(sys.argv) > 3 else ""  # noqa: PLR2004
        return serve(asked)
    from lcc_sidecar.cli.main import main as command_line  # noqa: PLC0415

    command_line()
    return 0


sys.exit(main())
