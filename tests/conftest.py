"""Shapes are checked while tests run; `--sample` runs one in four of the `sampled` cases, others at every commit."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

if "ORDINATE_UNCHECKED" not in os.environ:
    check = beartype(conf=BeartypeConf(is_pep484_tower=True))  # a whole number is a number
    sys.modules["typecheck_for_tests"] = SimpleNamespace(check=check)  # type: ignore[assignment]
    install_import_hook("ordinate", "typecheck_for_tests.check")

import pytest
import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
settings.register_profile("ordinate", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # of a busy machine
settings.load_profile("ordinate")

ONE_IN = 4


@pytest.fixture(autouse=True, scope="session")
def _no_disk() -> Iterator[None]:
    """Nothing waits for the disk: what a sync adds shows after a power cut, and tests end processes, not machines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which refuses the same descriptors
        yield


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Tests draw their inputs from torch's global generator; the package itself never does."""
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _main() -> Iterator[None]:
    """AppTest leaves its script as `__main__`, which every process that a later test spawns would run."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "run one in four of the cases marked `sampled`, drawn by ORDINATE_TEST_SEED (default: the commit)"
    parser.addoption("--sample", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Set the seed before xdist starts its workers, which inherit it: all of them must draw the same cases."""
    if "ORDINATE_TEST_SEED" not in os.environ:
        command = ["git", "-C", str(config.rootpath), "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        os.environ["ORDINATE_TEST_SEED"] = commit or "0"


def pytest_report_header(config: pytest.Config) -> str:
    seed = os.environ["ORDINATE_TEST_SEED"]
    drawn = f"one in {ONE_IN} of the sampled cases" if config.getoption("sample") else "all cases"
    return f"ordinate: {drawn}, ORDINATE_TEST_SEED={seed}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("sample"):
        left_out = [item for item in items if item.get_closest_marker("sampled") and not _drawn(item.nodeid)]
        config.hook.pytest_deselected(items=left_out)
        kept = set(items) - set(left_out)
        items[:] = [item for item in items if item in kept]
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)  # no worker begins a long file when the others are done


def _drawn(case: str) -> bool:
    digest = hashlib.sha256(f"{os.environ['ORDINATE_TEST_SEED']} {case}".encode()).digest()
    return digest[0] % ONE_IN == 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Append each test's processor seconds, child processes included, to the file that ORDINATE_TEST_TIMES names."""
    before = sum(os.times()[:4])
    result = yield
    if "ORDINATE_TEST_TIMES" in os.environ:
        with Path(os.environ["ORDINATE_TEST_TIMES"]).open("a") as file:
            file.write(f"{sum(os.times()[:4]) - before:.2f}\t{item.nodeid}\n")
    return result
