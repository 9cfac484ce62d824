"""The report as a browser shows it: nothing from the network, nothing run that a name says, everything drawn."""

import csv
import io
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ordinate.report import write
from ordinate.report.chart import data
from ordinate.report.comparison_tables import results
from ordinate.report.figures import figures
from ordinate.report.table import comma_separated
from ordinate.results.comparison import Comparison

# Made up beside the report's other tests, which are another package.
sample = runpy.run_path(str(Path(__file__).parents[1] / "report" / "sample.py"))["sample"]
NAMES = ("<script>alert(1)</script>", "<b>bold</b>", '"quoted" & plain', "=rope")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return sample(NAMES, maps=tmp_path_factory.mktemp("maps"), seeds=3)


@pytest.fixture(scope="module")
def report(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(comparison, tmp_path_factory.mktemp("report"), formats=("html",), figures=False)


class Watched:
    """A page with all its requests and complaints."""

    def __init__(self, page: Page, report: Path) -> None:
        self.page, self.url = page, report.as_uri()
        self.requested: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requested.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        page.goto(self.url)
        expect(page.locator("html[data-drawn=all]")).to_be_attached(timeout=30_000)


@pytest.fixture(scope="module")
def opened(browser: Browser, report: Path) -> Iterator[Watched]:
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    yield Watched(context.new_page(), report)
    context.close()


def test_everything_is_drawn_from_the_file_alone(opened: Watched, comparison: Comparison) -> None:
    assert [url for url in opened.requested if not url.startswith(("data:", "blob:"))] == [opened.url]
    assert opened.complaints == []
    page = opened.page
    expected = len(figures(comparison))
    for folded in page.locator("details.attention > summary").all()[1:]:
        folded.click()  # these are drawn when they are opened
    expect(page.locator(".plot svg.main-svg .cartesianlayer")).to_have_count(expected)
    expect(page.locator(".plot .heatmaplayer image")).to_have_count((8 + 1) * len(NAMES))
    assert page.locator(".plot").count() == page.locator(".plot svg.main-svg .cartesianlayer").count() == expected
    assert page.locator(".plot .scatterlayer .trace").count() > 20
    assert page.locator(".modebar-btn").count() > 0 and page.get_by_role("button", name="Share").count() == 0
    for plot in page.locator(".plot").all():
        box = plot.bounding_box()
        assert box is not None and box["height"] > 100 and box["width"] > 300


def test_names_appear_as_they_are(opened: Watched) -> None:
    page = opened.page
    assert set(page.locator(".summary tbody th").all_inner_texts()) == set(NAMES)
    legend = page.locator("#plot-k_back-k-3-learning .legendtext").all_text_contents()
    assert set(legend) == set(NAMES)
    ticks = page.locator("#plot-k_back-k-3-ranks .ytick").all_text_contents()
    assert set(NAMES) <= set(ticks)
    assert page.locator("main b, main script, main svg a").count() == 0
    assert NAMES[0] in page.locator("#again pre").inner_text()


def test_tables_sort_by_value_with_gaps_last(opened: Watched) -> None:
    table = opened.page.locator(".summary")
    head = table.locator("thead th")
    names = table.locator("tbody th")
    head.nth(0).get_by_role("button").click()
    upward = names.all_inner_texts()
    assert head.nth(0).get_attribute("aria-sort") == "ascending"
    head.nth(0).get_by_role("button").click()
    assert names.all_inner_texts() == upward[::-1]
    titles = [title.split("\n")[0] for title in head.all_inner_texts()]
    at = next(number for number, title in enumerate(titles) if title.startswith("OOD length"))
    for order in ("ascending", "descending"):
        head.nth(at).get_by_role("button").click()
        assert head.nth(at).get_attribute("aria-sort") == order and head.nth(0).get_attribute("aria-sort") is None
        found = [cell.get_attribute("data-value") for cell in table.locator(f"tbody td:nth-child({at + 1})").all()]
        values = [float(value) for value in found if value is not None]
        assert values == sorted(values, reverse=order == "descending")
        assert found[len(values) :] == [None] and len(values) == 3


def test_data_can_be_taken_from_the_page(opened: Watched, comparison: Comparison) -> None:
    page = opened.page
    with page.expect_download() as download:
        page.locator("button[data-table=results]").click()
    assert download.value.suggested_filename == "results.csv"
    assert Path(download.value.path()).read_text() == comma_separated(results(comparison))
    for wanted in ("k_back-k-3-length", "k_back-k-3-attention"):
        figure = next(figure for figure in figures(comparison) if figure.name.startswith(wanted))
        with page.expect_download() as download:
            page.locator("figure", has=page.locator(f"#plot-{figure.name}")).locator("button.download").click()
        assert download.value.suggested_filename == f"{figure.name}.csv"
        mine = list(csv.reader(io.StringIO(comma_separated(data(figure)))))
        theirs = list(csv.reader(io.StringIO(Path(download.value.path()).read_text())))
        assert theirs[0] == mine[0] and len(theirs) == len(mine)
        for ours, other in zip(mine[1:], theirs[1:], strict=True):
            assert ours[:2] == other[:2]
            assert [float(field or "nan") for field in other[2:]] == pytest.approx(
                [float(field or "nan") for field in ours[2:]], rel=1e-5, nan_ok=True
            )


def test_the_dark_is_dark_and_paper_is_white(opened: Watched) -> None:
    page = opened.page
    ground, picture = "getComputedStyle(document.body).backgroundColor", ".plot .bg, .plot .main-svg"
    look = f"[{ground}, getComputedStyle(document.querySelector('.plot .main-svg')).background, 0]"
    light = page.evaluate(look)
    page.emulate_media(color_scheme="dark")
    expect(page.locator(picture).first).not_to_have_css("background-color", "rgb(255, 255, 255)")
    dark = page.evaluate(look)
    assert light[0] == "rgb(255, 255, 255)" != dark[0]
    assert light[1] != dark[1]
    page.emulate_media(color_scheme="dark", media="print")
    expect(page.locator(picture).first).to_have_css("background-color", "rgb(255, 255, 255)")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    page.emulate_media(color_scheme="light", media="screen")


def test_a_narrow_screen_scrolls_tables_not_the_page(opened: Watched) -> None:
    page = opened.page
    page.set_viewport_size({"width": 400, "height": 800})
    first = page.locator("#plot-k_back-k-3-length .main-svg").first
    expect(first).to_have_attribute("width", "360")
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    right_edges = page.evaluate(
        "[...document.querySelectorAll('.plot .main-svg')].map((svg) => svg.getBoundingClientRect().right)"
    )
    assert max(right_edges) <= 400
    assert page.evaluate(
        "(() => { const box = document.querySelector('#matrix .scroll'); return box.scrollWidth > box.clientWidth; })()"
    )
    assert opened.complaints == []
