"""What a study has found so far: its comparisons, measured values by seed, and what becomes of published claims."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ordinate.results.comparison import Comparison
from ordinate.statistics.interaction import Interaction, interaction
from ordinate.statistics.replication import Agreement, agreement
from ordinate.store import Store
from ordinate.studies import measures
from ordinate.studies.collect import collect
from ordinate.studies.stages import next_stage, seeds_to_report
from ordinate.studies.study_definition import Part, Published, StudyFile
from ordinate.studies.study_state import StudyState

ValueKey = tuple[str, str, str]  # task, encoding, measure


@dataclass(frozen=True)
class PartOutcome:
    """One comparison of a study, as far as it has come."""

    part: Part
    done: int
    runs: int  # that are known to be needed so far
    comparison: Comparison | None  # none: no run is finished
    values: dict[ValueKey, tuple[float, ...]]  # of the finished seeds

    @property
    def finished(self) -> bool:
        return self.runs > 0 and self.done == self.runs

    def agreement(self, figure: Published) -> Agreement | None:
        """Whether a published figure is among those of the seeds of this comparison, or could be."""
        measure = measures.find(figure.measure)
        if measure.by_machine:
            return None
        tolerance = max(figure.within, measure.tolerance(figure.value))
        return agreement(figure.value, self.measured(figure.encoding, figure.measure), tolerance)

    def measured(self, encoding: str, measure: str) -> tuple[float, ...]:
        """The values of the finished seeds on the first task."""
        own = self.part.encoding(encoding) or self.part.encoding(encoding.partition("(")[0])
        return () if own is None else self.values.get((self.part.tasks[0], own, measure), ())


@dataclass(frozen=True)
class StudyOutcome:
    """All parts of a study."""

    study: StudyFile
    parts: tuple[PartOutcome, ...]
    option: str = ""  # what a command must end with to use the store of it

    @property
    def finished(self) -> bool:
        return all(part.finished for part in self.parts)

    def like(self, base: PartOutcome) -> list[PartOutcome]:
        """The parts that differ from this one in what they say."""
        return [part for part in self.parts if part.part.base == base.part.name]

    def interactions(self) -> dict[str, Interaction]:
        """By encoding that all parts have measured, whether the course of a measure depends on the part."""
        found = {}
        names = self.parts[0].part.encodings if self.study.interaction else ()
        for name in names:
            groups = [[part.measured(name, measure) for measure in self.study.interaction] for part in self.parts]
            same = all(len({len(values) for values in group}) == 1 and len(group[0]) > 1 for group in groups)
            if same and len(groups) > 1:
                found[name] = interaction([np.array(group).T for group in groups])
        return found


def study_outcome(study: StudyFile, stores: Sequence[Store]) -> StudyOutcome:
    """Each part from the first store that has all of it, else from the first one."""
    for store in stores:
        store.check_place()
    return StudyOutcome(study, tuple(part_outcome(study, part, stores) for part in study.parts), stores[0].option)


def part_outcome(study: StudyFile, part: Part, stores: Sequence[Store]) -> PartOutcome:
    states = (StudyState(part.study, store) for store in stores)
    state = first = next(states)
    while next_stage(state).missing and (other := next(states, None)) is not None:
        state = other
    state = first if next_stage(state).missing else state
    stage = next_stage(state)
    runs = stage.runs
    comparison = collect(state, part.command)
    found = comparison if comparison.analysis.tasks else None
    return PartOutcome(part, len(runs) - len(stage.missing), len(runs), found, _values(state, part, study))


def _values(state: StudyState, part: Part, study: StudyFile) -> dict[ValueKey, tuple[float, ...]]:
    wanted = [*(figure.measure for other in study.parts for figure in other.published)]
    wanted += [*part.measures, *(claim.measure for claim in study.claims if claim.measure)]
    seeds, found = seeds_to_report(state), dict[ValueKey, tuple[float, ...]]()
    for arm in state.arms():
        results = [state.result(state.reported_run(arm, seed)) for seed in range(1, seeds + 1)]
        for name in dict.fromkeys(wanted):
            measure = measures.find(name)
            own = [value for result in results if result and (value := measure.read(result)) is not None]
            if own:
                found[arm.task, arm.encoding, name] = tuple(own)
    return found
