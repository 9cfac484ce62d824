"""Tables in four formats: nothing lost, nothing that a name could break, nothing bold without evidence."""

import csv
import io
import json
import math
import re
from dataclasses import replace

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from ordinate.report import render
from ordinate.report.comparison_tables import by_rate, matrix, pairs, ranks, results, settings, summary, sweep, tables
from ordinate.report.json_document import Entries, as_json, table_document
from ordinate.report.latex import latex
from ordinate.report.ranking import claimed, joined
from ordinate.report.summary import winner
from ordinate.report.table import Column, LazyRows, Table, Value, comma_separated, csv_field, markdown
from ordinate.statistics.analyze import analyze
from ordinate.statistics.observations import Observation
from ordinate.statistics.types import Analysis

from .sample import SIX, sample

NASTY = ("a|b", "x_y*z`", "<script>&amp;", "# {50%} $~^\\", '"quoted", line\nbreak', "=1+1", "[z]", "![a](b)")


def nasty() -> Table:
    rows = tuple((name, index / 7) for index, name in enumerate(NASTY))
    return Table("t", "A | title_", (Column("na_me", "na|me"), Column("value", "value", ".3f")), rows)


def test_csv_reads_back_to_the_last_digit() -> None:
    table = results(sample(tasks=("k_back(k=3)", "markers")))
    back = pd.read_csv(io.StringIO(comma_separated(table)), float_precision="round_trip")
    assert list(back.columns) == [column.name for column in table.columns]
    assert len(back) == len(table.rows) == 6 * (4 + 2)
    for index, column in enumerate(table.columns):
        for read, row in zip(back[column.name], table.rows, strict=True):
            value = row[index]
            assert pd.isna(read) if value in (None, "") else read == value, column.name


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@sum", "\t=1", " =1", "\uff1d1"])
def test_csv_does_not_hand_formulas_to_a_spreadsheet(text: str) -> None:
    table = Table("t", "t", (Column(text, "x"),), ((text,),))
    head, row = csv.reader(io.StringIO(comma_separated(table)))
    assert head == row == [f"'{text}"]


def test_csv_leaves_numbers_alone() -> None:
    assert [csv_field(value) for value in (-1.5, "-1.5", "+3e-4", 1e-300, True, None, "", 0.1 + 0.2)] == [
        "-1.5", "-1.5", "+3e-4", "1e-300", "true", "", "", "0.30000000000000004",
    ]  # fmt: skip


def test_csv_keeps_commas_quotes_and_breaks() -> None:
    _, *rows = csv.reader(io.StringIO(comma_separated(nasty())))
    assert [row[0].removeprefix("'") for row in rows] == list(NASTY)


def test_markdown_shows_every_name_as_it_is() -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown(nasty()))
    inside = False
    cells = []
    for token in tokens:
        inside = inside or token.type == "td_open"
        if token.type == "inline" and inside:
            kinds = {child.type for child in token.children or []}
            assert kinds <= {"text", "text_special"}, token.content
            cells.append("".join(child.content for child in token.children or []))
            inside = False
    assert cells[::2] == [" ".join(name.split()) for name in NASTY]
    assert cells[1] == "0.000"


def test_latex_is_balanced_and_escaped() -> None:
    text = latex(nasty())
    body = text.split("\\midrule\n")[1].split("\\bottomrule")[0]
    rows = body.strip().split("\n")
    assert len(rows) == len(NASTY)
    for row in rows:
        assert row.endswith(r"\\")
        rest = re.sub(r"\\[a-z]+\{\}|\\[{}$&#%_]", "", row.removesuffix(r"\\"))
        assert rest.count("&") == 1 and not re.search(r"[\\{}$#%_^~<>|\"]", rest.removeprefix("{}"))
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert all(word in text for word in (r"\toprule", r"\begin{tabular}{lr}", r"\end{table}"))
    assert "\n{}[z]" in text  # else \\ would take it for its option


