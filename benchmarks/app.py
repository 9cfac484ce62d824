"""`python -m benchmarks.app`: time to the first page, redrawing 200 runs, and what watching a comparison costs."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright
from tests.browser.app_server import AppServer, open_page, serve
from tests.browser.find_chromium import find

from ordinate.store.examples import open_examples

READY = "[data-testid=stApp][data-test-script-state=notRunning]"


def drawn(page: Page) -> None:
    expect(page.locator(READY)).to_be_attached(timeout=120_000)


def busy(pid: int) -> float:
    """Seconds of processor time of a process and its children that serve, not of the comparison it started."""
    mine = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    total = 0.0
    for process in (str(pid), *mine):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, begin = Path(name), time.monotonic()
        (folder / "cache").mkdir()
        with serve(folder / "runs", folder / "cache") as server:
            print(f"the server answers after {time.monotonic() - begin:.2f} s")
            measure(folder / "runs", server)


def measure(store: Path, server: AppServer) -> None:
    address = server.address
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=["--no-sandbox"])
        page = open_page(browser, address)
        begin = time.monotonic()
        page.goto(address)
        first = page.get_by_text("more than luck")
        expect(first).to_be_visible(timeout=120_000)
        print(f"the first page shows what was found after {time.monotonic() - begin:.2f} s (goal 4), cold")
        drawn(page)
        page.wait_for_timeout(20_000)  # the rest is loaded meanwhile
        begin = time.monotonic()
        page.goto(address)
        expect(first).to_be_visible(timeout=120_000)
        drawn(page)
        print(f"and again after {time.monotonic() - begin:.2f} s")
        begin = time.monotonic()
        page.goto(f"{address}/encodings")
        expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=120_000)
        print(f"the page of encodings shows a picture after {time.monotonic() - begin:.2f} s (goal 3)")
        page.goto(f"{address}/compare")
        expect(page.get_by_text("ordinate compare k_back").first).to_be_visible(timeout=120_000)
        drawn(page)
        begin = time.monotonic()
        page.get_by_text("A quick look", exact=True).click()
        expect(page.get_by_text("--quick").first).to_be_visible(timeout=120_000)
        print(f"another plan is shown after {time.monotonic() - begin:.2f} s (goal 1)")

        store.mkdir(exist_ok=True)
        for run in open_examples().runs()[:200]:
            shutil.copytree(run.folder, store / run.id)
        page.goto(f"{address}/runs")
        expect(page.get_by_text("200 runs")).to_be_visible(timeout=120_000)
        drawn(page)
        begin = time.monotonic()
        page.get_by_text("examples", exact=True).click()
        page.get_by_text("own", exact=True).click()
        expect(page.get_by_text("200 runs")).to_be_visible(timeout=120_000)
        drawn(page)
        print(f"200 runs are drawn again, twice, in {time.monotonic() - begin:.2f} s (goal 1 each)")

        view = "task=k_back&tuned=false&seeds=2&steps=4000&budget=fixed&encodings-k_back=rope&encodings-k_back=none"
        page.goto(f"{address}/?{view}")
        page.get_by_role("button", name="Start").click(timeout=120_000)
        expect(page.get_by_text("training loss").first).to_be_visible(timeout=120_000)
        before, begin = busy(server.process.pid), time.monotonic()
        page.wait_for_timeout(40_000)
        share = (busy(server.process.pid) - before) / (time.monotonic() - begin)
        print(f"watching costs {share:.1%} of a core while a comparison runs (goal 5 %)")
        page.get_by_role("button", name="Stop").click()
        page.wait_for_timeout(1500)
        page.get_by_role("button", name="Stop").click()
        browser.close()


if __name__ == "__main__":
    main()
