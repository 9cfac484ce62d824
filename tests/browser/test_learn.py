"""The lessons in a browser: all are opened, every slider is moved, one exercise is solved wrong and right."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ordinate import lessons
from ordinate.teaching.lesson import Exercise

from .app_server import serve
from .test_app import SLOW, Tab, ready

MEAN = lessons.get("order").block(Exercise, "mean")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store: Path = tmp_path_factory.mktemp("learn") / "runs"
    with serve(store, tmp_path_factory.mktemp("cache"), OMP_NUM_THREADS="1") as server:
        yield server.address


def opened(browser: Browser, address: str, name: str, width: int = 1400) -> Tab:
    tab = Tab(browser, address, width)
    tab.page.goto(f"{address}/learn?lesson={name}")
    expect(tab.page.get_by_role("heading", name=lessons.get(name).title)).to_be_visible(timeout=SLOW)
    expect(tab.page.get_by_role("heading", name="Read on")).to_be_visible(timeout=SLOW)
    ready(tab.page)
    return tab


@pytest.mark.parametrize("name", lessons.names())
def test_a_lesson_opens_and_its_sliders_move(browser: Browser, address: str, name: str) -> None:
    tab = opened(browser, address, name)
    page = tab.page
    for index in range(page.get_by_role("slider").count()):
        slider = page.get_by_role("slider").nth(index)
        before, low = slider.get_attribute("aria-valuenow"), slider.get_attribute("aria-valuemin")
        slider.press("ArrowRight" if before == low else "ArrowLeft")
        expect(slider).not_to_have_attribute("aria-valuenow", before or "")
        ready(page)
    assert page.locator("[data-testid=stException]").count() == 0
    assert f"lesson={name}" in page.url
    page.close()
    assert tab.complaints == []


def test_an_exercise_is_solved_wrong_and_right(browser: Browser, address: str) -> None:
    tab = opened(browser, address, "order")
    page = tab.page
    code = page.get_by_label("Your code").first
    _check(page, code, MEAN.wrong)
    expect(page.get_by_text("The first word sees only itself")).to_be_visible(timeout=SLOW)
    _check(page, code, MEAN.solution)
    expect(page.get_by_text("Every check passes.")).to_be_visible(timeout=SLOW)
    page.close()
    assert tab.complaints == []


def _check(page: Page, code: object, text: str) -> None:
    code.fill(text)  # type: ignore[attr-defined]
    code.press("Control+Enter")  # type: ignore[attr-defined]
    ready(page)
    page.get_by_role("button", name="Check").first.click()


def test_what_was_chosen_is_in_the_address(browser: Browser, address: str) -> None:
    tab = opened(browser, address, "order")
    page = tab.page
    page.get_by_text("the same for both", exact=True).click()
    expect(page.get_by_text("As measured")).to_be_visible(timeout=SLOW)
    page.wait_for_url("**order-bag=*", timeout=SLOW)
    page.reload()
    expect(page.get_by_text("As measured")).to_be_visible(timeout=SLOW)
    page.close()
    assert tab.complaints == []


@pytest.mark.parametrize("name", ["order", "sines", "learned"])
def test_no_lesson_is_wider_than_a_narrow_window(browser: Browser, address: str, name: str) -> None:
    tab = opened(browser, address, name, 500)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 500
    tab.page.close()
    assert tab.complaints == []
