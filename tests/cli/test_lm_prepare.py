"""`ordinate lm prepare` as a user meets it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ordinate.cli import app
from ordinate.text import open_corpus


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    for number in range(9):
        (tmp_path / f"notes/{number}.md").write_text(f"note {number}: " + "to be or not to be " * number)
    (tmp_path / "notes/last.md").write_bytes(b"\xff\xfe")
    return "text:notes"


def test_a_corpus_is_announced_made_and_told(notes: str) -> None:
    options = [notes, "--vocabulary", "300", "--valid", "0.2", "--workers", "0"]
    ahead = CliRunner().invoke(app, ["lm", "prepare", *options, "--dry-run"])
    assert ahead.stdout == "" and not Path("data").exists()
    assert (
        "text: 10 files, about" in ahead.stderr and "1 shard, 0 done" in ahead.stderr and "data/notes" in ahead.stderr
    )
    done = CliRunner().invoke(app, ["lm", "prepare", *options])
    assert done.exit_code == 0
    assert "learning a tokenizer" in done.stderr and "tokenizing" in done.stderr
    assert "to train on" in done.stdout and "1 document held bytes that are not UTF-8" in done.stdout
    again = CliRunner().invoke(app, ["lm", "prepare", *options, "--json"])
    summary, corpus = json.loads(again.stdout), open_corpus("data/notes")
    assert "1 shard, 1 done, in data/notes" in again.stderr
    assert summary["fingerprint"] == corpus.fingerprint and summary["train"]["tokens"] == corpus.tokens("train")
    assert summary["train"]["documents"] + summary["valid"]["documents"] == 10
