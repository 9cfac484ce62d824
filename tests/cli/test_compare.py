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
from ordinate.store.documents import SCHEMA

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
    assert re.search(r"^6 runs, 0 done; .*\d+ s with 1 worker, less where .*; 1 MB in", done.err, re.M)
    assert re.search(r"^3 seeds can claim nothing about two encodings: that takes 5 seeds$", done.err, re.M)
    assert (
        len(
            re.findall(
                r"^\[\d/6\] binary_majority  (?:rope|none)  seed [123]  lr 0.01  learned at step \d+, OOD length 7: ",
                done.err,
                re.M,
            )
        )
        == 6
    )
    assert "binary_majority, 3 seeds  preliminary" in done.out
    assert "Preliminary: one learning rate (0.01) for all encodings, not tuned." in done.out
    assert "Preliminary: 3 seeds where 6 are the rule." in done.out
    assert "Not enough seeds for a claim at OOD length 7 (1.4x): " in done.out
    assert re.search(r"^A claim about scores takes 5 seeds; there are 3\.$", done.out, re.M)
    lines = done.out.splitlines()
    header = next(number for number, line in enumerate(lines) if line.startswith("encoding"))
    words = set(" ".join(lines[max(0, header - 2) : header + 1]).split())  # a title may be broken
    assert words >= {"encoding", "verdict", "learned", "learn", "reach", "gap", "kept", "ID", "OOD", "(1.4x)"}
    page = Path(re.findall(r"Report: (.*)", done.err)[0])
    assert page.name == "report.html" and page.stat().st_size > 1e6
    names = {path.suffix for path in page.parent.rglob("*.*")}
    assert {".html", ".md", ".csv", ".tex", ".json", ".pdf", ".png"} <= names

    before = finished(store)
    again = ordinate(*QUICK, "--store", store)
    assert again.code == 0 and again.out == done.out and "6 runs, all done" in again.err
    assert finished(store) == before and set(before.values()) == {1}

    more = ordinate(*QUICK, "--seeds", "5", "--store", store, "--json")
    assert "10 runs, 6 done" in more.err and "can claim nothing" not in more.err
    document = json.loads(more.out)
    assert document["tasks"][0]["seeds"] == [1, 2, 3, 4, 5] and document["preliminary"]

    for form in ("md", "csv", "tex", "json", "html"):
        shown = ordinate("report", "--store", store, "--format", form, "-o", "-")
        assert shown.code == 0 and "binary" in shown.out
    table = list(csv.DictReader(io.StringIO(ordinate("report", "--store", store, "--format", "csv").out)))
    means = {(row["encoding"], row["split"]): float(row["mean"]) for row in table if row["mean"]}
    scores = [
        row.score
        for run in open_store(store).runs()
        for row in run.result.evaluation
        if row.split == "id" and run.config["model"]["encoding"] == "rope"
    ]
    assert means["rope", "id"] == pytest.approx(sum(scores) / 5)


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
    ladder = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1]
    for encoding in ("rope", "none"):  # each has a grid of its own, without a hole
        places = sorted(ladder.index(rate) for rate, name in pilots if name == encoding)
        assert len(places) >= 3 and places == list(range(places[0], places[-1] + 1)) and 4 in places
    assert "preliminary" in done.out


