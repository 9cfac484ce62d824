"""`python -m benchmarks.app`: time to the first page, redrawing 200 runs, and what watching a comparison costs."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright
from tests.browser.find_chromium import find

from ordinate.store.examples import open_examples

READY = "[data-testid=stApp][data-test-script-state=notRunning]"


def serve(store: Path, cache: Path) -> tuple["subprocess.Popen[bytes]", str]:
    """A server that has just been started, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "ordinate", "app", "--no-browser", "--port", str(port), "--store", str(store)]
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    server = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return server, f"http://127.0.0.1:{port}"


def wait(address: str) -> None:
    while True:
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)


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
    folder = Path(tempfile.mkdtemp())
    begin = time.monotonic()
    server, address = serve(folder / "runs", folder / "cache")
    try:
        wait(address)
        print(f"the server answers after {time.monotonic() - begin:.2f} s")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find(), args=["--no-sandbox"])
            page = browser.new_page()
            begin = time.monotonic()
            page.goto(address)
            expect(page.get_by_text("Use rope: it holds").first).to_be_visible(timeout=120_000)
            print(f"the first page shows its verdict after {time.monotonic() - begin:.2f} s (goal 4), cold")
            page.goto(address)
            begin = time.monotonic()
            expect(page.get_by_text("Use rope: it holds").first).to_be_visible(timeout=120_000)
            drawn(page)
            print(f"and again after {time.monotonic() - begin:.2f} s")

            copies = folder / "runs"
            copies.mkdir(exist_ok=True)
            for run in open_examples().runs()[:200]:
                shutil.copytree(run.folder, copies / run.id)
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
            expect(page.get_by_text("learning curves")).to_be_visible(timeout=120_000)
            before, begin = busy(server.pid), time.monotonic()
            page.wait_for_timeout(40_000)
            share = (busy(server.pid) - before) / (time.monotonic() - begin)
            print(f"watching costs {share:.1%} of a core while a comparison runs (goal 5 %)")
            page.get_by_role("button", name="Stop").click()
            page.wait_for_timeout(1500)
            page.get_by_role("button", name="Stop").click()
            browser.close()
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
