"""`ordinate compare` and `ordinate report` as a user meets them."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ordinate.store import open_store

from .conftest import Program

SETTINGS = (
    "dim=16", "heads=2", "layers=1", "steps=40", "batch=16", "train_lengths=[3,5]", "ood_lengths=[7]",
    "evaluation_sequences=50",
)  # fmt: skip
# In one process: workers are tested beside the executor, and cannot be given small baselines.
QUICK = ("compare", "binary_majority", "-e", "rope,none", "--quick", "--workers", "0", *SETTINGS, "lr=0.01")


def finished(store: str) -> dict[str, int]:
    """How often each run was started."""
    return {run.id: (run.folder / "log.txt").read_text().count("started") for run in open_store(store).runs()}


@pytest.mark.slow
def test_from_the_first_line_to_the_report(ordinate: Program, store: str) -> None:
    done = ordinate(*QUICK, "--store", store)
    assert done.code == 0
    assert re.search(r"6 runs, 0 done; about \d+ s with 1 worker, 1 MB in", done.err)
    assert len(re.findall(r"^\[\d/6\] binary_majority  (?:rope|none)  seed [123]  lr 0.01", done.err, re.M)) == 6
    assert "binary_majority, 3 seeds  preliminary" in done.out
    assert "Preliminary: 3 seeds where 5 are the rule." in done.out
    assert "Not enough seeds for a claim about a pair: 3 of the 6 that 2 encodings need (--seeds 6)." in done.out
    page = Path(re.findall(r"Report: (.*)", done.err)[0])
    assert page.name == "report.html" and page.stat().st_size > 1e6
    names = {path.suffix for path in page.parent.rglob("*.*")}
    assert {".html", ".md", ".csv", ".tex", ".json", ".pdf", ".png"} <= names

    before = finished(store)
    again = ordinate(*QUICK, "--store", store)
    assert again.code == 0 and again.out == done.out and "6 runs, all done" in again.err
    assert finished(store) == before and set(before.values()) == {1}

    more = ordinate(*QUICK, "--seeds", "4", "--store", store, "--json")
    assert "8 runs, 6 done" in more.err
    document = json.loads(more.out)
    assert document["tasks"][0]["seeds"] == [1, 2, 3, 4] and document["preliminary"]

    for form in ("md", "csv", "tex", "json", "html"):
        shown = ordinate("report", "--store", store, "--format", form, "-o", "-")
        assert shown.code == 0 and "binary" in shown.out
    table = list(csv.DictReader(io.StringIO(ordinate("report", "--store", store, "--format", "csv").out)))
    means = {(row["encoding"], row["split"]): float(row["mean"]) for row in table if row["mean"]}
    scores = [
        row["score"]
        for run in open_store(store).runs()
        for row in run.result["evaluation"]
        if row["split"] == "id" and run.config["model"]["encoding"] == "rope"
    ]
    assert means["rope", "id"] == pytest.approx(sum(scores) / 4)


@pytest.mark.slow
def test_a_sweep_that_grows(ordinate: Program, store: str) -> None:
    """From one rate that is far too small, up the ladder until the best one is interior."""
    arguments = [part for part in QUICK if part not in ("--quick", "lr=0.01")]
    done = ordinate(*arguments, "--seeds", "1", "--rates", "0.001", "--store", store)
    assert done.code == 0 and "learning rates: " in done.err and "seeds 1 to 1: 2 runs to do" in done.err
    pilots = {
        (run.config["lr"], run.config["model"]["encoding"])
        for run in open_store(store).runs()
        if run.config["seed"] == 0
    }
    rates = {rate for rate, _ in pilots}
    assert len(rates) >= 3 and pilots == {(rate, name) for rate in rates for name in ("rope", "none")}
    assert "preliminary" in done.out


def test_a_dry_run_tells_and_leaves_nothing(ordinate: Program, store: str) -> None:
    done = ordinate("compare", "k_back", "--store", store, "--dry-run", *SETTINGS[:5])
    assert done.code == 0 and not Path(store).exists()
    assert "k_back: alibi, learned, none, rope, sinusoidal, t5" in done.err
    assert re.search(r"48 runs, 0 done; about .* with \d workers, \d+ MB", done.err)
    million = ordinate("compare", "k_back", "--seeds", "200000", "--store", store, "--dry-run", *SETTINGS[:5])
    assert "1,200,018 runs, 0 done" in million.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare", "k_bak"), "unknown task 'k_bak': did you mean k_back?"),
        (("compare", ""), "no task was named"),
        (("compare", "k_back", "-e", ""), "no encoding was named"),
        (("compare", "k_back", "-e", "rope"), "one encoding alone (rope) is no comparison"),
        (("compare", "k_back", "-e", "rope,rope(base=10000)"), "encoding rope was named twice"),
        (("compare", "k_back", "-e", "rope,rop"), "unknown encoding 'rop'"),
        (("compare", "k_back", "--seeds", "some"), "--seeds wants a number or auto, got 'some'"),
        (("compare", "k_back", "--seeds", "0"), "seeds must be auto or a whole number of at least 1"),
        (("compare", "k_back", "--rates", "fast"), "--rates wants numbers"),
        (("compare", "k_back", "--rates", "0.1", "lr=0.1"), "give one of them"),
        (("compare", "k_back", "--quick", "--rates", "0.1"), "--quick has no sweep"),
        (("compare", "k_back", "seed=3"), "a comparison chooses its seeds itself"),
        (("compare", "k_back", "stpes=3"), "unknown key stpes: did you mean steps?"),
        (("compare", "k_back", "--workers", "-1"), "workers must be at least"),
        (
            ("compare", "k_back", "--seeds", "200000"),
            "1,200,018 runs: ask for fewer seeds, encodings or tasks, or give --yes",
        ),
        (("compare", "k_back", "--store", "Makefile"), "the store Makefile cannot be made: File exists"),
        (("report", "--store", "nowhere"), "no study in nowhere yet"),
        (("report", "--format", "doc"), "no report can be written as 'doc'"),
        (("analyze", "nothing.csv"), "cannot read nothing.csv: No such file"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_two(
    arguments: tuple[str, ...], words: str, ordinate: Program, tmp_path: Path
) -> None:
    (tmp_path / "Makefile").write_text("all: of it")
    done = ordinate(*arguments)
    assert done.code == 2 and done.out == ""
    assert words in done.err and "Traceback" not in done.err
    assert {path.name for path in tmp_path.iterdir()} <= {"Makefile", "out", "err"}


def test_a_store_of_a_newer_program(ordinate: Program, store: str) -> None:
    assert ordinate(*QUICK, "--store", store).code == 0
    result = next(Path(store).glob("*/result.json"))
    result.write_text(result.read_text().replace('"schema": 1', '"schema": 9'))
    for command in (QUICK, ("report",)):
        done = ordinate(*command, "--store", store)
        assert done.code == 2 and "was written by a newer ordinate (schema 9, this one reads 1): update" in done.err
    study = next(Path(store).glob("studies/*/study.json"))
    study.write_text(study.read_text().replace('"schema": 1', '"schema": 7'))
    done = ordinate("report", "--store", store)
    assert done.code == 2 and "schema 7" in done.err


def test_a_live_table_on_a_terminal(tmp_path: Path) -> None:
    """Drawn on a terminal of 100 columns, and gone when the verdict comes."""
    code = "from ordinate.training import baselines; baselines.SEQUENCES = 500; from ordinate.cli import main; main()"
    main_end, terminal = pty.openpty()
    command = [sys.executable, "-c", code, *QUICK, "--store", str(tmp_path)]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment) as process:
        os.close(terminal)
        seen = b""
        while True:
            try:
                part = os.read(main_end, 65536)
            except OSError:
                break
            if not part:
                break
            seen += part
    os.close(main_end)
    text = seen.decode()
    assert process.returncode == 0
    assert "Ctrl-C: stop" in text and "●" in text and "seed 1: step" in text
    assert text.rindex("Ctrl-C") < text.rindex("Not enough seeds") < text.rindex("Report: ")
