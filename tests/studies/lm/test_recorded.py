"""What was begun in a folder of checkpoints is known there, as it was asked for."""

import json
from dataclasses import replace
from pathlib import Path

from ordinate.studies.lm.recorded import FOLDER, record_study, recorded_studies
from ordinate.studies.lm.study_file import headings, load, names


def test_a_study_is_read_back_whole_and_once(tmp_path: Path) -> None:
    for name in names():  # with scalings, changes, settings and published ratios
        study = replace(load(name), typed="mine.toml")
        record_study(tmp_path, study, "abc", "ordinate study run mine.toml")
        record_study(tmp_path, study, "abc", "ordinate study run mine.toml")
        (found,), damaged = recorded_studies(tmp_path)
        assert not damaged and (found.corpus, found.command) == ("abc", "ordinate study run mine.toml")
        assert found.study == study
        assert found.study.parts[0].comparison("abc").names == study.parts[0].comparison("abc").names
        (tmp_path / FOLDER / f"{found.id}.json").unlink()


def test_studies_that_come_with_the_program_are_not_recorded(tmp_path: Path) -> None:
    record_study(tmp_path, load("drop"), "abc", "ordinate study run drop")
    assert recorded_studies(tmp_path) == ([], []) and set(headings()) == set(names())


def test_what_was_changed_by_hand_is_named(tmp_path: Path) -> None:
    record_study(tmp_path, replace(load("drop"), typed="mine.toml"), "abc", "command")
    (path,) = (tmp_path / FOLDER).iterdir()
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"command": "rm -r /"}))
    found, damaged = recorded_studies(tmp_path)
    assert not found and "its sum is another" in damaged[0]
