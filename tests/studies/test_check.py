"""What `store check` calls sound can be used: gone on with, reported, and finished as if nothing had happened."""

import json
import os
import shutil
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from tests.fuzz.damage import damage
from tests.fuzz.stores import PAIRS, SETTINGS, TASK, whole

from ordinate import InputError
from ordinate.core.errors import OtherVersionError
from ordinate.report import render, write
from ordinate.store import Run, Store
from ordinate.store.check import set_aside
from ordinate.store.documents import content_sum, write_document
from ordinate.store.pack import pack
from ordinate.store.run_table import RunTable
from ordinate.store.unpack import unpack
from ordinate.studies import study_store
from ordinate.studies.check import faults, runs_of
from ordinate.studies.collect import collect
from ordinate.studies.command import check_command
from ordinate.studies.plan import name_of
from ordinate.studies.study_state import StudyState
from ordinate.training import checkpoint, resolve, train
from ordinate.training.baselines import possible

UNFINISHED = resolve(SETTINGS | dict(task=TASK, encoding="t5"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A comparison of four runs, and a run that was interrupted."""
    shutil.copytree(whole(), tmp_path / "runs")
    return Store(tmp_path / "runs")


def use(store: Store) -> None:
    """All that anybody does with it."""
    kept = study_store.find(store)
    assert not collect(StudyState(kept.study, store), kept.command).failures
    assert train(UNFINISHED, store).result.steps == 8


def problems(store: Store) -> list[str]:
    return [fault.problem for fault in faults(store) if not fault.leftover and not fault.other]


def test_a_whole_store_is_sound(store: Store) -> None:
    assert not list(faults(store))
    use(store)
    assert not list(faults(store))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_called_sound_can_be_used(store: Store, seed: int) -> None:
    draw = Random(f"sound {seed}")
    needed = runs_of(store, study_store.find(store)) | {UNFINISHED.id, study_store.find(store).folder.name}
    files = sorted(path for path in store.folder.rglob("*") if path.is_file() and path.parent.name in needed)
    path = draw.choice(files)
    damage(draw, path)
    found = problems(store)
    if not found:
        use(store)
    assert all(path.parent.name in problem for problem in found), "nothing else is called damaged"


@pytest.mark.parametrize("name", ["log.txt", "error.txt"])
def test_what_nobody_reads_back_is_no_damage(store: Store, name: str) -> None:
    for run in store.runs():
        (run.folder / name).write_bytes(b"\xff\x00")
    assert not problems(store)
    use(store)


def shortened(run: Run) -> None:
    lines = run.journal.path.read_bytes().splitlines(keepends=True)
    run.journal.path.write_bytes(b"".join(lines[:3]))


def of_another(run: Run) -> None:
    content = torch.load(run.folder / checkpoint.NAME, weights_only=True)
    torch.save(content | {"owner": "0" * 12}, run.folder / checkpoint.NAME)


def any_zip(run: Run) -> None:
    with zipfile.ZipFile(run.folder / checkpoint.NAME, "w") as archive:
        archive.writestr("x", "y")


def one_bit(run: Run) -> None:
    """Of a weight, so that the file unpacks as before."""
    path = run.folder / checkpoint.NAME
    with zipfile.ZipFile(path) as archive:
        part = max(archive.infolist(), key=lambda part: part.file_size)
        start = part.header_offset + 30 + len(part.filename)
        data = bytearray(path.read_bytes())
        start += int.from_bytes(data[part.header_offset + 28 : part.header_offset + 30], "little")
    data[start + 2] ^= 1
    path.write_bytes(data)


def no_norms(run: Run) -> None:
    lines = run.journal.path.read_text().splitlines(keepends=True)
    run.journal.path.write_text("".join(line.replace("embedding_norm", "anotherss_norm") for line in lines))


@pytest.mark.parametrize(
    ("do", "words"),
    [
        (shortened, "shorter than its checkpoint says"), (lambda run: run.journal.path.unlink(), "shorter than"),
        (of_another, "belongs to another configuration"), (any_zip, "is not a checkpoint"),
        (one_bit, "is not a checkpoint"), (no_norms, "not what its checkpoint goes with"),
    ],
)  # fmt: skip
def test_an_interrupted_run_that_cannot_go_on_is_told(store: Store, do: Callable[[Run], None], words: str) -> None:
    run = store.run(UNFINISHED.id)
    do(run)
    (problem,) = problems(store)
    assert words in problem and run.id in problem
    with pytest.raises(InputError, match=words):
        train(UNFINISHED, store)
    assert set_aside(store, run.folder) and not problems(store)
    use(store)


@pytest.mark.parametrize("name", ["model.safetensors", "attention.safetensors", "metrics.jsonl", "result.json"])
def test_one_changed_byte_of_a_finished_run_is_told(store: Store, name: str) -> None:
    run = next(run for run in store.runs() if run.done)
    data = (run.folder / name).read_bytes()
    at = data.rindex(b"0.") + 2 if name.endswith(("json", "jsonl")) else len(data) - 3
    (run.folder / name).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    (problem,) = problems(store)
    assert str(run.folder / name) in problem


def test_what_lacks_its_head_is_told(store: Store) -> None:
    run, kept = next(run for run in store.runs() if run.done), study_store.find(store)
    (run.folder / "config.json").unlink()
    (kept.folder / "report.html").touch()
    write_document(kept.folder / "study.json", {})
    told = problems(store)
    assert len(told) == 2 and "config.json" in told[0] and "study.json is damaged (its command is none)" in told[1]
    (kept.folder / "study.json").unlink()
    assert "is damaged (it has no study.json)" in problems(store)[1]


def test_odd_things_at_odd_places_are_told_and_set_aside(store: Store) -> None:
    one, two, *_ = (run.folder for run in store.runs() if run.done)
    (one / ".lock").unlink(missing_ok=True)
    (one / ".lock").mkdir()
    (two / "log.txt").unlink()
    (two / "log.txt").symlink_to("/etc/hostname")
    (store.folder / ("0" * 12)).touch()
    told = problems(store)
    assert len(told) == 3 and "is named like a run and is none" in told[0]
    assert all("is not a file: move it away" in problem for problem in told[1:])
    with pytest.raises(InputError, match=r"\.lock is not a file"):
        Run(one).claim.free()
    (store.folder / "damaged").symlink_to("studies")
    found = [fault.path for fault in faults(store)]
    with pytest.raises(InputError, match="where what is damaged would go, is not a folder"):
        set_aside(store, found[0])
    (store.folder / "damaged").unlink()
    assert all(set_aside(store, path) for path in found) and not problems(store)


def test_what_somebody_writes_just_now_is_no_leftover(store: Store) -> None:
    fresh = study_store.find(store).folder / ".report.html.1.tmp"
    fresh.touch()
    assert not list(faults(store))
    os.utime(fresh, (time.time() - 1000,) * 2)
    assert [fault.path for fault in faults(store)] == [fresh]


def test_commands_name_the_store_where_it_is_now(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert study_store.find(Store(Path("runs"))).again.endswith(PAIRS[-1])
    os.rename("runs", "my store")
    kept = study_store.find(Store(Path("my store")))
    assert kept.again == f"{kept.command} --store 'my store'" and "--store" not in kept.command


def retold(folder: Path, content: dict[str, Any]) -> None:
    """Another study, by somebody who knows of names and sums."""
    del content["sum"]
    named = name_of({key: part for key, part in content.items() if key not in ("schema", "command", "title")})
    (folder / "study.json").write_text(json.dumps(content | {"sum": content_sum(content)}))
    os.rename(folder, folder.with_name(named))


@pytest.mark.parametrize(
    "command",
    [
        "", 3, None, "rm -rf x", "ordinate app", "ordinate compare k_back --file /etc/passwd", "ordinate compare 'x",
        "ordinate compare k_back \x1b[2J", "ordinate compare k_back --yes",
    ],
)  # fmt: skip
def test_a_command_that_nobody_wrote_is_not_run(store: Store, command: object) -> None:
    path = study_store.find(store).folder / "study.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"command": "ordinate compare other"}))
    with pytest.raises(InputError, match=r"study\.json is damaged \(its sum is another\)"):
        study_store.find(store)
    retold(path.parent, content | {"command": command})
    with pytest.raises(InputError, match=r"study\.json is damaged"):
        study_store.find(store)


def test_the_store_of_an_older_command_is_left_out() -> None:
    text = "ordinate compare k_back --encodings rope,none --store 'my runs' --seeds 3 lr=0.1"
    assert check_command(text) == "ordinate compare k_back --encodings rope,none --seeds 3 lr=0.1"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("seeds",), 10**7), (("seeds",), 0), (("seeds",), True), (("rates",), [float(2**999)] * 2), (("quick",), 3),
        (("rates",), [-1.0]), (("gave_up",), ["\x1b[2J"]), (("bases",), []), (("bases", 0, "encoding"), "none"),
        (("bases", 0, "config", "evaluation_sequences"), 10**9), (("bases", 0, "config", "test_lengths"), []),
        (("bases", 0, "config", "train_lengths"), [1, 2, 3]), (("bases", 0, "config", "steps"), 10**15),
        (("bases", 0, "config", "batch"), 0), (("bases", 0, "config", "model", "layers"), 10**9),
    ],
)  # fmt: skip
def test_a_study_of_a_stranger_is_as_strict_as_one_asked_for(
    store: Store, place: tuple[str | int, ...], value: object
) -> None:
    folder = study_store.find(store).folder
    content = json.loads((folder / "study.json").read_text())
    at = content
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    retold(folder, content)
    with pytest.raises(InputError, match=r"cannot be used here|is damaged") as refused:
        study_store.find(store)
    assert len(str(refused.value)) < 600


def test_a_study_of_an_encoding_that_is_not_here_is_not_damaged(store: Store) -> None:
    folder = study_store.find(store).folder
    retold(folder, json.loads((folder / "study.json").read_text().replace("learned(rows=6)", "mine(rows=6)")))
    with pytest.raises(OtherVersionError, match="unknown encoding 'mine'"):
        study_store.find(store)
    assert not problems(store)


def test_an_interrupted_run_goes_on_where_it_was_unpacked(store: Store, tmp_path: Path) -> None:
    assert pack(store, tmp_path / "all.zip") == []
    unpack(tmp_path / "all.zip", tmp_path / "theirs")
    there, here = train(UNFINISHED, Store(tmp_path / "theirs")), train(UNFINISHED, store)
    assert "continued at step" in (there.folder / "log.txt").read_text()
    assert there.result.evaluation == here.result.evaluation
    weights = [(run.folder / "model.safetensors").read_bytes() for run in (there, here)]
    assert weights[0] == weights[1]


def test_packing_tells_what_it_leaves_out(store: Store, tmp_path: Path) -> None:
    busy, *rest = (run for run in store.runs() if run.done)
    (busy.folder / "result.json").unlink()
    odd = rest[0].folder / "a\nb"
    odd.touch()
    (store.folder / "photos").mkdir()
    (store.folder / "photos" / "me.png").touch()
    with busy.claimed() as mine:
        assert mine
        left = pack(store, tmp_path / "all.zip")
    assert sorted(left) == sorted(
        [f"{busy.folder} (another process works on it)", f"{odd} (its name is not a valid file name)"]
    )
    names = zipfile.ZipFile(tmp_path / "all.zip").namelist()
    assert not any(busy.id in name or "photos" in name for name in names)


@pytest.mark.parametrize("name", ["result.json", "config.json", "checkpoint.pt", "env.json"])
def test_a_link_that_leads_nowhere_is_damage(store: Store, name: str) -> None:
    """And not something that is still to come: whoever waits for it waits for ever."""
    run = store.run(UNFINISHED.id) if name == "checkpoint.pt" else next(run for run in store.runs() if run.done)
    (run.folder / name).unlink()
    (run.folder / name).symlink_to("nowhere")
    (problem,) = problems(store)
    assert name in problem
    if name == "result.json":
        kept = study_store.find(store)
        assert run.id in collect(StudyState(kept.study, store), kept.command).failures


def test_what_is_no_folder_of_studies_is_told(store: Store) -> None:
    folder = study_store.find(store).folder
    (folder / "study.json").unlink()
    (folder / "study.json").symlink_to("nowhere")
    assert "study.json cannot be read" in problems(store)[0]
    shutil.rmtree(store.folder / "studies")
    (store.folder / "studies").touch()
    assert problems(store) == [f"{store.folder / 'studies'} is not a folder: move it away"]


def test_a_list_waits_for_no_pipe(store: Store) -> None:
    (store.folder / "table.jsonl").unlink(missing_ok=True)
    os.mkfifo(store.folder / "table.jsonl")
    run = next(run for run in store.runs() if run.done)
    (run.folder / "result.json").unlink()
    os.mkfifo(run.folder / "error.txt")
    table = RunTable(store)
    rows, damaged = table.rows()
    table.save()
    assert len(rows) == 5 and not damaged


def test_a_list_knows_of_a_configuration_that_was_damaged_since(store: Store) -> None:
    table = RunTable(store)
    assert len(table.rows()[0]) == 5
    run = next(run for run in store.runs() if run.done)
    os.truncate(run.folder / "config.json", 50)
    rows, damaged = table.rows()
    assert len(rows) == 4 and damaged.keys() == {run.id}


def test_changed_baselines_are_told_and_computed_again(store: Store) -> None:
    path = next((store.folder / "baselines").iterdir())
    whole = json.loads(path.read_text())
    numbers = {name: value for name, value in whole.items() if name != "sum"}
    ours = partial(possible, UNFINISHED.make_task())
    for text in (json.dumps(whole | {"floor": 0.99}), json.dumps(numbers).replace("0.", "9e400", 1)):
        path.write_text(text)
        assert len(problems(store)) == 1 and "its sum is another" in problems(store)[0]
        assert store.remember("baselines", path.stem, ours, lambda: numbers) == numbers and not problems(store)
    path.write_text(json.dumps(numbers | {"floor": 0.99}))  # as older programs wrote them, without a sum: not trusted
    assert store.remember("baselines", path.stem, ours, lambda: numbers) == numbers
    for other in ({"chance": -1.0}, {"majority": 2.0}, {"floor": 0.99}):  # by somebody who knows of sums
        path.write_text(json.dumps(numbers | other | {"sum": content_sum(numbers | other)}))
        assert store.remember("baselines", path.stem, ours, lambda: numbers) == numbers


def test_a_report_follows_no_link_of_a_store(store: Store, tmp_path: Path) -> None:
    kept = study_store.find(store)
    found = collect(StudyState(kept.study, store), kept.command)
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(kept.folder / "tables", ignore_errors=True)
    (kept.folder / "tables").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="tables is a link, which is not followed"):
        write(found, kept.folder, figures=False)
    (kept.folder / "tables").unlink()
    (kept.folder / "tables").touch()
    with pytest.raises(InputError, match="tables is not a folder"):
        write(found, kept.folder, figures=False)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_run_that_may_not_be_read_is_left_out(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = next(run for run in store.runs() if run.done)
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).parent != run.folder and real(path, mode))
    (told,) = pack(store, tmp_path / "all.zip")
    assert told == f"{run.folder} (attention.safetensors: no file that can be read)"


def test_a_pipe_for_an_attention_map_is_told_in_the_report_and_not_waited_for(store: Store) -> None:
    kept = study_store.find(store)
    for path in store.folder.glob("*/attention.safetensors"):
        path.unlink()
        os.mkfifo(path)
    assert "The attention maps cannot be read" in render(collect(StudyState(kept.study, store), kept.command), "html")


def test_what_is_packed_of_a_study_can_be_unpacked_and_has_every_run_that_is_left(store: Store, tmp_path: Path) -> None:
    """Beside files of somebody else, which have no place in an archive and are named."""
    kept = study_store.find(store)
    run = next(iter(runs_of(store, kept)))
    (store.folder / run / "notes").mkdir()
    (store.folder / run / "notes" / "x.txt").write_text("mine")
    (left,) = pack(store, tmp_path / "all.zip")
    assert "x.txt (it has no place in a store)" in left
    unpack(tmp_path / "all.zip", tmp_path / "new")
    assert {own.id for own in Store(tmp_path / "new").runs()} == {own.id for own in store.runs()}
    assert runs_of(store, kept) >= {row.run for row in collect(StudyState(kept.study, store), kept.command).runs}
