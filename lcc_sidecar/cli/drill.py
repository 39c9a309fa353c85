"""`lcc drill`: follow every pointer of a compaction, as an agent would."""

import os
import sys
from functools import partial

import click

from lcc_sidecar.cli.plural import count
from lcc_sidecar.cli.progress import progress_bar
from lcc_sidecar.stash.bodies import recall_text
from lcc_sidecar.transcript.files import load_document, session_id_of
from lcc_sidecar.verify.drill import drill as follow_all


@click.command()
@click.argument("original", type=click.Path())
@click.argument("compacted", type=click.Path())
@click.option(
    "--workspace-root",
    type=click.Path(exists=True, file_okay=False),
    help="Where commands run whose call does not say where it ran.",
)
def drill(original: str, compacted: str, *, workspace_root: str | None) -> None:
    """Follow every pointer in COMPACTED and compare what it gives with ORIGINAL.

    What a pointer recalls comes out of this user's stash. Prints how many of each kind were
    followed; exits 1 if any of them does not lead back.
    """
    document, after = load_document(original), load_document(compacted).transcript
    before, session_id = document.transcript, session_id_of(original, document)
    root = os.path.abspath(workspace_root) if workspace_root else None
    with progress_bar() as progress:
        drilled = follow_all(
            before, after, root, progress, partial(recall_text, session_id=session_id)
        )
    for miss in drilled.misses:
        click.echo(f"miss: {miss}")
    total = drilled.followed.total()
    back = total - len(drilled.misses) if total else 0
    kinds = ", ".join(count(number, kind) for kind, number in sorted(drilled.followed.items()))
    lead = "pointer leads" if total == 1 else "pointers lead"
    click.echo(f"{back} of {total} {lead} back" + (f" ({kinds})" if kinds else ""))
    if drilled.misses:
        sys.exit(1)
