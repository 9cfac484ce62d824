"""A real browser, without a screen."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from .find_chromium import COMMANDS, find

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium. Where there is none the tests fail: a test that skips itself tests nothing."""
    program = find()
    if program is None:
        pytest.fail(f"no Chromium was found for the browser tests: {COMMANDS}")
    expect.set_options(timeout=120_000)  # milliseconds that a busy machine may take
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield started
        started.close()
