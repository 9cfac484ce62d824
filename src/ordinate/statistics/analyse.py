"""From scores to an analysis: words, tested pairs, reach, ranks. Every rule of a fair comparison is applied here."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from ordinate.statistics.alarms import alarms_of
from ordinate.statistics.analysis import Alarm, Analysis, Basis, Cell, Contrast, Range, TaskAnalysis
from ordinate.statistics.conclusion import conclude
from ordinate.statistics.family import Sample, judge
from ordinate.statistics.headline import headline, trained_length
from ordinate.statistics.interval import interval
from ordinate.statistics.observation import Observation, RangeKey, Split
from ordinate.statistics.pairs import pairs_of, seeds_needed
from ordinate.statistics.ranks import Ranks, ranks
from ordinate.statistics.reach import Reach, Steps, reach
from ordinate.statistics.verdict import Score, Word, normalised, word

ORDER: tuple[Split, ...] = ("id", "ood", "shift")  # validation chooses learning rates; it is no result
Key = tuple[str, int]  # encoding and seed
FAILED = (Word.DIVERGED, Word.AT_CHANCE, Word.DID_NOT_FIT)
USUAL_SEEDS = 6  # of a comparison; fewer make it preliminary


def analyse(
    observations: Sequence[Observation],
    *,
    alpha: float = 0.05,
    planned: Mapping[str, Sequence[str]] | None = None,
    alarms: Mapping[str, Sequence[Alarm]] | None = None,
    steps: Mapping[str, Mapping[str, Steps]] | None = None,
    limits: Sequence[str] = (),
    preliminary: Sequence[str] = (),
) -> Analysis:
    """All statistics of a comparison.

    By task: `planned` names all its encodings, so that one without any score is still in the table and in the number
    of seeds that are needed; `alarms` are those that scores alone cannot show; `steps` tells how long learning took.
    """
    by_task: dict[str, list[Observation]] = {}
    for item in observations:
        if item.split in ORDER:
            by_task.setdefault(item.task, []).append(item)
    tasks = [_Task(name, items, (planned or {}).get(name, ()), alpha) for name, items in by_task.items()]
    pairs = pairs_of(len(task.encodings) for task in tasks)
    needed = seeds_needed(pairs, alpha) if pairs else 0
    by_name: dict[str, list[Contrast]] = {task.name: [] for task in tasks}
    samples = [sample for task in tasks for sample in task.samples()]
    for sample, pair in zip(samples, judge(samples, alpha), strict=True):
        by_name[sample.task].append(pair)
    analysed = tuple(
        task.analysis(
            by_name[task.name], (alarms or {}).get(task.name, ()), (steps or {}).get(task.name, {}), pairs, needed
        )
        for task in tasks
    )
    encodings = tuple(dict.fromkeys(item.encoding for item in observations))
    families = _families(analysed, alpha)
    relaxed = (*preliminary, *_unfinished(alarms or {}))
    return Analysis(analysed, encodings, alpha, pairs, needed, families, tuple(limits), relaxed)


def _unfinished(alarms: Mapping[str, Sequence[Alarm]]) -> tuple[str, ...]:
    """A study whose runs are not all there is preliminary: its risk was planned for all of them."""
    facts = [alarm.facts for own in alarms.values() for alarm in own if alarm.kind == "unfinished"]
    runs = sum(fact["runs"] for fact in facts)
    return (f"{sum(fact['done'] for fact in facts)} of {runs} planned runs are done",) if facts else ()


def few_seeds(observations: Sequence[Observation]) -> tuple[str, ...]:
    """Why a file of results is preliminary: some encoding has fewer seeds than a comparison runs."""
    own: dict[tuple[str, str], set[int]] = {}
    for item in observations:
        own.setdefault((item.task, item.encoding), set()).add(item.seed)
    fewest = min(map(len, own.values()), default=USUAL_SEEDS)
    return (f"{fewest} seed{'s' * (fewest != 1)} where {USUAL_SEEDS} are the rule",) if fewest < USUAL_SEEDS else ()


class _Task:
    """The scores of one task, by range, encoding and seed."""

    def __init__(self, name: str, items: list[Observation], planned: Sequence[str], alpha: float) -> None:
        self.name, self.items, self.alpha, self.first = name, items, alpha, items[0]
        self.encodings = list(dict.fromkeys([*planned, *(item.encoding for item in items)]))
        self.seeds = sorted({item.seed for item in items})
        own: dict[str, set[int]] = {encoding: set() for encoding in self.encodings}
        for item in items:
            own[item.encoding].add(item.seed)
        self.own = {encoding: sorted(seeds) for encoding, seeds in own.items()}
        self.at: dict[RangeKey, dict[Key, Observation]] = {}
        for item in items:
            self.at.setdefault((item.split, item.length), {})[item.encoding, item.seed] = item
        self.places = sorted(self.at, key=lambda place: (ORDER.index(place[0]), place[1]))
        self.headline, self.trained = headline(self.places), trained_length(self.places)
        self.inside = None if self.trained is None else self.at["id", self.trained]
        self.scored = self.first.bar is not None
        self.gated = self.scored and self.inside is not None
        inside = (self.inside or {}).items() if self.scored else ()
        known = {key: self._word(item) for key, item in inside}
        self._learnt = {key: own is Word.SOLVES for key, own in known.items() if own is not Word.UNKNOWN}

    def samples(self) -> Iterator[Sample]:
        """What is to be tested: of every two encodings how many seeds learnt the task, then scores in the headline."""
        if self.gated:
            yield from self._compared({e: tuple(map(float, self._flags(e))) for e in self.encodings}, Basis.LEARNING)
        rows = self.at[self.headline]
        scores = {
            encoding: tuple(
                item.score
                for seed in self.own[encoding]
                if (item := rows.get((encoding, seed))) and self._counts(item) and item.score is not None
            )
            for encoding in self.encodings
        }
        yield from self._compared(scores, Basis.SCORES)

    def _compared(self, values: dict[str, tuple[float, ...]], basis: Basis) -> Iterator[Sample]:
        sign = -1 if self.first.direction == "lower" and basis is Basis.SCORES else 1
        head = next(iter(self.at[self.headline].values()))
        means = {encoding: sum(own) / len(own) for encoding, own in values.items() if own}
        for one, two in combinations(means, 2):
            better, worse = (two, one) if sign * (means[two] - means[one]) > 0 else (one, two)
            best = Score(means[better], head.floor, head.sequences)
            at_floor = basis is Basis.SCORES and self.scored and not best.above_floor
            yield Sample(self.name, better, worse, basis, (values[better], values[worse]), self.scored, at_floor)

    def analysis(
        self,
        pairs: Sequence[Contrast],
        alarms: Sequence[Alarm],
        steps: Mapping[str, Steps],
        all_pairs: int,
        needed: int,
    ) -> TaskAnalysis:
        ranges = tuple(self._range(place) for place in self.places)
        at = self.places.index(self.headline)
        best_first = tuple(cell.encoding for cell in ranges[at].cells)
        flags = {e: self._flags(e) for e in best_first} if self.gated else {}
        learnt = {e: (sum(own), len(own)) for e, own in flags.items()}
        return TaskAnalysis(
            task=self.name,
            family=self.first.family,
            direction=self.first.direction,
            bar=self.first.bar,
            trained=self.trained,
            encodings=best_first,
            seeds=tuple(self.seeds),
            ranges=ranges,
            headline=at,
            learnt=learnt,
            reach={e: self._reach(e) for e in best_first} if self.gated else {},
            steps={e: steps[e] for e in best_first if e in steps},
            pairs=tuple(pairs),
            verdict=conclude(best_first, ranges[at], pairs, learnt, needed),
            alarms=(*alarms, *alarms_of(self.items, ranges, learnt, all_pairs, needed)),
            unknown={e: len(self.own[e]) - len(own) for e, own in flags.items() if len(own) < len(self.own[e])},
        )

    def _flags(self, encoding: str) -> list[bool]:
        """Who learnt the task, of the seeds of which that is known: a seed without a score in distribution is not."""
        known = ((encoding, seed) for seed in self.own[encoding])
        return [self._learnt[key] for key in known if key in self._learnt]

    def _may_report(self, key: Key) -> bool:
        """Whether a seed passes the gate; where nobody has scores in distribution there is none to pass."""
        return not self.gated or self._learnt.get(key, False)

    def _word(self, item: Observation) -> Word:
        """The word of one seed on one range."""
        assert item.bar is not None
        if item.split == "id":
            return word(item.bar, _score(item), None)
        start = (self.inside or {}).get((item.encoding, item.seed))
        return word(item.bar, Score(None, 0.0) if start is None else _score(start), _score(item))

    def _counts(self, item: Observation) -> bool:
        """Whether a score may be reported: out of distribution, only of seeds that learnt the task."""
        there = item.score is not None and not item.diverged
        return there and (item.split == "id" or self._may_report((item.encoding, item.seed)))

    def _reach(self, encoding: str) -> Reach:
        assert self.trained is not None and self.first.bar is not None
        along = [place for place in self.places if place[0] != "shift"]
        longest = max(length for _, length in along)
        seeds: list[float | None] = []
        untested = 0
        for key in ((encoding, seed) for seed in self.own[encoding]):
            if key not in self._learnt:
                continue
            if not self._learnt[key]:
                seeds.append(None)
                continue
            rows = [(place, self.at[place].get(key)) for place in along]
            # A length beyond the trained ones that this seed has no row for ends its reach; nobody knows what is there.
            scores = [
                (at[1], None if item is None else item.score) for at, item in rows if item is not None or at[0] == "ood"
            ]
            missing = [at[1] for at, item in rows if item is None and at[0] == "ood"]
            own = reach(scores, self.first.bar, self.trained)
            beyond = min((length for length, _ in scores if length > own * self.trained), default=None)
            untested += longest == self.trained if beyond is None else beyond in missing
            seeds.append(own)
        return Reach(tuple(seeds), longest / self.trained, untested)

    def _range(self, place: RangeKey) -> Range:
        rows = self.at[place]
        some = next(iter(rows.values()))
        cells = [self._cell(encoding, place) for encoding in self.encodings]
        sign = -1 if some.direction == "lower" else 1
        cells.sort(
            key=lambda c: (
                c.interval is None,
                -sign * c.interval.mean if c.interval else 0.0,
                -sum(self._may_report((c.encoding, seed)) for seed in c.seeds),
                -sign * (_mean(c.scores) or 0.0),
                c.encoding,
            )
        )
        return Range(*place, some.chance, some.floor, some.sequences, tuple(cells), self._ranks(rows))

    def _cell(self, encoding: str, place: RangeKey) -> Cell:
        items = [item for seed in self.own[encoding] if (item := self.at[place].get((encoding, seed)))]
        own = [self._word(item) if self.scored else None for item in items]
        words = {word: own.count(word) for word in own if word is not None}
        counted = tuple(self._counts(item) for item in items)
        known = sum(yes or word is not Word.UNKNOWN for yes, word in zip(counted, own, strict=True))
        failed = sum(item.diverged or word in FAILED for item, word in zip(items, own, strict=True))
        values = [item.score for item, yes in zip(items, counted, strict=True) if yes and item.score is not None]
        mean = interval(values, bounds=(0.0, 1.0) if self.scored else None) if values else None
        scaled = normalised(mean.mean, items[0].chance) if mean and self.scored and items[0].chance < 1 else None
        starts = [(self.inside or {}).get((item.encoding, item.seed)) for item in items]
        return Cell(
            encoding, words, tuple(item.seed for item in items), tuple(item.score for item in items), counted, mean,
            scaled, _mean([start.score for start in starts if start is not None]), (failed, known), self.first.bar,
        )  # fmt: skip

    def _ranks(self, rows: dict[Key, Observation]) -> Ranks | None:
        """Of the encodings that have scores, over the seeds that all of them have."""
        names = [name for name in self.encodings if self.own[name]]
        seeds = [s for s in self.seeds if all((name, s) in rows for name in names)]
        if not seeds or len(names) < 2:
            return None
        return ranks(names, np.array([[self._effective(rows[n, s]) for n in names] for s in seeds]), self.alpha)

    def _effective(self, item: Observation) -> float:
        """What ranks go by: who has nothing to report is last, and luck inside the floor's band is no merit."""
        if not self._counts(item) or item.score is None:
            return -np.inf
        if item.direction == "lower":
            return -item.score
        return item.score if not self.scored or _score(item).above_floor else item.floor


def _score(item: Observation) -> Score:
    return Score(item.score, item.floor, item.sequences, item.diverged)


def _mean(scores: Sequence[float | None]) -> float | None:
    numbers = [score for score in scores if score is not None]
    return sum(numbers) / len(numbers) if numbers else None


def _families(tasks: Sequence[TaskAnalysis], alpha: float) -> dict[str, Ranks]:
    """Ranks over the tasks of each family that has several, and over all: by the average rank on the headline range.

    A task that no encoding learnt ranks nobody.
    """
    groups: dict[str, list[TaskAnalysis]] = {}
    for task in tasks:
        if task.bar is None or any(good for good, _ in task.learnt.values()):
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
