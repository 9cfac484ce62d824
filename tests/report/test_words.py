"""What a report says beside its numbers: words and their meanings, the task, how it was made, who beats whom."""

import csv
import html
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ordinate import tasks
from ordinate.report import render, write
from ordinate.report.glossary import TERMS, marked, used
from ordinate.report.method import method, provenance, seed_correlations, two_samples
from ordinate.report.outcomes import outcome_lists, outcomes
from ordinate.report.summary import by_score
from ordinate.report.task_words import task_words

from .sample import SIX, sample


def test_every_term_is_found_by_its_forms_and_none_hides_another() -> None:
    texts = {
        "reach": "rope holds to 3.4x", "area": "over 1x to 4x", "p": "6 seeds each, p < 1e-6", "bar": "the bar 0.95",
        "in distribution (ID)": "ID length 32", "learned": "seeds that learned the task", "1x, 2x, ...": "at 2x",
        "did not fit": "did not fit (0.79)", "fits": "mixed: 3 solve, 2 fit", "not ranked": "0.6, not ranked",
    }  # fmt: skip
    for name, text in texts.items():
        assert name in {term.name for term in used([text])}, name
    assert {term.name for term in used(["sinusoidal and learned over none"])} == set()  # an encoding's name is no term
    assert len({term.anchor for term in TERMS}) == len(TERMS)


def test_a_word_is_explained_once_and_the_text_stays_what_it_was() -> None:
    text = 'A <b>bar</b> of 0.95; no seed is at the bar, and "that" seed & others'
    made = marked(text, set())
    assert html.unescape(re.sub(r"</?a[^>]*>", "", made)) == text
    assert made.count("<a ") == 2 and "&lt;b&gt;" in made
    assert marked(text, {"bar", "seed"}) == html.escape(text)


def test_the_page_explains_what_it_links() -> None:
    page = render(sample(), "html")
    linked = set(re.findall(r'class="term" href="#([^"]+)"', page))
    explained = set(re.findall(r'<dt id="([^"]+)"', page))
    assert linked and linked <= explained
    assert {"word-bar", "word-reach", "word-floor", "word-headline-range", "word-gate"} <= explained


@pytest.mark.parametrize("name", tasks.names())
def test_every_task_is_explained_with_an_example_that_its_solver_answers(name: str) -> None:
    words = task_words(name)
    assert words is not None and len(words.words) > 40 and "->" in words.example
    assert task_words(f"no_such_{name}") is None


def test_page_and_markdown_say_what_the_task_is() -> None:
    words = task_words("k_back(k=3)")
    assert words is not None and words.example == "A B C A C C B -> . . . A B C A"
    page, text = render(sample(), "html"), render(sample(), "md")
    assert html.escape(words.example) in page and words.example in text
    assert "Recall: for every position" in page and "Recall: for every position" in text
    assert "## Words" in text and "## How it was made" in text


def test_the_method_is_that_of_the_settings() -> None:
    text = " ".join(method(sample()))
    for part in ("2 layers, 4 heads and width 128", "batches of 64", "at most 600 steps", "0.0003, 0.001, 0.003, 0.01"):
        assert part in text
    for line in method(sample()):
        assert html.escape(line)[:40] in render(sample(), "html")
    other = sample()
    settings = {**other.settings, "another": {"steps": 5, "batch": 64, "model": {"dim": 64, "heads": 4, "layers": 2}}}
    mixed = " ".join(method(replace(other, settings=settings)))
    assert "width" not in mixed and "steps" not in mixed.split("degrees")[0]  # what differs is in the table of settings


def test_why_tests_are_two_sample_is_measured_here() -> None:
    comparison = sample()
    task = comparison.analysis.tasks[0]
    found = seed_correlations(task)
    assert found and all(-1 <= value <= 1 for value in found)
    (sentence,) = two_samples(comparison.analysis)
    assert f"it is {sum(found) / len(found):.2f} on average" in sentence and "two-sample" in sentence
    # a paired t-test at six seeds has 5 degrees of freedom: 2.571 against 2.228 of ten
    six = two_samples(sample(seeds=6).analysis)[0]
    assert f"above about {1 - (2.228 / 2.571) ** 2:.2f} " in six
    assert two_samples(sample(seeds=2).analysis) == []


def test_a_report_says_when_and_with_what_it_was_made() -> None:
    whole = sample()
    dated = replace(
        whole, runs=tuple(replace(run, started=f"2026-01-{9 + run.seed:02} 10:00:00") for run in whole.runs)
    )
    text = provenance(dated)
    assert "from 2026-01-09 to 2026-01-14" in text and "torch 2.13.0" in text and "a processor" in text
    for kind in ("html", "md", "tex", "json"):
        assert "2026-01-14" in render(dated, kind)
    assert provenance(replace(whole, runs=(), machine=None)) == ""


def test_the_matrix_of_pairs_is_what_the_tests_claim() -> None:
    comparison = sample()
    task = comparison.analysis.tasks[0]
    found = outcomes(task)
    assert list(found) == list(task.encodings)
    signs = {"▲": "▼", "▼": "▲", "·": "·", "": "", "▲▼": "▲▼"}
    for row, cells in found.items():
        for column, cell in cells.items():
            assert found[column][row].sign == signs[cell.sign]
            claims = [p for p in task.pairs if p.claim and (p.better, p.worse) == (row, column)]
            assert len(cell.better) == len(claims) and bool(claims) == ("▲" in cell.sign)
    lines = " ".join(outcome_lists(task))
    assert all(pair.better in lines and pair.worse in lines for pair in task.pairs if pair.claim)
    page = render(comparison, "html")
    assert page.index('id="verdicts"') < page.index('class="outcomes"') < page.index('id="scores"')
    assert outcomes(replace(task, encodings=("rope",))) == {}
    assert outcomes(replace(task, encodings=tuple(map(str, range(40))))) == {}


def test_files_for_programs_have_numbers_in_their_cells(tmp_path: Path) -> None:
    comparison = sample()
    write(comparison, tmp_path, formats=("csv", "json"), figures=False)
    (name,) = (tmp_path / "tables").glob("summary*.csv")
    rows = list(csv.DictReader(io.StringIO(name.read_text())))
    assert [row["encoding"] for row in rows] == by_score(comparison.analysis.tasks[0])
    for row in rows:
        words = {"encoding", "verdict"} | {key for key in row if key.endswith(" verdict")}
        assert all(value == "" or float(value) is not None for key, value in row.items() if key not in words)
        cell = comparison.analysis.tasks[0].shown.cell(row["encoding"])
        if cell.interval:
            ends = [float(row[f"OOD length 64 {part}"]) for part in ("mean", "low", "high")]
            assert ends == [cell.interval.mean, cell.interval.low, cell.interval.high]
    document = json.loads(render(comparison, "json"))
    for pair in document["tasks"][0]["pairs"]:
        assert {"better", "worse", "p", "corrected", "improvement"} <= set(pair) and {pair["better"]} <= set(SIX)
