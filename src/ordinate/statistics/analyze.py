"""From scores to an analysis: words, tested pairs, reach, ranks. Every rule of a fair comparison is applied here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np

from ordinate.statistics.alarms import alarms_of
from ordinate.statistics.cells import ranges_of
from ordinate.statistics.grid import Grid, starts
from ordinate.statistics.holm import pairs_of, seeds_needed
from ordinate.statistics.observations import Observation, Observations, RangeKey, TaskFacts, headline, trained_length
from ordinate.statistics.pairs import Sample, judge
from ordinate.statistics.ranks import Ranks, ranks
from ordinate.statistics.reach import Reach, Steps
from ordinate.statistics.runs import Run, runs_of
from ordinate.statistics.types import Analysis, Basis, Contrast, Range, StudyFacts, TaskAnalysis, TaskEvidence
from ordinate.statistics.verdict import conclude
from ordinate.statistics.words import Score

USUAL_SEEDS = 6  # of a comparison; fewer make it preliminary
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
    columns, study, steps = _columns(observations), study or {}, steps or {}
    tasks = list(_tasks(Grid(columns, planned or {}), alpha))
    pairs = pairs_of(len(task.encodings) for task in tasks)
    needed = seeds_needed(pairs, alpha) if pairs else 0
    by_name: dict[str, list[Contrast]] = {task.name: [] for task in tasks}
    for name, pair in judge((sample for task in tasks for sample in task.samples()), alpha):
        by_name[name].append(pair)
    analyzed = tuple(
        task.analysis(
            by_name[task.name],
            study.get(task.name, StudyFacts()),
            steps.get(task.name, {}),
            pairs,
            needed,
        )
        for task in tasks
    )
    families = _families(analyzed, alpha)
    relaxed = (*preliminary, *_unfinished(study.values()))
    encodings = tuple(dict.fromkeys((*columns.encodings, *chain.from_iterable((planned or {}).values()))))
    return Analysis(analyzed, encodings, alpha, pairs, needed, families, tuple(limits), relaxed)


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
    return (f"{fewest} seed{'s' * (fewest != 1)} where {USUAL_SEEDS} are the rule",) if fewest < USUAL_SEEDS else ()


def _columns(observations: Scored) -> Observations:
    return observations if isinstance(observations, Observations) else Observations.of(observations)


def _tasks(grid: Grid, alpha: float) -> Iterator["_Task"]:
    """Every task with its stretches of the grid."""
    if not grid.tasks:
        return
    ranges, shares = ranges_of(grid, alpha), grid.seen_share().tolist()
    edges = [*starts(grid.task[grid.ranges]).tolist(), len(ranges)]
    differing = set(grid.differing().tolist())
    for index, runs in enumerate(runs_of(grid)):
        own = range(edges[index], edges[index + 1])
        yield _Task(
            grid.tasks[index], grid.encodings[index], [ranges[at] for at in own], runs,
            differing=[ranges[at].key for at in own if at in differing],
            seen={ranges[at].key: shares[at] for at in own if shares[at] == shares[at]},
        )  # fmt: skip


class _Task:
    """One task: its ranges, and its runs by encoding."""

    def __init__(
        self,
        facts: TaskFacts,
        encodings: list[str],
        ranges: list[Range],
        runs: list[Run],
        *,
        differing: list[RangeKey],
        seen: dict[RangeKey, float],
    ) -> None:
        self.facts, self.name, self.encodings, self.ranges = facts, facts.name, encodings, ranges
        self.differing, self.seen = differing, seen
        self.runs: dict[str, list[Run]] = {encoding: [] for encoding in encodings}
        for run in runs:
            self.runs[encodings[run.place]].append(run)
        self.seeds = sorted({run.seed for run in runs})
        places = [r.key for r in ranges]
        self.headline, self.trained = places.index(headline(places)), trained_length(places)
        self.shown = ranges[self.headline]
        self.gated = facts.bar is not None and self.trained is not None

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
        self,
        pairs: Sequence[Contrast],
        study: StudyFacts,
        steps: Mapping[str, Steps],
        all_pairs: int,
        needed: int,
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
            diverged=[(encoding, run.seed) for encoding, run in lost if not run.fine],
            diverged_beyond=[(encoding, run.seed) for encoding, run in lost if run.fine],
            differing=self.differing,
            seen=self.seen,
            ranges=self.ranges,
            learned=learned,
            pairs=pairs,
            needed=needed,
            study=study,
        )


def _families(tasks: Sequence[TaskAnalysis], alpha: float) -> dict[str, Ranks]:
    """Ranks over the tasks of each family that has several, and over all: by the average rank on the headline range.

    A task that no encoding learned ranks nobody.
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