def test_json_has_no_words_that_json_does_not_know() -> None:
    table = Table("t", "t", (Column("a", "a"),), ((math.inf,), (math.nan,), (1.5,)))
    rows = json.loads(as_json(table_document(table)), parse_constant=pytest.fail)["rows"]
    assert [row["a"] for row in rows] == [None, None, 1.5]
    document = json.loads(render(sample(), "json"), parse_constant=pytest.fail)
    assert document["tables"]["results"][0]["task"] == "k_back(k=3)"
    assert document["tasks"][0]["alarms"] and document["command"].startswith("ordinate compare")


def test_json_has_the_data_and_the_sentences() -> None:
    document = json.loads(render(sample(), "json"))
    (task,) = document["tasks"]
    assert document["rules"] == "2" and (document["tests"], document["seeds_needed"]) == (30, 5)
    assert task["verdict"]["finding"] == "not shown" and "holds to" in task["sentences"][0]
    alarm = task["alarms"][0]
    assert alarm["kind"] == "grid edge" and alarm["facts"]["rate"] == 0.01 and "0.01" in alarm["text"]
    reach = task["reach"]["sinusoidal"]
    assert (reach["longest"], reach["untested"], len(reach["seeds"])) == (4.0, 0, 5)
    assert (reach["low"], reach["median"], reach["high"]) == tuple(sorted(reach["seeds"])[at] for at in (0, 2, 4))
    assert reach["other_bars"]["0.99"] < reach["median"] < reach["other_bars"]["0.9"]
    assert task["steps"]["none"]["median"] == 120 and task["ranges"][0]["cells"][0]["words"] == {"solves": 5}
    claims = {(pair["better"], pair["worse"], pair["basis"]) for pair in task["pairs"] if pair["claim"]}
    assert ("t5", "sinusoidal", "scores") in claims and ("rope", "learned", "area") in claims


def observed(scores: dict[str, list[float]]) -> Analysis:
    return analyze(
        [
            Observation("t", name, seed, split, length, score, 0.1, 0.1, 1000)
            for name, values in scores.items()
            for seed, value in enumerate(values)
            for split, length, score in (("id", 32, 1.0), ("ood", 64, value))
        ]
    )


def test_bold_needs_a_claim_against_every_other() -> None:
    high, low = [0.9 + index / 100 for index in range(8)], [0.5 + index / 90 for index in range(8)]
    middle = [value - 0.01 * (-1) ** index for index, value in enumerate(high)]
    for scores, best in (({"a": high, "b": low}, "a"), ({"a": high, "b": low, "c": middle}, None)):
        analysis = observed(scores)
        comparison = replace(sample(), analysis=analysis)
        assert winner(analysis.tasks[0]) == best
        table = results(comparison)
        assert {table.rows[row][4] for row, _ in table.bold} == ({best} if best else set())
        assert {table.columns[column].name for _, column in table.bold} == ({"mean"} if best else set())
        for text, mark in ((latex(table), r"\textbf{0.9"), (markdown(table), "**0.9")):
            assert text.count(mark) == (1 if best else 0)
        short = summary(comparison, analysis.tasks[0])
        assert len(short.bold) == (1 if best else 0)


def test_few_seeds_or_one_encoding_make_nothing_bold() -> None:
    assert not results(sample(seeds=3)).bold
    assert not results(sample(("a",))).bold


def by_encoding(table: Table) -> dict[Value, dict[str, Value]]:
    """The rows of a summary with their cells by the name of the column."""
    rows = [dict(zip((column.name for column in table.columns), row, strict=True)) for row in table.rows]
    return {row["encoding"]: row for row in rows}


