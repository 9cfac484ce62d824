"""The app in a browser: start a comparison, watch it, leave and come back, stop, go on, and take the report home."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, TimeoutError, expect

from ordinate import encodings
from ordinate.report.overview import shipped_overview

from .app_server import open_page, serve

SLOW = 120_000  # milliseconds that a busy machine may take
SOME = encodings.names()[::4]
TINY = "dim=16&layers=1&tuned=false&seeds=2&encodings-k_back=rope&encodings-k_back=none&task=k_back"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("app") / "runs"


@pytest.fixture(scope="module")
def address(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own, as `ordinate app` starts it."""
    with serve(store, tmp_path_factory.mktemp("cache"), OMP_NUM_THREADS="1") as server:
        yield server.address


class Tab:
    """A page with all its requests and complaints."""

    def __init__(self, browser: Browser, address: str, width: int = 1400) -> None:
        self.page: Page = open_page(browser, address, width)
        self.page.set_default_timeout(SLOW)
        self.complaints: list[str] = []
        here = (address, address.replace("http", "ws", 1), "data:", "blob:")
        self.page.on("request", lambda r: None if r.url.startswith(here) else self.complaints.append(r.url))
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Tab]:
    opened = Tab(browser, address)
    yield opened
    opened.page.close()
    assert opened.complaints == []


