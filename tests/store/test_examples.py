"""The comparisons that come with the program."""

import importlib.util
import os
import re
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ordinate import InputError, report
from ordinate.report.attention import MOST_PANELS, attention
from ordinate.results.comparison import Comparison
from ordinate.statistics.sentences import verdicts
from ordinate.store import Store, examples
from ordinate.store.examples import ARCHIVE, open_examples
from ordinate.store.run_table import RunTable
from ordinate.studies import study_store
from ordinate.studies.collect import collect
from ordinate.studies.study_state import StudyState

ROOT = Path(__file__).parents[2]


def script() -> ModuleType:
    """The script that packs them, loaded without being run."""
    found = importlib.util.spec_from_file_location("docs_examples", ROOT / "docs" / "examples.py")
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # where its dataclasses look for their annotations
    found.loader.exec_module(module)
    return module


def shipped() -> list[Any]:
    """Those of the comparisons that could be shipped whose runs are all in the archive."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        kept = {name.split("/")[-2] for name in archive.namelist() if name.endswith("study.json")}
    return [asked for asked in script().candidates() if asked.study.id in kept]


SHIPPED = shipped()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield open_examples()


@pytest.fixture(scope="module", params=range(len(SHIPPED)), ids=[asked.title for asked in SHIPPED])
def comparison(store: Store, request: pytest.FixtureRequest) -> Comparison:
    kept = study_store.find(store, SHIPPED[request.param].study.id)
    return collect(StudyState(kept.study, store), kept.command)


def test_they_are_small_and_tell_nothing_of_where_they_were_made() -> None:
    assert ARCHIVE.stat().st_size < 6_000_000
    with zipfile.ZipFile(ARCHIVE) as archive:
        for name in archive.namelist():
            text = archive.read(name).decode("utf-8", "ignore")
            assert not re.search(r"/tmp|/home|/work|/root|--store", text), name
            if not name.endswith(".safetensors"):  # three letters in a row mean nothing among numbers
                assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", text), name
            assert Path(name).name not in ("model.safetensors", "metrics.jsonl", "claim", "checkpoint.pt")


def test_they_are_what_the_commands_would_do_today(store: Store) -> None:
    """Otherwise run those that changed, then docs/examples.py."""
    assert study_store.names(store) == [asked.study.id for asked in SHIPPED]
    assert study_store.find(store).title == "s4-k-back: fair", "the latest one"
    for asked in SHIPPED:
        kept = study_store.find(store, asked.study.id)
        assert (kept.command, kept.title) == (asked.command, asked.title)


def test_every_task_of_the_app_has_one(store: Store) -> None:
    found = {task for asked in SHIPPED for task in asked.study.tasks}
    four = {"value_at_position", "image_pattern", "copy_unique", "binary_majority"}
    assert found >= {"k_back", "first_last", "shift_pattern", "modular_sum", *four}


def test_every_one_can_be_shown(comparison: Comparison) -> None:
    (task,) = comparison.analysis.tasks
    assert not comparison.failures and {run.state for run in comparison.runs} == {"finished"}
    assert not [alarm for alarm in task.alarms if alarm.kind in ("unfinished", "failed", "damaged")]
    assert verdicts(comparison.analysis) and all(sentence.endswith(".") for sentence in verdicts(comparison.analysis))
    drawn = {curve.encoding: len(curve.steps) for curve in comparison.curves}
    assert set(drawn) == set(task.encodings) and 2 < max(drawn.values()) <= 60
    maps, model = list(attention(comparison, task)), comparison.settings[task.task]["model"]
    largest, every = maps[::2], maps[1::2]  # one head, then all of them
    assert len(largest) == len(every) == len(task.encodings)
    for one, heads in zip(largest, every, strict=True):
        count = model["layers"] * model["heads"]
        assert len(one.panels) == 1 and len(heads.panels) == (count if count <= MOST_PANELS else model["layers"])
        assert all(panel.values.sum() > 1 for panel in (*one.panels, *heads.panels))
    page = unescape(report.render(comparison, "md").replace("\\", ""))
    assert all(sentence in page for sentence in verdicts(comparison.analysis))


def test_the_command_line_reports_them(store: Store, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    words = ["-m", "ordinate", "report", SHIPPED[0].study.id, "--store", str(store.folder), "-o", str(page)]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    assert f"attention with {SHIPPED[0].study.encodings[0]}" in page.read_text()


def test_every_run_can_be_listed(store: Store) -> None:
    rows, damaged = RunTable(store).rows()
    assert not damaged and {row.state for row in rows} == {"done"}
    assert {row.task for row in rows} == {task for asked in SHIPPED for task in asked.study.tasks}
    unpacked = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(store.folder.stat().st_mtime - 60))
    assert all(row.started < unpacked for row in rows), "when they were run, not when they were unpacked"


def test_nothing_is_added_to_them(store: Store) -> None:
    with pytest.raises(InputError, match="are for reading: choose another store"):
        store.check_writable()
    assert store.remember("baselines", "a", lambda numbers: True, lambda: {"floor": 1}) == {"floor": 1}
    assert not (store.folder / "baselines").exists()


def test_they_are_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path] = []
    real = examples.unpack

    def counted(file: Path, folder: Path) -> None:
        calls.append(folder)
        real(file, folder)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not yet there"))
    monkeypatch.setattr(examples, "unpack", counted)
    first, second = open_examples(), open_examples()
    assert first.folder == second.folder == calls[0] and len(calls) == 1
    assert first.folder.parent == tmp_path / "not yet there" / "ordinate"


def test_without_a_cache_they_are_in_a_folder_of_this_process(tmp_path: Path) -> None:
    """A process of its own, so that its end can be seen."""
    (tmp_path / "file").touch()
    code = "from ordinate.store.examples import open_examples as o; print(o().folder, o().folder, len(o().runs()))"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    first, second, runs = done.stdout.split()
    assert first == second and Path(first).is_relative_to(tmp_path) and int(runs) > 100
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_two_processes_may_open_them_at_once(tmp_path: Path) -> None:
    code = "from ordinate.store.examples import open_examples as o; print(o().folder, len(o().runs()))"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    both = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = {process.communicate()[0] for process in both}
    assert len(outputs) == 1 and [process.returncode for process in both] == [0, 0]
    assert [str(path) for path in (tmp_path / "ordinate").iterdir()] == [outputs.pop().split()[0]]


def test_a_program_without_them_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(examples, "ARCHIVE", tmp_path / "none.zip")
    with pytest.raises(InputError, match=r"none\.zip cannot be read .*: install ordinate again"):
        open_examples()