def test_a_summary_tells_words_means_and_intervals() -> None:
    comparison = sample()
    task = comparison.analysis.tasks[0]
    table = summary(comparison, task)
    rows = by_encoding(table)
    assert tuple(rows) == task.encodings
    titles = {column.name: column.title for column in table.columns}
    first = {"verdict": "verdict", "learned": "learned", "steps": "steps to learn", "reach": "reach", "gap": "gap"}
    assert first.items() <= titles.items() and titles["kept"] == "kept"
    inside, headline, beyond, _ = ranges = [r.name for r in task.ranges]
    assert [name for name in titles if name in ranges] == ranges
    none = {"learned": "0 of 5 (0-52 %)", "steps": "120 (60 to 180)", "reach": "-"}
    assert none.items() <= rows["none"].items()
    here, there = task.ranges[0].cell("none").inside, task.shown.cell("none").unranked
    assert here is not None and there is not None  # shown, though not ranked
    kept = (there - task.shown.chance) / (here - task.ranges[0].chance)
    assert (rows["none"]["gap"], rows["none"]["kept"]) == pytest.approx((here - there, kept))
    assert str(rows["none"][inside]).startswith("did not fit 0.3")
    assert str(rows["none"]["verdict"]).startswith("did not fit (0.3")
    assert rows["none"][headline] == f"{rows['none']['verdict']} {there:.3f}, not ranked"
    assert re.fullmatch(r"[\d.]+x \([\d.]+x to [\d.]+x\)", str(rows["rope"]["reach"]))
    assert rows["learned"][beyond] == "out of range"
    assert re.fullmatch(r"partial 0\.\d{3} \[0\.\d{3}, 0\.\d{3}\]", str(rows["sinusoidal"][headline]))
    one = by_encoding(summary(sample(seeds=1), sample(seeds=1).analysis.tasks[0]))
    assert "solves 1.000 (1 seed)" in [row[inside] for row in one.values()]


def test_results_report_nothing_of_seeds_that_did_not_learn_it() -> None:
    table = results(sample())
    names = [column.name for column in table.columns]
    for row in (dict(zip(names, row, strict=True)) for row in table.rows):
        if row["encoding"] == "none" and row["split"] == "ood":
            assert (row["mean"], row["minimum"], row["n"], row["learned"], row["of"]) == (None, None, 0, 0, 5)
            assert row["unranked"] is not None  # and yet it is shown


def test_pairs_matrix_ranks_and_sweep_hold_what_the_comparison_holds() -> None:
    comparison = sample(tasks=("k_back(k=3)", "markers"))
    task = comparison.analysis.tasks[0]
    assert len(pairs(comparison).rows) == sum(len(t.pairs) for t in comparison.analysis.tasks)
    assert {(row[4], row[1]) for row in pairs(comparison).rows} == {  # the declared endpoints alone
        ("scores", "OOD length 64"), ("learning", "ID length 32"), ("area", "over 1x to 4x"),
    }  # fmt: skip
    names = [column.name for column in pairs(comparison).columns]
    for values in (dict(zip(names, row, strict=True)) for row in pairs(comparison).rows):
        assert values["seeds_first"] and values["seeds_second"]
        assert (values["improvement"] is None) == (values["test"] == "learning")
        if values["improvement"] is not None:
            assert values["improvement_low"] <= values["improvement"] <= values["improvement_high"]
        if values["test"] == "scores" and values["task"] != "markers":
            assert -1 <= values["low"] <= values["difference"] <= values["high"] <= 1
    row = dict(zip((c.name for c in matrix(comparison).columns), matrix(comparison).rows[2], strict=True))
    assert (row["encoding"], row["limit"], row["past"]) == ("learned", "96", "untrained")
    assert (row["verdict"], row["memory_mb"], row["reach"]) == ("partial", 48, "1.08x (1.07x to 1.08x)")
    assert row["steps"] == "240 (180 to 300)"
    assert row["norm_ratio"] == pytest.approx(0.1 / 0.23)
    scopes = {(row[0], row[1]) for row in ranks(comparison).rows}
    assert scopes == {("task", "k_back(k=3)"), ("task", "markers"), ("family", "distance")}
    head = task.shown.ranks
    assert head is not None
    letters = {row[3]: set(str(row[6])) for row in ranks(comparison).rows if row[1] == "k_back(k=3)"}
    for group in joined(head, claimed(task)):
        assert set.intersection(*(letters[name] for name in group))
    for one, other in claimed(task):
        assert not letters[one] & letters[other]
    tried = sweep(comparison)
    assert len(tried.rows) == 2 * 6 * 4
    used = [column.name for column in tried.columns].index("used")
    assert sum(row[used] is True for row in tried.rows) == 2 * 12  # two tied each
    assert ("betas", "[0.9, 0.95]", "[0.9, 0.95]") in settings(comparison).rows


