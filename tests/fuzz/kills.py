"""Comparisons whose processes are killed at random moments: `python -m tests.fuzz.kills 200 SEED FOLDER`.

Whatever dies, a store ends as one that nothing disturbed: the same to the bit, and nothing left over.
"""

import random
import shutil
import signal
import subprocess
import sys
from itertools import count as numbers
from os import kill
from pathlib import Path
from types import SimpleNamespace

import torch

from ordinate.store import Store
from ordinate.studies import local
from ordinate.studies.check import faults
from ordinate.studies.compare import Job
from ordinate.studies.executor import Plain
from ordinate.studies.local import Local
from ordinate.studies.plan import Study
from ordinate.studies.worker_pool import DEATHS
from ordinate.training import baselines

from ..studies import made
from ..studies.processes import Forked, Process, ended, outcomes, owners

COMMAND = "ordinate compare nothing"
LONGEST = 1.5  # seconds that a driver lives, which is about as long as half of the comparison takes


def kills(count: int, seed: int, folder: Path) -> None:
    """So many SIGKILLs of workers and drivers, over as many comparisons as it takes. A finding is an AssertionError."""
    baselines.SEQUENCES = 1000
    local.subprocess = SimpleNamespace(Popen=Forked, PIPE=subprocess.PIPE)  # type: ignore[assignment]
    study, moments = made.study(made.ENCODINGS, **made.SWEPT), random.Random(seed)
    whole = Store(folder / "whole")
    Job(study, whole, Plain(whole), COMMAND).carry_out(lambda event: None)
    expected = outcomes(whole)
    for number in numbers(1):
        store = Store(folder / str(number))
        shutil.copytree(whole.folder / "baselines", store.folder / "baselines")
        count -= storm(study, store, count, moments)
        found = outcomes(store)
        assert found.keys() == expected.keys(), f"{store.folder}: other runs than in {whole.folder}"
        for run in expected:
            assert found[run] == expected[run], f"{store.folder / run} differs from {whole.folder / run}"
        assert not (left := list(faults(store))), left
        shutil.rmtree(store.folder)
        if not count:
            return


def storm(study: Study, store: Store, most: int, moments: random.Random) -> int:
    """Carry out a study, with one driver after the other until one lives long enough; tells how many were killed."""
    killed = 0
    while True:
        process = Process(target=drive, args=(study, store))
        process.start()
        for _ in range(moments.randint(0, DEATHS - 1)):  # one more at the same run, and that counts as failed
            process.join(moments.uniform(0, LONGEST / 2))
            victims = owners(store)
            if victims and killed < most and process.is_alive():
                kill(moments.choice(victims), signal.SIGKILL)
                killed += 1
        if killed < most:
            process.join(moments.uniform(0, LONGEST))
            process.kill()
        code = ended(process)
        assert code in (0, -signal.SIGKILL), f"{store.folder}: a driver ended with {code}"
        if code == 0:
            return killed
        killed += 1


def drive(study: Study, store: Store) -> None:
    Job(study, store, Local(store, 2), COMMAND).carry_out(lambda event: None)


if __name__ == "__main__":
    torch.set_num_threads(1)
    kills(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