def test_a_dry_run_tells_and_leaves_nothing(ordinate: Program, store: str) -> None:
    done = ordinate("compare", "k_back", "--store", store, "--dry-run", *SETTINGS[:5])
    assert done.code == 0 and not Path(store).exists()
    assert "k_back: alibi, learned, none, rope, sinusoidal, t5" in done.err
    assert re.search(r"^at least 54 runs, 0 done; .* with \d+ workers?, less .*; \d+ MB in ", done.err, re.M)
    many = ordinate("compare", "k_back", "--seeds", "10000", "--store", store, "--dry-run", *SETTINGS[:5])
    assert "60,018 runs, 0 done" in many.err


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
        *(
            (("compare", "k_back", "--within", time), f"--within wants a time, as in 90s, 10m or 1.5h, got {time!r}")
            for time in ("0", "0m", "-1m", "abc", "nan", "inf", "nanh", "", "m", "10x", "1m30s")
        ),
        (("compare", "k_back", "--within", "10m", "--quick"), "--within plans the seeds itself"),
        (("compare", "k_back", "--within", "10m", "--seeds", "auto"), "--within plans the seeds itself"),
        (
            ("compare", "k_back", "--within", "1s", *SETTINGS[:5]),
            "1 s are too short for any claim about these encodings",
        ),
        (("compare", "k_back", "--rates", "0.1", "lr=0.1"), "give one of them"),
        (("compare", "k_back", "--quick", "--rates", "0.1"), "--quick has no sweep"),
        (("compare", "k_back", "seed=3"), "a comparison chooses its seeds itself"),
        (("compare", "k_back", "stpes=3"), "unknown key stpes: did you mean steps?"),
        (("compare", "k_back", "--workers", "-1"), "workers must be at least"),
        (
            ("compare", "k_back", "--seeds", "10000"),
            "60,018 runs: choose fewer seeds, encodings or tasks, or give --yes",
        ),
        (("compare", "k_back", "--seeds", "200000"), "1,200,018 runs, and a comparison has at most 100,000"),
        (("compare", "k_back", "--store", "Makefile"), "Makefile is a file, not a folder of runs"),
        (("compare", "k_back", "--store", "9" * 400, "--dry-run"), "(File name too long): choose another with --store"),
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
    result.write_text(result.read_text().replace('"schema": 2', '"schema": 9'))
    words = f"was written by a newer ordinate (schema 9, this one reads {SCHEMA}): update"
    done = ordinate(*QUICK, "--store", store)  # all other runs are done, and are reported
    assert done.code == 1 and words in done.err and f"ordinate store check --store {store} shows more" in done.err
    done = ordinate("report", "--store", store, "--format", "md")  # of what can be read, and what cannot is named
    assert done.code == 0 and words in done.out and result.parent.name in done.out
    study = next(Path(store).glob("studies/*/study.json"))
    study.write_text(study.read_text().replace('"schema": 2', '"schema": 7'))
    done = ordinate("report", "--store", store)
    assert done.code == 2 and "schema 7" in done.err


def aged(store: Path) -> None:
    """As if an older version had written all of it."""
    for path in [*store.glob("*/result.json"), *store.glob("*/env.json"), *store.glob("studies/*/study.json")]:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 1}))


@pytest.mark.slow
def test_what_an_older_version_wrote_is_left_as_it_is_and_never_mixed(
    ordinate: Program, store: str, tmp_path: Path
) -> None:
    folder = Path(store)
    assert ordinate(*QUICK, "--store", store).code == 0
    aged(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix == ".json"}
    sentence = f"was written by an older ordinate (schema 1, this one reads {SCHEMA}): use another store"
    for words in (("report",), QUICK):
        refused = ordinate(*words, "--store", store)
        assert refused.code == 2 and refused.out == "" and f"study.json {sentence}" in refused.err.splitlines()[-1]
        assert refused.err.count("\n") == 1 or words == QUICK  # which prints its forecast first
    listed = ordinate("status", "--store", store)
    assert listed.code == 1 and listed.err.count(sentence) == 6
    assert {path: path.read_bytes() for path in before} == before
    again = ordinate(*QUICK, "--store", str(tmp_path / "another"))
    assert again.code == 0 and "6 runs, 0 done" in again.err  # none of the old ones counts


def test_a_live_table_on_a_terminal(tmp_path: Path) -> None:
    """Drawn on a terminal of 100 columns, and gone when the verdict comes."""
    code, text = _on_terminal(tmp_path)
    assert code == 0
    assert "Ctrl-C: stop" in text and "●" in text  # runs so short may end between two pictures of their steps
    assert text.rindex("Ctrl-C") < text.rindex("Not enough seeds") < text.rindex("Report: ")


def _on_terminal(store: Path) -> tuple[int, str]:
    """The code of a comparison, and all that it wrote to a terminal."""
    code = "from ordinate.training import baselines; baselines.SEQUENCES = 500; from ordinate.cli import main; main()"
    main_end, terminal = pty.openpty()
    command = [sys.executable, "-c", code, *QUICK, "--store", str(store)]
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
    return process.returncode, seen.decode()
