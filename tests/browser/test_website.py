"""The documentation site: built with warnings as errors, every link leads somewhere, and no page needs another host."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from ordinate import encodings
from ordinate.studies import study_file

ROOT = Path(__file__).parents[2]
RESOURCES = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
SHOWN = ("index", "encodings/index", "encodings/rope", "RESULTS", "words", "api", "compare")
FIRST = "index.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("website")
    command = [sys.executable, ROOT / "docs" / "website.py", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder / "site"


class Content(HTMLParser):
    """What a page links to, what it loads, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in RESOURCES and RESOURCES[tag] in found and found.get("rel") != "canonical":
            self.loaded.append(found[RESOURCES[tag]])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Content]:
    """By path below the site."""
    found = {path.relative_to(site).as_posix(): Content(path.read_text()) for path in site.rglob("*.html")}
    return {name: content for name, content in found.items() if name != "404.html"}


def inner(page: str, link: str) -> tuple[str, str] | None:
    """The page and the anchor that a link leads to; none: another site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = (Path("/") / page).parent / unquote(parts.path) if parts.path else Path("/") / page
    name = Path(*path.resolve().parts[1:]).as_posix()
    return (name if "." in name.rpartition("/")[2] else f"{name}/index.html".lstrip("./")), unquote(parts.fragment)


def test_links_and_anchors_lead_somewhere(site: Path, pages: dict[str, Content]) -> None:
    assert len(pages) > 60
    for name, content in pages.items():
        for link in content.links:
            if found := inner(name, link):
                target, anchor = found
                assert (site / target).exists(), f"{name} links to {link}"
                assert target not in pages or anchor in pages[target].anchors, f"{name} links to {link}"


def test_no_page_loads_anything_from_elsewhere(site: Path, pages: dict[str, Content]) -> None:
    for name, content in pages.items():
        for address in content.loaded:
            found = inner(name, address)
            assert found is not None and (site / found[0]).exists(), f"{name} loads {address}"
        assert "fonts.g" not in (site / name).read_text()
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text()), style.name


def test_evidence_is_three_clicks_from_the_first_page(pages: dict[str, Content]) -> None:
    """Every study with results is a section of tables, and each claim, recommendation and encoding links to its own."""
    clicks, queue = {(FIRST, ""): 0}, [(FIRST, "")]
    for place in queue:
        for link in pages[place[0]].links if place[0] in pages else ():
            found = inner(place[0], link)
            if found and found not in clicks:
                clicks[found] = clicks[place] + 1
                queue.append(found)
    evidence = [
        place for place in clicks if place[0] == "RESULTS.html" and place[1].endswith(tuple(study_file.names()))
    ]
    assert len(evidence) >= 10
    assert max(clicks[place] for place in evidence) <= 3
    claims = (ROOT / "docs" / "FINDINGS.md").read_text().split("\n### ")[1:]
    assert len(claims) >= 5
    for claim in claims:
        (anchor,) = re.findall(r"\]\(RESULTS\.md#([\w-]+)\)", claim)
        assert clicks["RESULTS.html", anchor] <= 3
    assert max(clicks[name, ""] for name in pages if (name, "") in clicks) <= 3
    assert {name for name in pages if (name, "") not in clicks} == set()


def test_every_encoding_has_a_page(site: Path) -> None:
    for name in encodings.names():
        page = (site / "encodings" / f"{name}.html").read_text()
        assert (site / "encodings" / f"{name}-formula.svg").stat().st_size > 500
        assert "Where it wins" in page and "Cost" in page
        assert page.count("<figure>") >= 1 or name == "none"
        assert encodings.registry.get(name).paper is None or "Paper" in page
        assert f'href="{name}.html"' in (site / "encodings" / "index.html").read_text()


@pytest.fixture(params=["light", "dark"])
def page(browser: Browser, request: Any) -> Iterator[Page]:
    """A page in light or dark that notes what it loads from elsewhere, and what its console says."""
    context = browser.new_context(color_scheme=request.param)
    shown = context.new_page()
    faults: list[str] = []
    local = ("file:", "data:", "blob:", "about:")
    shown.on("request", lambda sent: None if sent.url.startswith(local) else faults.append(sent.url))
    shown.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    shown.on("pageerror", lambda error: faults.append(str(error)))
    yield shown
    context.close()
    assert faults == []


def test_pages_are_shown_in_light_and_dark_and_fit(page: Page, site: Path) -> None:
    for name in SHOWN:
        for width in (1400, 500):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto((site / f"{name}.html").as_uri())
            dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
            expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate" if dark else "default")
            expect(page.locator("h1").first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} at {width}"
            broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
            assert page.evaluate(broken) == []


def test_search_finds_a_word(page: Page, site: Path) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto((site / FIRST).as_uri())
    page.get_by_role("button", name="Search").first.click()
    page.keyboard.type("probability of improvement")
    page.get_by_role("option", name="How to read the words").click()
    expect(page.locator("h1").first).to_contain_text("How to read the words")