def test_scores_by_learning_rate_are_those_of_the_seeds_that_had_it() -> None:
    """Only where several rates were dealt out, and only of seeds that are ranked."""
    whole = sample()
    assert by_rate(whole).rows == ()
    dealt = [replace(run, rate=1e-2) if run.encoding == "rope" and run.seed % 2 else run for run in whole.runs]
    table = by_rate(replace(whole, runs=tuple(dealt)))
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    assert {row["encoding"] for row in rows} == {"rope"} and len(rows) == 2 * len(whole.analysis.tasks[0].ranges)
    shown = {row["rate"]: row for row in rows if row["range"] == "OOD length 64"}
    cell = whole.analysis.tasks[0].shown.cell("rope")
    for rate, odd in ((1e-2, 1), (1e-3, 0)):
        own = [score for seed, score in zip(cell.seeds, cell.scores, strict=True) if seed % 2 == odd]
        mean = pytest.approx(sum(own) / len(own))  # type: ignore[arg-type]
        row = shown[rate]
        assert (row["seeds"], row["mean"], row["minimum"], row["maximum"]) == (len(own), mean, min(own), max(own))  # type: ignore[type-var]


def test_a_comparison_without_results_still_has_a_report() -> None:
    empty = replace(
        sample(), analysis=Analysis((), (), 0.05), sweeps=(), curves=(), profiles=(), settings={}, runs=(),
        machine=None, failures={}, metrics={}, trained={},
    )  # fmt: skip
    assert list(tables(empty)) == []
    for kind in ("html", "md", "csv", "tex", "json"):
        assert render(empty, kind)


def test_rows_are_made_when_they_are_looked_at() -> None:
    made: list[int] = []

    def make(number: int) -> tuple[int, ...]:
        made.append(number)
        return (number, number**2)

    rows = LazyRows(range(1_000_000), make)
    assert len(rows) == 1_000_000 and rows[3] == (3, 9) and list(rows[5:7]) == [(5, 25), (6, 36)] and made == [3, 5, 6]
    few = Table("t", "T", (Column("n", "n"), Column("square", "square")), rows[:2])
    assert json.loads(as_json(table_document(few)))["rows"] == [{"n": 0, "square": 0}, {"n": 1, "square": 1}]


def test_entries_of_an_object_come_one_by_one() -> None:
    """Numbers that JSON has no word for are null, whatever they stand in."""
    entries = Entries((name, [value]) for name, value in (("a", 1.0), ("b", math.nan), ("c", {"d": -math.inf})))
    assert json.loads(as_json({"all": entries})) == {"all": {"a": [1.0], "b": [None], "c": [{"d": None}]}}


def test_words_come_with_the_tables() -> None:
    comparison = sample(SIX, seeds=3)
    for kind in ("md", "tex"):
        text = render(comparison, kind)
        assert "preliminary: 3 seeds instead of 5" in text and "grid edge" in text
    evil = replace(comparison, analysis=replace(comparison.analysis, limits=("one\n\\input{two}",)))
    assert all(line.startswith("%") for line in render(evil, "tex").split("\n\n")[0].splitlines())
