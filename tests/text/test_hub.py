"""FineWeb-Edu from a Hub on this machine, which fails now and then. In processes: addresses are read at import."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ordinate.text import open_corpus, prepare, request

from .loopback_hub import COMMIT, Fault, serving
from .made_text import contents, parquet_file, texts

DATASET = "HuggingFaceFW/fineweb-edu"
NAMES = ("sample/10BT/000.parquet", "sample/10BT/001.parquet")
PROGRAM = """
from ordinate.cli import main
from ordinate.text.sources import hub
hub.WAITS = (0.0,) * 3
main()
"""


def files(folder: Path) -> dict[str, bytes]:
    found = {name: parquet_file(folder / name, texts(30, seed)).read_bytes() for seed, name in enumerate(NAMES)}
    return found | {"sample/10BT/README.md": b"", "data/x/000.parquet": found[NAMES[0]]}


def program(folder: Path, address: str, *more: str) -> subprocess.CompletedProcess[str]:
    """`ordinate lm prepare fineweb-edu` against this address."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    hub = {"HF_ENDPOINT": address, "HF_HOME": str(folder / "home"), "HF_HUB_DISABLE_XET": "1"}
    quiet = {"HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    settings = ("--vocabulary", "300", "--valid", "0.2", "--workers", "0", "--out", str(folder / "out"), *more)
    command = [sys.executable, "-c", PROGRAM, "lm", "prepare", "fineweb-edu", *settings]
    return subprocess.run(command, env=kept | hub | quiet, capture_output=True, text=True, check=False)


FAULTS: list[Fault] = ["500", "truncated", "wrong length", "wrong bytes"]


def test_what_comes_is_what_the_hub_has_however_it_fails(tmp_path: Path) -> None:
    served = files(tmp_path / "served")
    with serving(DATASET, served, FAULTS) as hub:
        first = program(tmp_path, hub.address, "--json")
        assert first.returncode == 0, first.stderr
        assert not hub.faults
        requests = len(hub.seen)
        again = program(tmp_path, hub.address, "--json")
        assert again.stdout == first.stdout and len(hub.seen) == requests, "done: no further request"
    summary = json.loads(first.stdout)
    assert summary["origin"] == {"dataset": DATASET, "commit": COMMIT} and summary["shards"] == 2
    local = prepare(
        request(f"parquet:{tmp_path / 'served/sample'}", vocabulary=300, valid=0.2), tmp_path / "local", workers=0
    )
    fetched = open_corpus(tmp_path / "out", verify=True)
    assert fetched.manifest.shards == local.manifest.shards
    assert contents(tmp_path / "out").keys() == contents(tmp_path / "local").keys(), "downloads are gone"


def test_fewer_shards_need_fewer_downloads(tmp_path: Path) -> None:
    with serving(DATASET, files(tmp_path / "served"), []) as hub:
        done = program(tmp_path, hub.address, "--max-shards", "1")
        assert done.returncode == 0, done.stderr
        assert not any(NAMES[1] in line for line in hub.seen)


@pytest.mark.parametrize(
    ("faults", "more", "sentence"),
    [
        (["wrong bytes"] * 9, (), "the Hub did not deliver sample/10BT/000.parquet"),
        ([], ("--revision", "nowhere"), "the Hub has no HuggingFaceFW/fineweb-edu at nowhere"),
    ],
)
def test_a_hub_that_fails_for_good_is_one_sentence(
    tmp_path: Path, faults: list[Fault], more: tuple[str, ...], sentence: str
) -> None:
    with serving(DATASET, files(tmp_path / "served"), faults) as hub:
        done = program(tmp_path, hub.address, *more)
    assert done.returncode == 2 and sentence in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_no_network_is_one_sentence(tmp_path: Path) -> None:
    with serving(DATASET, {}, []) as hub:
        unreachable = hub.address
    done = program(tmp_path, unreachable)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert "cannot be reached" in last and "HF_ENDPOINT" in last and "parquet:DIR" in last


def test_names_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    hostile = {"sample/10BT/../../../evil.parquet": b"x"}
    with serving(DATASET, hostile, []) as hub:
        done = program(tmp_path, hub.address)
    assert done.returncode == 2 and "leads out of the folder" in done.stderr
    assert not list(tmp_path.rglob("evil.parquet"))
