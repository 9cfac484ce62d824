"""The page Your results: files of other people, good and broken."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ordinate.app.figure_view import plain
from ordinate.app.pages import results
from ordinate.statistics.results_file import read_results

from .conftest import draw

HEADER = "encoding,task,seed,length,split,score\n"


def uploaded(name: str, content: bytes) -> AppTest:
    page = draw("results")
    page.file_uploader[0].set_value((name, content, "text/csv")).run()
    assert not page.exception
    return page


def words(page: AppTest) -> str:
    kinds = (page.subheader, page.markdown, page.caption, page.success, page.warning, page.error)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def test_the_page_says_what_is_wanted_before_anything_is_given() -> None:
    page = draw("results")
    assert not page.exception and not page.error and not page.subheader
    columns = page.dataframe[0].value
    assert list(columns[columns["needed"] == "yes"]["column"]) == results.EXAMPLE_COLUMNS.split(",")[:6]
    assert f"{results.MOST_ROWS:,} rows" in words(page)


def test_the_example_is_one_click_away_and_in_the_address(tmp_path: Path) -> None:
    (tmp_path / "example.csv").write_text(results.example_results())
    assert len(read_results(tmp_path / "example.csv").observations) == 3 * 6 * 3
    page = draw("results")
    page.button[0].click().run()
    assert page.subheader[0].value == "recall" and "slope" in page.success[0].value
    assert page.query_params["try"] == "example"
    assert draw("results", **{"try": "example"}).success[0].value == page.success[0].value
    assert len(page.get("plotly_chart")) >= 1 and len(page.get("download_button")) >= 6


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "lacks encoding, task, seed, length, split, score"),
        (HEADER.encode(), "has no rows below its header"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 50, "is not UTF-8 text"),
        (b"PK\x03\x04" + b"\0" * 500, "is no text"),
        (b"a,b\n1,2\n", "lacks encoding"),
        ((HEADER + "rope,t,1,8,id,high\n").encode(), "score is no number"),
        ((HEADER + "rope,t,1,8,id,7\n").encode(), "write accuracies from 0 to 1"),
        ((HEADER + "rope,t,nan,8,id,0.5\n").encode(), "seed must be a whole number"),
        ((HEADER + "rope,t,1,8,id\n").encode(), "not as many fields"),
        (b",".join(b"column" for _ in range(50_000)), "is no table"),
        ((HEADER + 'rope,t,1,8,id,"').encode() + b"x" * 200_000, "is not CSV"),
    ],
)
def test_a_broken_file_is_one_sentence(content: bytes, sentence: str) -> None:
    page = uploaded("mine.csv", content)
    (error,) = page.error
    assert plain(sentence) in error.value and error.value.startswith(plain("mine.csv")) and not page.subheader


def test_scores_that_are_no_number_are_runs_that_diverged() -> None:
    page = uploaded("mine.csv", (HEADER + "rope,t,1,8,id,nan\nalibi,t,1,8,id,0.9\n").encode())
    assert not page.error and "diverged" in words(page) and "Preliminary" in page.warning[0].value


@pytest.mark.parametrize("name", ["../../x.csv", "<b>x</b>", "*x*", "[a](http://x)", "a" * 300, ""])
def test_a_name_is_shown_as_text_and_opens_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = uploaded(name, results.example_results().encode())
    assert page.subheader[0].value == "recall"
    assert not list(tmp_path.iterdir()) and not list(tmp_path.parent.glob("x*"))
    if 0 < len(name) < 80:
        assert plain(name) in words(page) and name not in words(page).replace(plain(name), "")
    broken = uploaded(name, b"a,b\n")
    assert len(broken.error[0].value) < 2000


def test_names_in_the_file_are_shown_as_text() -> None:
    text = (
        results.example_results()
        .replace("rotation", "<b>x</b>")
        .replace("slope", "*x*")
        .replace("recall", "[a](http://x)")
    )
    page = uploaded("mine.csv", text.encode())
    for name in ("<b>x</b>", "*x*", "[a](http://x)"):
        assert name not in words(page).replace(plain(name), "")


def test_files_that_are_too_large_are_refused_by_the_limits_that_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST_ROWS", 1000)
    rows = "".join(f"rope,t,{seed},8,id,0.5\n" for seed in range(results.MOST_ROWS + 1))
    page = uploaded("mine.csv", (HEADER + rows).encode())
    assert plain(f"more than {results.MOST_ROWS:,} rows") in page.error[0].value
    rows = "".join(f"encoding {index},t,1,8,id,0.5\n" for index in range(100))
    assert plain("4,950 pairs of encodings") in uploaded("mine.csv", (HEADER + rows).encode()).error[0].value
    garbage = uploaded("mine.csv", b"garbage, " * 6_000_000)
    assert plain("is no table") in garbage.error[0].value
