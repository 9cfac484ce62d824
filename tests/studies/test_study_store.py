"""What was asked for is found again, or its loss is told in one sentence."""

import json
import os
import shutil
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from ordinate import InputError
from ordinate.store import Store
from ordinate.store.documents import SCHEMA, content_sum
from ordinate.studies import plan, study_store

from . import made


@pytest.fixture
def full(tmp_path: Path) -> Store:
    """A store with three studies, the last of which was asked for first."""
    store = Store(tmp_path / "runs")
    for age, seeds in enumerate((1, 2, 3)):
        kept = study_store.save(store, made.study(seeds=seeds, fixed=True), f"ordinate compare {seeds}")
        when = 1_000_000 - age
        os.utime(kept.folder / "study.json", (when, when))
    return store


def renamed(folder: Path, content: dict[str, Any]) -> Path:
    """A study with another content, and the name that belongs to it."""
    content = {key: value for key, value in content.items() if key != "sum"}
    named = plan.name_of({key: value for key, value in content.items() if key not in ("schema", "command")})
    (folder / "study.json").write_text(json.dumps(content | {"sum": content_sum(content)}))
    return folder.rename(folder.with_name(named))


def test_kept_and_found(tmp_path: Path) -> None:
    store, asked = Store(tmp_path), made.study(seeds="auto")
    kept = study_store.save(store, asked, "ordinate compare something")
    assert kept.folder == tmp_path / "studies" / asked.id
    found = study_store.find(store, asked.id)
    assert found == kept and found.study.id == asked.id and found.command == "ordinate compare something"


def test_the_latest_is_the_one_asked_for_last(full: Store) -> None:
    assert study_store.find(full).command == "ordinate compare 1"
    study_store.save(full, made.study(seeds=3, fixed=True), "ordinate compare again")
    assert study_store.find(full).command == "ordinate compare again"
    assert len(study_store.names(full)) == 3


def test_found_by_its_first_digits(full: Store) -> None:
    for name in study_store.names(full):
        start = next(
            name[:n] for n in range(1, 13) if sum(other.startswith(name[:n]) for other in study_store.names(full)) == 1
        )
        assert study_store.find(full, start).study.id == name


def test_ambiguous_digits_are_refused(full: Store) -> None:
    name = study_store.names(full)[0]
    other = full.folder / "studies" / (name[:6] + "000000")
    shutil.copytree(full.folder / "studies" / name, other)
    with pytest.raises(InputError, match=f"2 studies start with '{name[:3]}': give more digits"):
        study_store.find(full, name[:3])
    assert study_store.find(full, name).study.id == name


def test_none_yet(tmp_path: Path) -> None:
    for store in (Store(tmp_path / "nowhere"), Store(tmp_path)):
        with pytest.raises(InputError, match=r"no study in .* yet: start one"):
            study_store.find(store)
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "0123456789ab").mkdir()  # without its document
    with pytest.raises(InputError, match="no study"):
        study_store.find(Store(tmp_path), "0123456789ab")


@pytest.mark.parametrize("start", ["../x", "..", "/", "x/../", "*", "zzz", "\0"])
def test_what_is_no_name_is_not_found(start: str, full: Store) -> None:
    outside = full.folder / "x"
    outside.mkdir()
    shutil.copy(study_store.find(full).folder / "study.json", outside)
    with pytest.raises(InputError, match="no study"):
        study_store.find(full, start)


def test_a_newer_program_wrote_it(full: Store) -> None:
    path = study_store.find(full).folder / "study.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": SCHEMA + 1}))
    with pytest.raises(InputError, match=r"written by a newer ordinate \(schema \d+, this one reads \d+\): update$"):
        study_store.find(full)


def test_what_a_newer_program_wrote_is_not_written_over(full: Store) -> None:
    kept = study_store.find(full)
    path = kept.folder / "study.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": SCHEMA + 1}))
    before = path.read_bytes()
    with pytest.raises(InputError, match="newer ordinate"):
        study_store.save(full, kept.study, "ordinate compare again")
    assert path.read_bytes() == before


@pytest.mark.parametrize("schema", [1, SCHEMA + 1])
def test_a_study_of_another_schema_is_refused(schema: int, full: Store) -> None:
    """In one sentence; it stays as it is, and hides no other."""
    folder = renamed(
        study_store.find(full).folder,
        json.loads((study_store.find(full).folder / "study.json").read_text()) | {"schema": schema},
    )
    before, when = (folder / "study.json").read_bytes(), 2_000_000
    os.utime(folder / "study.json", (when, when))
    age, remedy = ("an older", "use another store") if schema < SCHEMA else ("a newer", "update")
    for start in ("", folder.name[:6]):
        with pytest.raises(InputError) as error:
            study_store.find(full, start)
        words = f"was written by {age} ordinate (schema {schema}, this one reads {SCHEMA}): {remedy}"
        assert str(error.value) == f"{folder / 'study.json'} {words}"
    assert folder.name in study_store.names(full) and (folder / "study.json").read_bytes() == before
    others = [name for name in study_store.names(full) if name != folder.name]
    assert [study_store.find(full, name).study.id for name in others] == others


def test_the_study_that_a_command_made(full: Store) -> None:
    found = study_store.find_by_command(full, "ordinate compare 2")
    assert found is not None and found.study == made.study(seeds=2, fixed=True)
    assert study_store.find_by_command(full, "ordinate compare 4") is None
    renamed(found.folder, json.loads((found.folder / "study.json").read_text()) | {"schema": 1})
    assert study_store.find_by_command(full, "ordinate compare 2") is None  # of another schema: planned anew


def test_cut_short(full: Store) -> None:
    path = study_store.find(full).folder / "study.json"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match=r"study.json is damaged \(not JSON\)"):
        study_store.find(full)


def places(content: Any) -> list[tuple[Any, ...]]:
    """The paths to all parts of a document."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [()] + [(key, *rest) for key, value in inner for rest in places(value)]


def test_any_damage_is_told(full: Store) -> None:
    """Whatever part of the document has another value: it is refused and its file named, unless it means the same."""
    kept = study_store.find(full)
    path = kept.folder / "study.json"
    whole, values = path.read_text(), cycle([None, 7, -1.5, "word", [], {}, ["word"], {"a": 1}])
    told = 0
    for place in places(json.loads(whole)):
        if place[:2] == ("bases", 1):  # as the first
            continue
        content: Any = {"root": json.loads(whole)}
        at, last = content, "root"
        for key in place:
            at, last = at[last], key
        at[last] = next(values)
        path.write_text(json.dumps(content["root"]))
        try:
            assert study_store.find(full, kept.study.id).study == kept.study
        except InputError as error:
            assert "study.json is damaged" in str(error) or "newer ordinate" in str(error)
            told += 1
    assert told > 50
