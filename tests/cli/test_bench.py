"""The costs of encodings, at sizes that take a moment."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from ordinate import InputError
from ordinate.cli import bench
from ordinate.training import overhead
from ordinate.training.environment import describe
from ordinate.training.overhead import BenchSizes, Overhead, measure
from ordinate.training.step_memory import MeasuredLayer, peak

from .conftest import Program

TINY = ("dim=16", "heads=2", "layers=2", "batch=1", "length=16")
SMALL = BenchSizes(dim=24, heads=2, layers=2, batch=1, length=16, rounds=1, memory_length=0)


def test_the_document_has_all_costs(ordinate: Program) -> None:
    done = ordinate("bench", *TINY, "--encodings", "none,learned,shaw(farthest=3)", "--quick", "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["sizes"] | {"length": 16, "rounds": 3, "memory_length": 0} == document["sizes"]
    assert document["machine"]["torch"]
    none, learned, shaw = document["rows"]
    assert (none["parameters"], learned["parameters"], learned["parameters_per_layer"]) == (0, 16 * 16, 0)
    assert shaw["parameters"] == 2 * shaw["parameters_per_layer"] > 0
    for row in document["rows"]:
        assert row["step"]["best"] > 0 and row["decoding"]["seconds"] > 0
        assert row["memory"] is None and row["problems"] == []
        assert row["path"] == "explicit"
    assert "3/3  shaw(farthest=3)  done" in done.err and "left" in done.err


def test_mistakes_are_one_sentence_and_exit_two(ordinate: Program) -> None:
    for arguments, words in (
        (("--encodings", "ropee"), "unknown encoding 'ropee': did you mean rope"),
        (("--encodings", "rope", "heads=3"), "3 heads do not divide"),
        (("--encodings", "rope", "width=3"), "unknown key width"),
        (("--encodings", "rope", "rounds=0"), "rounds must be at least 1"),
        (("--encodings", ","), "--encodings is empty"),
        (("--quick", "--memory-length", "64"), "--quick measures no memory"),
        (("--json", "--markdown"), "give one of them"),
    ):
        done = ordinate("bench", *arguments)
        assert done.code == 2
        assert words in done.err
        assert "Traceback" not in done.err and not done.out


def test_each_encoding_is_given_what_it_reads() -> None:
    names = ["rope_2d", "segment", "graph", "abacus", "mrope"]
    rows = {row.encoding: row for row in measure(names, SMALL)}
    assert {name: row.problems for name, row in rows.items()} == dict.fromkeys(names, ())
    assert [rows[name].axes for name in names] == [2, 1, 1, 1, 3]
    assert all(row.step and row.decoding for row in rows.values())


def test_what_cannot_work_at_these_sizes_does_not_hide_the_others() -> None:
    odd = BenchSizes(dim=15, heads=3, layers=1, batch=1, length=16, rounds=1, memory_length=0)
    rope, none = measure(["rope", "none"], odd)
    assert rope.step is None and "even head width" in rope.problems[0]
    assert none.step is not None
    with pytest.raises(InputError, match="even head width"):
        overhead.check(["rope"], odd)


@pytest.mark.slow
def test_memory_is_measured_in_a_process_of_its_own() -> None:
    found = peak(MeasuredLayer("t5", 32, 2, 2048))
    assert not isinstance(found, str)
    hidden = 2048 * 32 * 4  # bytes of one hidden state
    assert 10 * hidden < found.bytes < 1000 * hidden
    assert found.axes == 1 and found.path
    refused = peak(MeasuredLayer("rope", 15, 3, 64))
    assert isinstance(refused, str) and "even head width" in refused


def test_an_interrupted_measurement_keeps_what_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def some(names: list[str], sizes: BenchSizes) -> Iterator[Overhead]:
        yield Overhead(names[0], 1, 0, 0, "fused", None, "fused", None)
        raise KeyboardInterrupt

    monkeypatch.setattr(overhead, "measure", some)
    rows, ended = bench._measure(["none", "rope"], SMALL)
    assert [row.encoding for row in rows] == ["none"] and not ended
    assert "interrupted after 1 of 2" in capsys.readouterr().err
    document = {"machine": asdict(describe()), "sizes": asdict(SMALL), "rows": [asdict(row) for row in rows]}
    bench._print(document, as_json=False, as_markdown=True)
    assert "| none | 0 | 0 | - | - | - | fused |" in capsys.readouterr().out


def test_help_answers_without_torch() -> None:
    code = (
        "import sys\nsys.argv = ['ordinate', 'bench', '--help']\nfrom ordinate.cli import main\n"
        "try:\n    main()\nfinally:\n    print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--memory-length" in done.stdout
    assert done.stdout.strip().endswith("False")


def test_the_page_of_costs_is_written_from_what_was_measured() -> None:
    file = Path(__file__).parents[2] / "docs" / "cost.py"
    spec = importlib.util.spec_from_file_location("cost", file)
    assert spec is not None and spec.loader is not None
    cost = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cost)
    assert cost.page() == cost.PAGE.read_text()
