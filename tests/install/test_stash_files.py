"""The stash at an uninstall: gone if nobody needs it, kept and told if a session does."""

from contextlib import closing

from install import stash_files
from install.uninstalling import _why_kept
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body


def stashed(*, is_pointed: bool) -> None:
    with closing(Database()) as database:
        if is_pointed:
            assert SessionStash(database, "s1").keep(Body.of_text("only here"))


def test_a_stash_that_holds_nothing_goes():
    stashed(is_pointed=False)
    assert stash_files.remove(purge=False)
    assert not stash_files.folder().exists()


def test_a_stash_with_something_of_a_session_stays_and_is_told():
    stashed(is_pointed=True)
    assert not stash_files.remove(purge=False)
    assert stash_files.folder().exists()
    assert _why_kept().startswith("1 text of your sessions;")
    assert stash_files.remove(purge=True)
    assert not stash_files.folder().exists()


def test_a_stash_that_cannot_be_read_stays():
    stashed(is_pointed=True)
    for path in stash_files.folder().iterdir():
        path.write_bytes(b"rotten")
    assert not stash_files.remove(purge=False)


def test_without_a_stash_there_is_nothing_to_keep():
    assert stash_files.remove(purge=False)
