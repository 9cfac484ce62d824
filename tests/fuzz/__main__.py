"""`python -m tests.fuzz 10000`: so many hostile cases; `python -m tests.fuzz line 17`: one of them, as it comes out."""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from .harness import KINDS, TURNS, Case, load, run
from .models import whole_model
from .stores import whole

KILLS = 200


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("what", nargs="+", help="how many cases, or a kind and a number")
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kills", type=int, default=0, help="also so many SIGKILLs of a comparison")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.what[0] in KINDS:
        return show(Case(asked.what[0], int(asked.what[1])))
    load(), whole(), whole_model()  # once; whoever is forked from here has them
    findings = fuzz(int(asked.what[0]), asked.start, asked.processes)
    return 1 if findings or not survive(asked.kills, asked.start) else 0


def fuzz(count: int, start: int, processes: int) -> int:
    """All cases, with how it goes; tells how many were findings."""
    begin, findings = time.monotonic(), 0
    print(f"{count} cases from number {start} on, in {processes} processes", flush=True)
    cases = [Case(TURNS[number % len(TURNS)], number) for number in range(start, start + count)]
    for done, (case, problem) in enumerate(_outcomes(cases, processes), start=1):
        if problem:
            findings += 1
            print(f"FINDING  python -m tests.fuzz {case.kind} {case.number}  {problem}", flush=True)
        if done % 100 == 0 or done == count:
            left = (time.monotonic() - begin) / done * (count - done)
            print(f"{done}/{count}  {findings} findings  {left / 60:.1f} min left", flush=True)
    return findings


def _outcomes(cases: list[Case], processes: int) -> Iterator[tuple[Case, str]]:
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        yield from pool.imap_unordered(_judged, cases, chunksize=4)


def _judged(case: Case) -> tuple[Case, str]:
    return case, run(case).problem()


def show(case: Case) -> int:
    """One case: its arguments, what it printed, and what is wrong with that."""
    outcome = run(case)
    print(f"ordinate {outcome.arguments!r}"[:5000])
    print(f"{outcome.out}\n{outcome.err}\nexit code {outcome.code}")
    print(outcome.problem() or "as it should be")
    return 1 if outcome.problem() else 0


def survive(count: int, seed: int) -> bool:
    """So many kills, if this checkout has them."""
    if not count or find_spec("tests.fuzz.kills") is None:
        return True
    from .kills import kills

    print(f"{count} kills", flush=True)
    with TemporaryDirectory(prefix="ordinate-kills-") as folder:
        try:
            kills(count, seed, Path(folder))
        except AssertionError as error:
            print(f"FINDING  kills({count}, {seed}): {error}", flush=True)
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
