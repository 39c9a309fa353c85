from pathlib import Path

from lcc_sidecar.transcript.files import load_document, session_id_of
from tests.build import Session

UUID = "0a1b2c3d-0000-4000-8000-0123456789ab"


def written(path: Path, made: Session) -> str | None:
    path.write_bytes(made.data())
    return session_id_of(str(path), load_document(str(path)))


def test_the_name_of_a_session_file_is_its_id(tmp_path: Path):
    made = Session()
    made.says("go", sessionId="another")

    assert written(tmp_path / f"{UUID}.jsonl", made) == UUID


def test_in_a_renamed_file_the_newest_row_says_it(tmp_path: Path):
    made = Session()
    made.says("go", sessionId="the one it was forked from")
    made.says("on", sessionId="its own")
    made.rows.append({"type": "summary", "summary": "x"})

    assert written(tmp_path / "copy.jsonl", made) == "its own"


def test_other_files_are_of_no_session(tmp_path: Path):
    path = tmp_path / f"{UUID}.json"
    path.write_text('[{"role": "user", "text": "go"}]')

    assert session_id_of(str(path), load_document(str(path))) is None
