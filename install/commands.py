"""What `python3 install` understands."""

import argparse
import sys
from pathlib import Path

from install import console, environment, installing, testing, uninstalling
from lcc_sidecar.errors import LccError


def main(arguments: list[str]) -> int:
    """Run one command; return the exit code: 0, or 1 with a sentence on what to do."""
    console.use_utf8()
    if arguments[:1] == ["test"]:
        return testing.test(arguments[1:])
    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except LccError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; what was done so far can be run again, or undone by uninstall")
        return 130
    return 0


def _run(options: argparse.Namespace) -> None:
    if options.command == "uninstall":
        if options.dry_run:
            uninstalling.preview(purge=options.purge)
        else:
            uninstalling.uninstall(purge=options.purge)
    elif options.dry_run:
        installing.preview()
    else:
        installing.install(options.wheels, options.session, options.extras)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 install",
        description="Install lcc-sidecar for this user: /compact that forgets nothing.",
        epilog="python3 install test [PYTEST ARGUMENTS] sets up and runs the whole test suite.",
    )
    parser.add_argument(
        "command", nargs="?", default="install", choices=["install", "uninstall", "test"]
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would change, exactly; change nothing"
    )
    parser.add_argument(
        "--purge",
        action="store_true",
        help="with uninstall: remove also what the stash holds of your sessions, for good",
    )
    parser.add_argument(
        "--wheels", type=Path, metavar="DIR", help="a folder of wheels, for a machine offline"
    )
    parser.add_argument(
        "--with",
        dest="extras",
        action="append",
        default=[],
        choices=environment.extras(installing.SOURCE),
        help="install what only some verbs need, too: the page of `lcc log review`, Parquet, the "
        "plot of `lcc bench`, a judge on this machine; it is kept by later installs",
    )
    parser.add_argument(
        "--session",
        metavar="newest|FILE",
        help="test with this session instead of a made-up one; it is only read",
    )
    return parser
