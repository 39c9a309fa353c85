"""`lcc bench`: measure passes over a folder of recorded sessions."""

import csv
import os
import sys

import click

from lcc_sidecar.bench.sessions import measure, session_files
from lcc_sidecar.bench.tables import markdown
from lcc_sidecar.cli.progress import progress_bar
from lcc_sidecar.errors import UsageError
from lcc_sidecar.output import write_whole


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--index",
    type=click.Path(exists=True, dir_okay=False),
    help="Tab-separated: file, repo, path, commit; says where a session can be fetched.",
)
@click.option("--report", type=click.Path(), help="Write the page here instead of printing it.")
def bench(folder: str, *, index: str | None, report: str | None) -> None:
    """Compact, verify and drill every session below FOLDER, by mode.

    The workspaces are rebuilt from the sessions in temporary folders. Exits 1 if a pointer does not
    lead back or a contract is broken.
    """
    paths = session_files(folder)
    if not paths:
        raise UsageError(f"{folder} holds no session file (*.jsonl)")
    sessions = []
    with progress_bar() as progress:
        for done, path in enumerate(paths):
            progress("measuring", done, len(paths))
            sessions.append(measure(path, folder))
    command = "lcc bench SESSIONS" + (" --index INDEX.tsv" if index else "")
    page = markdown(sessions, _sources(index), command)
    if report:
        write_whole(report, page.encode())
    else:
        click.echo(page)
    if any(m.led_back < m.pointers or m.violations for s in sessions for m in s.measured):
        sys.exit(1)


def _sources(index: str | None) -> dict[str, str]:
    """Return where each session file comes from: repository, path and commit."""
    if index is None:
        return {}
    with open(index, encoding="utf-8", newline="") as file:
        return {
            os.path.normpath(row["file"]): f"{row['repo']} {row['path']} @ {row['commit'][:12]}"
            for row in csv.DictReader(file, delimiter="\t")
        }
