"""From scores to an analysis: words, tested pairs, reach, ranks. Every rule of a fair comparison is applied here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np

from ordinate.statistics.alarms import alarms_of
from ordinate.statistics.cells import TaskScores, task_scores
from ordinate.statistics.holm import pairs_of, seeds_needed
from ordinate.statistics.large.columns import Observations
from ordinate.statistics.large.grid import starts
from ordinate.statistics.large.task_scores import large_task_scores
from ordinate.statistics.observations import Observation, headline, trained_length
from ordinate.statistics.pairs import Sample, judge
from ordinate.statistics.phrases import USUAL_SEEDS, few_seeds_words
from ordinate.statistics.ranks import AverageRanks, ranks
from ordinate.statistics.reach import Reach, Steps
from ordinate.statistics.types import Analysis, Basis, Contrast, StudyFacts, TaskAnalysis, TaskEvidence
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
    of seeds that are needed; `study` has what scores alone cannot show; `steps` are those that learning took.
    """
    planned, study, steps = planned or {}, study or {}, steps or {}
    tasks = [_ScoredTask(scores) for scores in _scores(observations, planned, alpha)]
    pairs = pairs_of(len(task.encodings) for task in tasks)
    needed = seeds_needed(pairs, alpha) if pairs else 0
    by_name: dict[str, list[Contrast]] = {task.name: [] for task in tasks}
    for name, pair in judge((sample for task in tasks for sample in task.samples()), alpha):
        by_name[name].append(pair)
    analyzed = tuple(
        task.analysis(by_name[task.name], study.get(task.name, StudyFacts()), steps.get(task.name, {}), pairs, needed)
        for task in tasks
    )
    families = _families(analyzed, alpha)
    relaxed = (*preliminary, *_unfinished(study.values()))
    encodings = tuple(dict.fromkeys((*_encodings(observations), *chain.from_iterable(planned.values()))))
    return Analysis(analyzed, encodings, alpha, pairs, needed, families, tuple(limits), relaxed)


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

    def samples(self) -> Iterator[Sample]:
        """What is to be tested: of every two encodings how many seeds learned the task, then scores in the headline."""
        if self.gated:
            yield from self._compared({e: tuple(map(float, self._flags(e))) for e in self.encodings}, Basis.LEARNING)
        scores = {}
        for encoding in self.encodings:
            cell = self.shown.cell(encoding)
            columns = zip(cell.scores, cell.counted, strict=True)
            scores[encoding] = tuple(score for score, counts in columns if counts and score is not None)
        yield from self._compared(scores, Basis.SCORES)

    def _compared(self, values: dict[str, tuple[float, ...]], basis: Basis) -> Iterator[Sample]:
        sign = -1 if self.facts.direction == "lower" and basis is Basis.SCORES else 1
        scored = self.facts.bar is not None
        means = {encoding: sum(own) / len(own) for encoding, own in values.items() if own}
        low = {
            encoding: not Score(mean, self.shown.floor, self.shown.sequences).above_floor
            for encoding, mean in means.items()
            if basis is Basis.SCORES and scored
        }
        for one, two in combinations(means, 2):
            better, worse = (two, one) if sign * (means[two] - means[one]) > 0 else (one, two)
            both = values[better], values[worse]
            yield Sample(self.name, better, worse, basis, both, scored, low.get(better, False))

    def analysis(
        self, pairs: Sequence[Contrast], study: StudyFacts, steps: Mapping[str, Steps], all_pairs: int, needed: int
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
            ranges=tuple(self.ranges),
            headline=self.headline,
            learned=learned,
            reach={e: self._reach(e) for e in best_first} if self.gated else {},
            steps={e: steps[e] for e in best_first if e in steps},
            pairs=tuple(pairs),
            verdict=conclude(best_first, self.shown, pairs, learned, needed),
            alarms=alarms_of(self._evidence(learned, all_pairs, needed, study)),
            unknown={e: len(self.runs[e]) - len(own) for e, own in flags.items() if len(own) < len(self.runs[e])},
        )

    def _flags(self, encoding: str) -> list[bool]:
        """Who learned the task, of the seeds of which that is known: a seed without a score in distribution is not."""
        return [run.learned for run in self.runs[encoding] if run.learned is not None]

    def _reach(self, encoding: str) -> Reach:
        assert self.trained is not None
        known = [run for run in self.runs[encoding] if run.learned is not None]
        longest = max(r.length for r in self.ranges if r.split != "shift")
        seeds = tuple(run.furthest / self.trained if run.learned else None for run in known)
        return Reach(seeds, longest / self.trained, sum(run.untested for run in known if run.learned))

    def _evidence(
        self, learned: Mapping[str, tuple[int, int]], pairs: int, needed: int, study: StudyFacts
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
            pairs=pairs,
            needed=needed,
            study=study,
        )


def _families(tasks: Sequence[TaskAnalysis], alpha: float) -> dict[str, AverageRanks]:
    """Ranks over the tasks of each family that has several, and over all: by the average rank on the headline range.

    A task that no encoding learned gives no ranks.
    """
    groups: dict[str, list[TaskAnalysis]] = {}
    for task in tasks:
        if task.bar is None or any(good for good, _ in task.learned.values()):
            groups.setdefault(task.family or "tasks", []).append(task)
    if len(groups) > 1:
        groups["all tasks"] = [task for members in groups.values() for task in members]
    families = {}
    for family, members in groups.items():
        tables = [task.shown.ranks.average for task in members if task.shown.ranks is not None]
        names = [name for name in tables[0] if all(name in table for table in tables)] if tables else []
        if len(tables) > 1 and len(names) > 1:
            families[family] = ranks(names, np.array([[-table[name] for name in names] for table in tables]), alpha)
    return families
