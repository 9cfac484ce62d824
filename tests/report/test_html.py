"""The page as a text, and what `write` puts where. What a browser makes of it is tested beside the other pages."""

import hashlib
import itertools
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ordinate.core.errors import InputError
from ordinate.report import render, write
from ordinate.statistics.sentences import sentences

from .sample import sample

EVIL = ('<script>alert("x")</script>', "</script><b>y</b>", "'\"&amp;<!--")


class Tags(HTMLParser):
    """All tags with their attributes, and the text of those that a reader sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.hidden = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        self.hidden = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.hidden = self.hidden and tag not in ("script", "style")

    def handle_data(self, data: str) -> None:
        self.text += "" if self.hidden else data


def test_the_page_asks_for_nothing() -> None:
    page = Tags(render(sample(), "html"))
    for tag, attributes in page.tags:
        assert tag not in ("iframe", "object", "embed", "img", "base")
        assert "src" not in attributes
        link = attributes.get("href")
        assert link is None or link.startswith("#") or link == "data:,"
    policy = [attributes for tag, attributes in page.tags if attributes.get("http-equiv") == "Content-Security-Policy"]
    assert len(policy) == 1 and str(policy[0]["content"]).startswith("default-src 'none'")


def test_plotly_is_there_once_and_the_page_is_one_document() -> None:
    text = render(sample(), "html")
    assert text.startswith("<!doctype html>")
    assert text.count("plotly.js v") == 1
    assert text.count("<script") == text.count("</script>") == 3
    assert len(text) < 8_000_000


def test_verdicts_come_first_with_alarms_and_the_label() -> None:
    comparison = sample(seeds=3)
    text = Tags(render(comparison, "html")).text
    task = comparison.analysis.tasks[0]
    first, alarm = sentences(comparison.analysis, task)[0], task.alarms[0].sentence()
    at = [text.index(part) for part in (first, alarm, "0.062, floor", "Download as CSV")]
    assert at == sorted(at)
    assert text.index("preliminary") < at[0] and "3 seeds instead of 5" in text
    for part in (comparison.command, comparison.id, "ran out of memory", "torch", *comparison.analysis.limits):
        assert part in text


def test_name_and_note_are_on_top() -> None:
    named = replace(sample(), title="wide <b>model</b>", note="width 256\nsecond line")
    page = Tags(render(named, "html"))
    assert "wide <b>model</b>" in page.text and "second line" in page.text and "b" not in {tag for tag, _ in page.tags}
    assert render(named, "md").startswith("# wide")


def test_names_are_text_and_nothing_else() -> None:
    text = render(sample(EVIL, tasks=("k_back(<i>)",)), "html")
    page = Tags(text)
    assert {tag for tag, _ in page.tags} & {"b", "i"} == set()
    assert sum(tag == "script" for tag, _ in page.tags) == 3
    for name in EVIL:
        assert name in page.text
    data = text.split('<script id="data" type="application/json">')[1].split("</script>")[0]
    assert not set("<>&") & set(data)


def test_every_heading_section_and_link_has_its_place() -> None:
    page = Tags(render(sample(tasks=("k_back(k=3)", "markers")), "html"))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(a["href"])[1:] for tag, a in page.tags if tag == "a"]
    assert set(links) <= set(ids)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert ("html", {"lang": "en"}) in page.tags


def test_the_checksum_is_that_of_the_results() -> None:
    comparison = sample()
    assert hashlib.sha256(render(comparison, "csv").encode()).hexdigest() in render(comparison, "html")


def test_the_same_comparison_gives_the_same_page(tmp_path: Path) -> None:
    comparison = sample(maps=tmp_path)
    assert render(comparison, "html") == render(comparison, "html")


LARGE_REPORT = """
import runpy, sys
from ordinate.report import FORMATS, render
import ordinate.tasks  # as whoever has runs has done
many = runpy.run_path(sys.argv[1])["large"]()
made = {kind: render(many, kind) for kind in FORMATS}
print(len(many.runs), len(made["html"]), "The first 500 of 10000 rows" in made["html"])
"""


def test_ten_thousand_runs_are_shown_in_part() -> None:
    # In a process of its own, because here every call is checked.
    command = [sys.executable, "-c", LARGE_REPORT, str(Path(__file__).parent / "sample.py")]
    runs, size, told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert (runs, told) == ("10000", "True")
    assert int(size) < 12_000_000


def test_files_go_where_they_belong(tmp_path: Path) -> None:
    page = write(sample(("a", "b")), tmp_path / "new" / "report")
    folder = tmp_path / "new" / "report"
    assert page == folder / "report.html" and page.read_text().startswith("<!doctype html>")
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    for name in ("summary-k_back-k-3", "results", "pairs", "matrix", "ranks", "sweep", "settings", "runs"):
        assert {f"tables/{name}.{ending}" for ending in ("md", "csv", "tex", "json")} <= found
    for name in ("length", "learning", "ranks", "rates"):
        assert {f"figures/k_back-k-3-{name}.{ending}" for ending in ("pdf", "png", "csv")} <= found
    assert not any(name.endswith(".tmp") for name in found)


def test_only_what_is_wanted_is_written(tmp_path: Path) -> None:
    write(sample(), tmp_path, formats=("csv",), figures=False)
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]
    assert {path.suffix for path in (tmp_path / "tables").iterdir()} == {".csv"}


def test_an_unknown_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean html"):
        write(sample(), tmp_path / "x", formats=("csv", "htlm"))
    assert not (tmp_path / "x").exists()
