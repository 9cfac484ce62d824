"""The process that carries out a study is on record while it works, and no longer."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from ordinate.store.claim import SILENCE
from ordinate.studies.driver import driver, driving


def test_who_works_is_on_record(tmp_path: Path) -> None:
    with driving(tmp_path):
        found = driver(tmp_path)
        assert found is not None and found.pid == os.getpid()
        with driving(tmp_path):  # a second one
            assert driver(tmp_path) == found
        assert driver(tmp_path) == found
    assert driver(tmp_path) is None and not (tmp_path / "driver").exists()


@pytest.mark.parametrize("near", [True, False])
def test_what_the_first_left_when_it_was_killed_goes_with_the_second(tmp_path: Path, near: bool) -> None:
    first, record = os.fork(), tmp_path / "driver"
    if not first:
        with driving(tmp_path):
            time.sleep(600)
        os._exit(0)
    while driver(tmp_path) is None:
        time.sleep(0.01)
    if not near:  # of another container: it cannot be seen, and its heartbeat decides
        record.write_text(json.dumps(json.loads(record.read_text()) | {"namespace": "another"}))
    with driving(tmp_path):
        found = driver(tmp_path)
        assert found is not None and found.pid == first
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)
        before = time.time() - SILENCE - 1
        os.utime(record, (before, before))
    assert not record.exists()
