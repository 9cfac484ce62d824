"""From scores to an analysis: words, tested pairs, reach, ranks. Every rule of a fair comparison is applied here."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from ordinate.statistics.alarms import alarms_of
from ordinate.statistics.cells import TaskScores, task_scores
from ordinate.statistics.distributions import band
from ordinate.statistics.holm import score_tests, seeds_needed
from ordinate.statistics.large.columns import Observations
from ordinate.statistics.large.grid import starts
from ordinate.statistics.large.task_scores import large_task_scores
from ordinate.statistics.learning import Steps
from ordinate.statistics.length_curve import Point, area
from ordinate.statistics.observations import Observation, headline, trained_length
from ordinate.statistics.pairs import Endpoint, judge
from ordinate.statistics.phrases import USUAL_SEEDS, few_seeds_words
from ordinate.statistics.ranks import AverageRanks, ranks
from ordinate.statistics.reach import OTHER_BARS, Reach, reach_of
from ordinate.statistics.types import Analysis, Basis, Contrast, StudyFacts, TaskAnalysis, TaskEvidence
from ordinate.statistics.unfit_reasons import with_unfit_reasons
from ordinate.statistics.verdict import conclude
from ordinate.statistics.words import Score

LARGE = 2_000  # rows from which on all cells are computed at once (see `large`)
Scored = Observations | Sequence[Observation]


def analyze(
    observations: Scored,
    *,
    alpha: float = 0.05,
    planned: Mapping[str, Sequence[str]] | None = None,
    study: Mapping[str, StudyFacts] | None = None,
    steps: Mapping[str, Mapping[str, Steps]] | None = None,
    limits: Sequence[str] = (),
    preliminary: Sequence[str] = (),
) -> Analysis:
    """All statistics of a comparison.

    By task: `planned` names all its encodings, so that one without any score is still in the table and in the number
    of seeds that are needed; `study` has what scores alone cannot show; `steps` are those of training.
    """
    planned, study, steps = planned or {}, study or {}, steps or {}
    tasks = [_ScoredTask(scores) for scores in _scores(observations, planned, alpha)]
    endpoints = [endpoint for task in tasks for endpoint in task.endpoints]
    tests = sum(score_tests([len(task.encodings)], len(task.endpoints) - task.gated) for task in tasks)
    by_name: dict[str, list[Contrast]] = {task.name: [] for task in tasks}
    needed = seeds_needed(tests, alpha) if tests else 0
    for name, pair in judge(endpoints, alpha, needed):
        by_name[name].append(pair)
    analyzed = tuple(
        task.analysis(by_name[task.name], study.get(task.name, StudyFacts()), steps.get(task.name, {}), needed)
        for task in tasks
    )
    relaxed = (*preliminary, *_unfinished(study.values()))
    encodings = tuple(dict.fromkeys((*_encodings(observations), *chain.from_iterable(planned.values()))))
    return Analysis(analyzed, encodings, alpha, tests, needed, _families(analyzed, alpha), tuple(limits), relaxed)


def _scores(observations: Scored, planned: Mapping[str, Sequence[str]], alpha: float) -> Iterator[TaskScores]:
    if len(observations) < LARGE:
        return task_scores(_rows(observations), planned, alpha)
    return large_task_scores(_columns(observations), planned, alpha)


def _columns(observations: Scored) -> Observations:
    return observations if isinstance(observations, Observations) else Observations.of(observations)


def _rows(observations: Scored) -> Sequence[Observation]:
    return observations.rows() if isinstance(observations, Observations) else observations


def _encodings(observations: Scored) -> Iterable[str]:
    if isinstance(observations, Observations):
        return observations.encodings
    return (item.encoding for item in observations)


def _unfinished(tasks: Iterable[StudyFacts]) -> tuple[str, ...]:
    """A study that is not finished is preliminary: its risk was planned for all its runs."""
    left = [task for task in tasks if task.done < task.runs]
    done, runs = sum(task.done for task in left), sum(task.runs for task in left)
    return (f"{done} of {runs} planned runs are done",) if left else ()


def few_seeds(observations: Scored) -> tuple[str, ...]:
    """Why a file of results is preliminary: some encoding has fewer seeds than a comparison runs."""
    columns = _columns(observations)
    order = np.lexsort((columns.seed, columns.encoding, columns.task))
    task, encoding = columns.task[order], columns.encoding[order]
    runs = starts(task, encoding, columns.seed[order])
    own = starts(task[runs], encoding[runs])
    fewest = int(np.diff([*own, len(runs)]).min(initial=USUAL_SEEDS))
    return (few_seeds_words(fewest),) if fewest < USUAL_SEEDS else ()


class _ScoredTask:
    """One task between its cells and its verdict."""

    def __init__(self, scores: TaskScores) -> None:
        self.facts, self.name, self.ranges, self.runs = scores.facts, scores.facts.name, scores.ranges, scores.runs
        self.scores, self.encodings = scores, list(scores.runs)
        self.seeds = sorted({run.seed for own in self.runs.values() for run in own})
        keys = [r.key for r in self.ranges]
        self.headline, self.trained = keys.index(headline(keys)), trained_length(keys)
        self.shown = self.ranges[self.headline]
        self.gated = self.facts.bar is not None and self.trained is not None

    @cached_property
    def endpoints(self) -> list[Endpoint]:
        """What is tested: how many seeds learned the task, scores on the headline range, areas under scores."""
        found = []
        if self.gated:
            flags = {e: tuple(map(float, own)) for e in self.encodings if (own := self._flags(e))}
            found.append(Endpoint(self.name, Basis.LEARNING, flags))
        found.append(self._endpoint(Basis.SCORES, self._headline_values, self.shown.floor))
        longer = [r for r in self.ranges if r.split == "ood"]
        if len(longer) > 1:
            start = [r for r in self.ranges if (r.split, r.length) == ("id", self.trained)]
            floor = area([Point(r.length, r.floor) for r in (*start, *longer)], None)
            assert floor is not None
            found.append(self._endpoint(Basis.AREA, self._areas, floor))
        return found

    def _headline_values(self, encoding: str) -> dict[int, float | None]:
        cell = self.shown.cell(encoding)
        columns = zip(cell.seeds, cell.scores, cell.counted, strict=True)
        return {seed: score if counts else None for seed, score, counts in columns}

    def _areas(self, encoding: str) -> dict[int, float | None]:
        """None of an encoding that no seed learned the task with: it is not ranked beyond the trained length."""
        runs = self.runs[encoding]
        ranked = any(run.area is not None and run.learned is not False for run in runs)
        return {run.seed: run.area if ranked else None for run in runs}

    def _endpoint(self, basis: Basis, values: Callable[[str], dict[int, float | None]], floor: float) -> Endpoint:
        """One value of each seed. A failed seed without one counts as the floor, of a loss as the worst of any seed.

        An encoding without any seed that has a value cannot go there, and is not compared.
        """
        lower, bounded = self.facts.direction == "lower", self.facts.bar is not None
        known = {encoding: values(encoding) for encoding in self.encodings}
        scores = [score for own in known.values() for score in own.values() if score is not None]
        failure = floor if bounded else (max if lower else min)(scores, default=0.0)
        found = {}
        for encoding, own in known.items():
            if any(score is not None for score in own.values()):
                failed = {run.seed for run in self.runs[encoding] if run.failed}
                every = [failure if score is None and seed in failed else score for seed, score in own.items()]
                found[encoding] = tuple(score for score in every if score is not None)
        sequences = self.shown.sequences
        top = floor if sequences is None else band(floor, sequences)[1]
        return Endpoint(self.name, basis, found, lower, bounded, sequences, top)

    def analysis(
        self, pairs: Sequence[Contrast], study: StudyFacts, steps: Mapping[str, Steps], needed: int
    ) -> TaskAnalysis:
        best_first = tuple(cell.encoding for cell in self.shown.cells)
        flags = {e: self._flags(e) for e in best_first} if self.gated else {}
        learned = {e: (sum(own), len(own)) for e, own in flags.items()}
        return TaskAnalysis(
            task=self.name,
            family=self.facts.family,
            direction=self.facts.direction,
            bar=self.facts.bar,
            trained=self.trained,
            encodings=best_first,
            seeds=tuple(self.seeds),
            ranges=with_unfit_reasons(self.ranges, steps) if steps else tuple(self.ranges),
            headline=self.headline,
            learned=learned,
            reach={e: self._reach(e) for e in best_first} if self.gated else {},
            steps={e: steps[e] for e in best_first if e in steps},
            pairs=tuple(pairs),
            means=self._means(Basis.SCORES),
            areas=self._means(Basis.AREA),
            verdict=conclude(best_first, self.shown, pairs, learned, needed),
            alarms=alarms_of(self._evidence(learned, study, pairs, needed, steps)),
            unknown={e: len(self.runs[e]) - len(own) for e, own in flags.items() if len(own) < len(self.runs[e])},
        )

    def _flags(self, encoding: str) -> list[bool]:
        """Who learned the task, of the seeds of which that is known: a seed without a score in distribution is not."""
        return [run.learned for run in self.runs[encoding] if run.learned is not None]

    def _means(self, basis: Basis) -> dict[str, float]:
        return {
            encoding: sum(values) / len(values)
            for endpoint in self.endpoints
            if endpoint.basis is basis
            for encoding, values in endpoint.values.items()
        }

    def _reach(self, encoding: str) -> Reach:
        assert self.trained is not None
        known = [run for run in self.runs[encoding] if run.learned is not None]
        longest = max(r.length for r in self.ranges if r.split != "shift")
        learned = [run for run in known if run.crossing is not None]
        others = {bar: [run.at_other_bars[at] for run in learned] for at, bar in enumerate(OTHER_BARS)}
        return reach_of([run.crossing for run in known], longest, self.trained, others)

    def _evidence(
        self,
        learned: Mapping[str, tuple[int, int]],
        study: StudyFacts,
        pairs: Sequence[Contrast],
        needed: int,
        steps: Mapping[str, Steps],
    ) -> TaskEvidence:
        lost = [(encoding, run) for encoding, own in self.runs.items() for run in own if run.diverged]
        return TaskEvidence(
            bar=self.facts.bar,
            seeds=len(self.seeds),
            own_seeds={encoding: len(own) for encoding, own in self.runs.items()},
            diverged=[(encoding, run.seed) for encoding, run in lost if not run.scored],
            diverged_beyond=[(encoding, run.seed) for encoding, run in lost if run.scored],
            differing=self.scores.differing,
            seen=self.scores.seen,
            ranges=self.ranges,
            learned=learned,
            needed=needed if len(self.encodings) > 1 else 0,
            study=study,
            shown=self.shown,
            pairs=pairs,
            steps=steps,
            areas={encoding: self._areas(encoding) for encoding in self.encodings},
        )


def _families(tasks: Sequence[TaskAnalysis], alpha: float) -> dict[str, AverageRanks]:
    """Ranks over the tasks of each family that has several, and over all, of the means on the headline range.

    Seeds that did not learn a task count as its floor, encodings that cannot go there rank last. A task that no
    encoding learned gives no ranks.
    """
    groups: dict[str, list[TaskAnalysis]] = {}
    for task in tasks:
        if not task.learned or any(good for good, _ in task.learned.values()):
            groups.setdefault(task.family or "tasks", []).append(task)
    if len(groups) > 1:
        groups["all tasks"] = [task for members in groups.values() for task in members]
    families = {}
    for family, members in groups.items():
        names = [name for name in members[0].encodings if all(name in task.encodings for task in members)]
        if len(members) > 1 and len(names) > 1:
            families[family] = ranks(
                names, np.array([[_merit(task, name) for name in names] for task in members]), alpha
            )
    return families


def _merit(task: TaskAnalysis, encoding: str) -> float:
    mean = task.means.get(encoding)
    if mean is None:
        return -np.inf
    if task.direction == "lower":
        return -mean
    at_floor = task.bar is not None and not Score(mean, task.shown.floor, task.shown.sequences).above_floor
    return task.shown.floor if at_floor else mean
