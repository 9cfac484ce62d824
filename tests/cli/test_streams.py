"""Outputs that are closed, cut off, narrow, or without an alphabet; and inputs that are no files."""

import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ordinate.cli.console import AtWork

from .conftest import Program

PROGRAM = f"{sys.executable} -m ordinate"


def shell(line: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A line as a user types it; the code is that of the program, not of what it is piped into."""
    line = f"set -o pipefail; {line.replace('ordinate', PROGRAM, 1)}"
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, cwd=folder, env=os.environ | environment
    )


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ordinate status --json >&-", 0),
        ("ordinate status --json 2>&- >&- <&-", 0),
        ("ordinate show nothing 2>&-", 2),
        ("ordinate list encodings | head -c 0", 1),
    ],
)
def test_nobody_listens(line: str, code: int, tmp_path: Path) -> None:
    done = shell(line, tmp_path)
    assert done.returncode == code and done.stdout == "" and done.stderr == ""


def test_a_full_device_is_told(tmp_path: Path) -> None:
    done = shell("ordinate status --json > /dev/full", tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("ordinate: No space left on device")


def test_no_columns_are_as_good_as_unknown_ones(tmp_path: Path) -> None:
    for columns in ("0", "9" * 5000):
        assert "Chance" in shell("ordinate show k_back", tmp_path, COLUMNS=columns).stdout


def test_letters_that_the_terminal_lacks_are_spelled_out(tmp_path: Path) -> None:
    ascii_only = dict(PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    done = shell("ordinate show é💥\udcff", tmp_path, **ascii_only)
    assert done.returncode == 2 and done.stderr.startswith("ordinate: unknown encoding or task") and done.stdout == ""
    shown = shell("ordinate show alibi", tmp_path, **ascii_only)
    assert shown.returncode == 0 and "Press" in shown.stdout


def test_what_is_no_file_is_not_waited_for(ordinate: Program, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero", "."):
        done = ordinate("train", "k_back", "-e", "rope", "--dry-run", "--file", name)
        assert done.code == 2 and f"{name} is not a file: settings are read from a file" in done.err


def test_a_mark_of_byte_order_is_no_statement(ordinate: Program, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_bytes(b"\xef\xbb\xbfsteps = 7\n")
    done = ordinate("train", "k_back", "-e", "rope", "--dry-run", "--file", "run.toml")
    assert json.loads(done.out)["steps"] == 7


def test_a_person_at_a_terminal_is_told_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    said = threading.Event()

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            written.append(text)
            said.set()
            return len(text)

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(AtWork, "silence", 0.0)
    with AtWork("reading"):
        assert said.wait(60)
    assert written[0] == "still at work: reading"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with AtWork("reading"):
        pass
    assert not sys.stderr.getvalue(), "a log has no use for it"
