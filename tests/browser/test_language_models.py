"""The page Language models in a browser: from its commands to curves, a sample, and the view in the address."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from .app_server import serve
from .test_app import SLOW, Tab, ready

SMALL = ("dim=16", "layers=1", "heads=2", "length=16", "batch=4", "warmup=2", "vocabulary=300")
MODEL = "nano_rope_2k_s42"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, its text and its evaluation, as the commands leave them."""
    place, source = tmp_path_factory.mktemp("models"), random.Random(2)
    (place / "notes").mkdir()
    for number in range(40):
        words = " ".join(source.choice(("one", "two", "three")) for _ in range(60))
        (place / "notes" / f"{number}.txt").write_text(f"{number} {words}")
    (place / "eval.toml").write_text(
        '[text]\noverall = 500\ntokens = 128\ntargets = 32\ncontexts = [0.5, 1, 2]\nmore_contexts = []\n'
        '[problems]\nkinds = ["copy"]\nshots = [0]\ncount = 2\n'
        '[passkey]\ncontexts = [2, 4]\ndepths = [0, 1]\nsymbols = 1\ncount = 2\n'
        '[induction]\nperiods = [0.5, 1]\nsequences = 2\n'
    )  # fmt: skip
    train = ("lm", "train", "--size", "nano", "-e", "rope", "--budget", "2k", "--threads", "1", *SMALL)
    for command in (
        ("lm", "prepare", "text:notes", "--vocabulary", "300", "--valid", "0.2", "--workers", "0"),
        train,
        ("lm", "eval", f"checkpoints/{MODEL}", "--config", "eval.toml", "--threads", "1"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "ordinate", *command], cwd=place, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def address(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    more = {"PYTHONPATH": os.pathsep.join(sys.path)}  # the server stands in another folder
    with serve(folder / "runs", tmp_path_factory.mktemp("cache"), folder, OMP_NUM_THREADS="1", **more) as server:
        yield server.address


def test_a_model_is_ticked_read_and_asked(browser: Browser, address: str, folder: Path) -> None:
    tab = Tab(browser, address)
    page = tab.page
    page.goto(address)
    page.get_by_role("link", name="Language models").click()
    expect(page.get_by_role("heading", name="Language models")).to_be_visible(timeout=SLOW)
    for words in ("Training loss", "Loss by position", "Passkey: share of symbols recalled", "On the same"):
        expect(page.get_by_text(words).first).to_be_visible(timeout=SLOW)
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=SLOW)
    page.get_by_role("radio", name="bits per byte").click()
    page.wait_for_url("**measure=bits*", timeout=SLOW)
    page.reload()
    expect(page.get_by_text("Validation, bits per byte")).to_be_visible(timeout=SLOW)
    ready(page)
    page.get_by_role("textbox", name="Prompt").fill("one two")
    page.get_by_role("button", name="Write").click()
    expect(page.locator("[data-testid=stCode]", has_text="one two").first).to_be_visible(timeout=SLOW)
    page.get_by_role("radio", name="studies").click()
    expect(page.get_by_text("ordinate study run").first).to_be_visible(timeout=SLOW)
    page.close()
    assert tab.complaints == []
    shutil.rmtree(folder / "checkpoints")
    narrow = Tab(browser, address, 500)
    narrow.page.goto(f"{address}/models")
    expect(narrow.page.get_by_text("No language model is here yet")).to_be_visible(timeout=SLOW)
    expect(narrow.page.get_by_text("ordinate lm prepare").first).to_be_visible(timeout=SLOW)
    narrow.page.close()
    assert narrow.complaints == []
