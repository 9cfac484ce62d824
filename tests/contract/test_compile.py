"""`torch.compile` without a graph break, and `torch.export`, for every encoding."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .cases import REGISTERED

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def compiler() -> Iterator[subprocess.Popen[str]]:
    """A process without shape checks, which dynamo cannot read; it answers one name at a time."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.contract.compile_all"],
        cwd=ROOT, env=os.environ | {"ORDINATE_UNCHECKED": "1"}, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*REGISTERED, "segment+t5", "fox+selective_rope", "rope(scaling=dynamic,factor=2)"])
def test_it_compiles_whole_and_exports(name: str, compiler: subprocess.Popen[str]) -> None:
    assert compiler.stdin is not None and compiler.stdout is not None
    compiler.stdin.write(f"{name}\n")
    compiler.stdin.flush()
    answer = compiler.stdout.readline()
    assert answer, "the compiling process died"
    assert json.loads(answer) == []
