"""`ordinate study` and `ordinate report NAME`, in processes of their own."""

import csv
import json
from pathlib import Path

from tests.cli.conftest import Program

STUDY = """
title = "Majority"
question = "Does a tiny model learn it?"
source = "Nobody."
[[parts]]
name = "as stated"
tasks = "binary_majority"
encodings = ["rope", "none"]
seeds = 2
settings = { lr = 0.003, steps = 20, dim = 16, heads = 2, layers = 1, evaluation_sequences = 40, ood_lengths = [64] }
published = { rope = { accuracy = 0.9 }, none = { "ood accuracy" = 0.5 } }
[[parts]]
name = "slow"
like = "as stated"
settings = { lr = 0.0001 }
[[claims]]
text = "RoPE is better"
measure = "accuracy"
better = "rope"
worse = "none"
"""


def test_a_study_is_planned_run_resumed_and_reported(ordinate: Program, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(STUDY)
    here = ("--store", "runs")
    planned = ordinate("study", "plan", "mine.toml", *here)
    assert planned.code == 0 and "as stated" in planned.out and "4 runs, 0 done" in planned.out
    assert not (tmp_path / "runs").exists(), "planning writes nothing"
    status = json.loads(ordinate("study", "status", "mine.toml", "--json", *here).out)
    assert [(row["part"], row["done"], row["runs"]) for row in status] == [("as stated", 0, 4), ("slow", 0, 4)]
    first = ordinate("study", "run", "mine.toml", "--workers", "0", *here)
    assert first.code == 0, first.err
    assert "Published against measured" in first.out and "Still to be run" not in first.out
    again = ordinate("study", "run", "mine.toml", "--workers", "0", "--json", *here)
    assert not again.err, "nothing is left to do"
    document = json.loads(again.out)
    assert document["finished"] and [part["done"] for part in document["parts"]] == [4, 4]
    assert document["parts"][1]["differs"] == {"lr": 0.0001}
    values = {(v["encoding"], v["measure"]): v["values"] for v in document["parts"][0]["values"]}
    assert len(values["rope", "accuracy"]) == 2 and set(document["tables"]) == {
        "published", "claims", "scores", "protocols",
    }  # fmt: skip
    rows = list(csv.DictReader(ordinate("report", "mine.toml", "--format", "csv", *here).out.splitlines()))
    assert {row["comparison"] for row in rows} == {"as stated", "slow"}
    assert all(0 <= float(row["mean"] or row["unranked"]) <= 1 for row in rows), "numbers, not texts for people"
    paper = ordinate("report", "mine.toml", "--format", "tex", *here).out.split(r"\begin{table}")
    published = [table for table in paper if "Published against measured" in table]
    assert published and all("accuracy" in table for table in published), "every part of a table names its rows"
    for form in ("html", "md", "csv", "tex"):
        done = ordinate("report", "mine.toml", "-o", f"r.{form}", *here)
        assert done.code == 0 and done.out == f"r.{form}\n", done.err
        assert "as stated" in (tmp_path / f"r.{form}").read_text()
    named = ordinate("report", "mine: as stated", "--format", "csv", *here)
    assert named.code == 0 and named.out.count("binary_majority") >= 4
    for form, start in (("md", "#"), ("csv", "task"), ("tex", "%"), ("json", "{"), ("html", "<!")):
        assert ordinate("report", "mine: as stated", "-o", f"one.{form}", *here).code == 0
        assert (tmp_path / f"one.{form}").read_text().startswith(start), "the format is that of the file's name"
    odd = ordinate("report", "mine: as stated", "-o", "one.pdf", *here)
    assert odd.code == 2 and "ends in .pdf, which no report does" in odd.err


def test_what_ships_is_reported_at_once(ordinate: Program, tmp_path: Path) -> None:
    study = ordinate("report", "s4-k-back")
    assert study.code == 0 and "Published against measured" in study.out, study.err
    task = ordinate("report", "k_back")
    assert task.code == 0 and "rope holds to" in task.out, task.err
    assert not (tmp_path / "runs").exists()


def test_studies_are_listed(ordinate: Program) -> None:
    assert "s4-k-back" in ordinate("list", "studies").out
    found = json.loads(ordinate("list", "studies", "--json").out)
    assert {"name", "question"} == set(found[0])


def test_bad_names_get_one_sentence(ordinate: Program) -> None:
    for words in (("study", "run", "s4"), ("study", "plan", "x.toml"), ("report", "s4-kback"), ("report", "nothing")):
        done = ordinate(*words)
        assert done.code == 2 and done.err.startswith("ordinate: ") and len(done.err.splitlines()) == 1, done.err
    close = ordinate("report", "s4-k-back: fiar")
    assert "did you mean s4-k-back: fair" in close.err, "what comes with the program is suggested too"
    assert "`ordinate list studies`" in ordinate("report", "nothing").err
    figures = ordinate("report", "s4-k-back", "--figures")
    assert figures.code == 2 and "belongs to one comparison" in figures.err


def test_status_says_what_comes_with_the_program(ordinate: Program) -> None:
    status = json.loads(ordinate("study", "status", "s4-k-back", "--json").out)
    fair = next(row for row in status if row["part"] == "fair")
    assert fair["done"] == fair["runs"] > 0 and fair["stage"] == "results come with the program"
