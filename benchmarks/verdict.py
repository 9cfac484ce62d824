"""What a verdict costs: a comparison that trains until a task is learned, against the full grid of the same runs.

`python -m benchmarks.verdict STORE` reads a finished comparison of the store and prints its training steps, and the
time of its processes, against every run going to the end of its budget. With `--full` those runs are done too, in a
store beside it (an hour on two cores), and the words of all cells are compared.
"""

import argparse
from dataclasses import dataclass, field, replace
from pathlib import Path

from ordinate.statistics.phrases import cell_words
from ordinate.store import Store, open_store
from ordinate.studies import study_store
from ordinate.studies.arm import Arm
from ordinate.studies.local import Local
from ordinate.studies.stages import seeds_to_report
from ordinate.studies.study_analysis import analyze_study
from ordinate.studies.study_state import StudyState
from ordinate.training import RunConfig


@dataclass(frozen=True)
class Spent:
    """By a comparison, and what the full grid would spend."""

    steps: int
    full_steps: int
    seconds: float
    full_seconds: float


def runs_of(state: StudyState) -> list[RunConfig]:
    """Pilots and reported runs."""
    return [*state.pilots(), *state.reported(seeds_to_report(state))]


def spent(state: StudyState) -> Spent:
    """A run that ended early would have gone on at the same speed."""
    steps = full_steps = 0
    seconds = full_seconds = 0.0
    budgets = {(task, encoding): base.steps for task, encoding, base in state.study.bases}
    for config in runs_of(state):
        result = state.result(config)
        assert result is not None and isinstance(config.model.encoding, str)
        budget = budgets[config.task, config.model.encoding]
        steps, full_steps = steps + result.steps, full_steps + budget
        seconds += result.seconds
        full_seconds += result.seconds * budget / result.steps
    return Spent(steps, full_steps, seconds, full_seconds)


def words(state: StudyState) -> dict[tuple[str, int, str], str]:
    """Of every cell, without figures."""
    (task,) = analyze_study(state, seeds_to_report(state)).tasks
    return {
        (r.split, r.length, cell.encoding): cell_words(cell).partition(" (")[0] for r in task.ranges for cell in r.cells
    }


@dataclass
class FullGrid(StudyState):
    """A study whose runs all go to the end of their budgets, at the learning rates of another."""

    given: list[Arm] = field(default_factory=list)

    def arms(self) -> list[Arm]:
        return [replace(a, base=replace(a.base, budget="fixed", schedule="wsd"), steps=0) for a in self.given]


def full_grid(state: StudyState, folder: Path) -> StudyState:
    """The same rates and seeds, each to the end of its budget."""
    full = FullGrid(state.study, Store(folder), given=state.arms())
    local = Local(Store(folder))
    try:
        full.failed |= local.run(full.missing(full.reported(seeds_to_report(state))), lambda event: None)
    finally:
        local.close()
    return full


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.verdict", description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("study", nargs="?", default="")
    parser.add_argument("--full", action="store_true", help="also do the full grid, and compare the words")
    given = parser.parse_args()
    store = open_store(given.store)
    state = StudyState(study_store.find(store, given.study).study, store)
    cost = spent(state)
    print(f"steps: {cost.steps:,} of {cost.full_steps:,}: {cost.steps / cost.full_steps:.3f} (at most 0.40, goal 0.33)")
    print(f"time: {cost.seconds:.0f} s of {cost.full_seconds:.0f} s: {cost.seconds / cost.full_seconds:.3f}")
    if given.full:
        ours, theirs = words(state), words(full_grid(state, given.store.parent / f"{given.store.name}-full"))
        other = {place: (ours[place], theirs[place]) for place in ours if ours[place] != theirs[place]}
        print(f"words: {len(ours) - len(other)} of {len(ours)} cells alike")
        for place, (one, two) in other.items():
            print(f"  {place}: {one} / {two}")


if __name__ == "__main__":
    main()