def ready(page: Page) -> None:
    """Everything is drawn: the script that draws it has come to its end."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached(timeout=SLOW)


def stop(page: Page) -> None:
    """Press Stop, and again as long as it is there: it may go away at any moment."""
    for _ in range(SLOW // 2500):
        if page.get_by_role("button", name="Go on").is_visible():
            return
        with suppress(TimeoutError):
            page.get_by_role("button", name="Stop").click(timeout=2000)
        page.wait_for_timeout(500)
    pytest.fail(f"nothing to go on with after Stop:\n{page.locator('body').inner_text()}")


RAW = "new comparison"  # as Streamlit writes the name of a file of a page


def test_it_opens_on_what_was_found_and_its_cells_lead_on(tab: Tab, address: str) -> None:
    page = tab.page
    watch = "new MutationObserver(() => seen.push(document.body?.innerText ?? ''))"
    page.add_init_script(f"window.seen = []; {watch}.observe(document, {{childList: true, subtree: true}})")
    page.goto(address)
    expect(page.get_by_role("heading", name="Which positional encoding?")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("more than luck")).to_be_visible(timeout=SLOW)
    assert not any(RAW in text for text in page.evaluate("seen"))
    above = "() => document.querySelector('h1').getBoundingClientRect().y < 120"  # nothing but the menu above it
    page.wait_for_function(above, timeout=SLOW)  # once the page has settled
    page.locator(".overview a").first.click()
    page.wait_for_url("**/comparisons?study=*", timeout=SLOW)
    first = shipped_overview()[0].task
    expect(page.get_by_role("heading", name=first).first).to_be_visible(timeout=SLOW)


def test_the_menu_is_in_view_in_a_narrow_window(browser: Browser, address: str) -> None:
    tab = Tab(browser, address, 500)
    tab.page.goto(address)
    for name in ("Compare", "Comparisons", "Runs", "Your results", "Learn", "Encodings"):
        expect(tab.page.get_by_role("link", name=name, exact=True)).to_be_in_viewport(timeout=SLOW)
    tab.page.get_by_role("link", name="Encodings").click()
    expect(tab.page.get_by_role("heading", name="Encodings")).to_be_visible(timeout=SLOW)
    tab.page.close()
    assert tab.complaints == []


def test_a_task_outlives_a_visit_to_another_page(tab: Tab, address: str) -> None:
    page = tab.page
    page.goto(f"{address}/?task=modular_sum")
    expect(page.get_by_text("ordinate compare modular_sum").first).to_be_visible(timeout=SLOW)
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible(timeout=SLOW)
    ready(page)
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", name="Compare encodings")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("ordinate compare modular_sum").first).to_be_visible(timeout=SLOW)
    assert "%5B" not in page.url


def test_a_comparison_from_start_to_report(browser: Browser, tab: Tab, address: str, tmp_path: Path) -> None:
    page = tab.page
    page.goto(f"{address}/?{TINY}&steps=20000&budget=fixed")  # does not end before it is stopped
    page.get_by_role("button", name="Start").click(timeout=SLOW)
    expect(page.get_by_role("button", name="Stop")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("Starting 1 worker").or_(page.get_by_text("of all steps"))).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("training loss").first).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("of all steps")).to_be_visible(timeout=SLOW)
    points = "document.querySelectorAll('.js-plotly-plot')[1]?.data?.[0]?.x?.length ?? 0"
    before = page.evaluate(points)
    page.wait_for_function(f"() => ({points}) > {before}", timeout=SLOW)  # and it grows
    page.reload()
    expect(page.get_by_role("button", name="Stop")).to_be_visible(timeout=SLOW)  # it went on meanwhile
    other = Tab(browser, address)
    for where in ("", "/runs"):  # a second tab sees the same
        other.page.goto(f"{address}{where}")
        expect(other.page.get_by_role("button", name="Stop")).to_be_visible(timeout=SLOW)
    other.page.goto(f"{address}/?task=modular_sum")  # a form that plans another comparison does not hide it
    expect(other.page.get_by_text("training loss").first).to_be_visible(timeout=SLOW)
    other.page.close()
    assert other.complaints == []
    stop(page)
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible(timeout=SLOW)
    expect(page.get_by_role("button", name="Go on")).to_have_count(0, timeout=SLOW)  # the page is drawn anew
    stop(page)

    page.goto(f"{address}/?{TINY}&steps=60&budget=fixed")  # one that ends
    page.get_by_role("button", name="Start").click(timeout=SLOW)
    expect(page.get_by_text("an example that came with the program")).to_have_count(0, timeout=SLOW)
    expect(page.get_by_role("button", name="Report (one HTML file)")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("L1 H1")).to_be_visible(timeout=SLOW)  # attention, all heads
    with page.expect_download(timeout=SLOW) as caught:
        page.get_by_role("button", name="Report (one HTML file)").click()
    caught.value.save_as(tmp_path / "report.html")
    assert "ordinate compare k_back" in (tmp_path / "report.html").read_text()


@pytest.fixture(scope="module")
def tabs(browser: Browser, address: str) -> Iterator[Callable[[int], Tab]]:
    """One tab for each width: a new one would load the browser's side of the app again."""
    opened: dict[int, Tab] = {}

    def tab_of(width: int) -> Tab:
        return opened.get(width) or opened.setdefault(width, Tab(browser, address, width))

    yield tab_of
    for tab in opened.values():
        tab.page.close()


# All of them are opened, without a browser, beside the app.
@pytest.mark.parametrize("name", [*SOME[:2], *(pytest.param(name, marks=pytest.mark.sampled) for name in SOME[2:])])
def test_encodings_can_be_opened(tabs: Callable[[int], Tab], address: str, name: str) -> None:
    tab = tabs(1400)
    tab.page.goto(f"{address}/encodings?encoding={name}")
    expect(tab.page.get_by_role("heading", name=name, exact=True).first).to_be_visible(timeout=SLOW)
    ready(tab.page)
    assert tab.page.locator("[data-testid=stException]").count() == 0
    assert tab.complaints == []


@pytest.mark.parametrize("page", ["", "compare", "comparisons", "runs", "results", "learn", "encodings"])
@pytest.mark.parametrize("width", [500, 1400])
def test_no_page_is_wider_than_its_window(tabs: Callable[[int], Tab], address: str, page: str, width: int) -> None:
    tab = tabs(width)
    tab.page.goto(f"{address}/{page}")
    expect(tab.page.locator("h1").first).to_be_visible(timeout=SLOW)
    ready(tab.page)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.complaints == []
