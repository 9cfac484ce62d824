"""The analysis written plainly, one score and one pair at a time: slow, and what the fast one must agree with."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from ordinate.statistics.alarms import (
    CEILING,
    NOISE,
    SHOWN,
    Ceiling,
    DifferentSets,
    DivergedRuns,
    FewSeeds,
    Floor,
    Gate,
    Overlap,
    UnequalSeeds,
)
from ordinate.statistics.distributions import band
from ordinate.statistics.holm import effective_number, holm, pairs_of, seeds_needed
from ordinate.statistics.interval import interval, unseen
from ordinate.statistics.looks import ALIKE, no_difference
from ordinate.statistics.observations import Observation, RangeKey, Split, headline, trained_length
from ordinate.statistics.pairs import SHARES, Sample
from ordinate.statistics.permutation import least_p, permutation
from ordinate.statistics.ranks import AverageRanks, ranks
from ordinate.statistics.reach import Reach, reach
from ordinate.statistics.tests import Difference, difference, fisher, least_fisher_p, welch
from ordinate.statistics.types import (
    Alarm,
    Analysis,
    Basis,
    Cell,
    Contrast,
    Finding,
    Outcome,
    Range,
    TaskAnalysis,
    Verdict,
)  # fmt: skip
from ordinate.statistics.words import Score, Word, normalized, word

ORDER: tuple[Split, ...] = ("id", "ood", "shift")  # validation chooses learning rates; it is no result
Key = tuple[str, int]  # encoding and seed
FAILED = (Word.DIVERGED, Word.AT_CHANCE, Word.DID_NOT_FIT)


def analyze(observations: Sequence[Observation], planned: Mapping[str, Sequence[str]], alpha: float) -> Analysis:
    by_task: dict[str, list[Observation]] = {}
    for item in observations:
        if item.split in ORDER:
            by_task.setdefault(item.task, []).append(item)
    tasks = [_Task(name, items, planned.get(name, ()), alpha) for name, items in by_task.items()]
    pairs = pairs_of(len(task.encodings) for task in tasks)
    needed = seeds_needed(pairs, alpha) if pairs else 0
    by_name: dict[str, list[Contrast]] = {task.name: [] for task in tasks}
    samples = [sample for task in tasks for sample in task.samples()]
    for sample, context in zip(samples, _judge(samples, alpha), strict=True):
        by_name[sample.task].append(context)
    analyzed = tuple(task.analysis(by_name[task.name], pairs, needed) for task in tasks)
    asked = [name for names in planned.values() for name in names]
    encodings = tuple(dict.fromkeys([*(item.encoding for item in observations), *asked]))
    return Analysis(analyzed, encodings, alpha, pairs, needed, _families(analyzed, alpha))


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
        self.places = sorted(self.at, key=lambda positions: (ORDER.index(positions[0]), positions[1]))
        self.headline, self.trained = headline(self.places), trained_length(self.places)
        self.inside = None if self.trained is None else self.at["id", self.trained]
        self.scored = self.first.bar is not None
        self.gated = self.scored and self.inside is not None
        inside = (self.inside or {}).items() if self.scored else ()
        known = {key: self._word(item) for key, item in inside}
        self._learned = {key: own is Word.SOLVES for key, own in known.items() if own is not Word.UNKNOWN}

    def samples(self) -> Iterator[Sample]:
        """What is to be tested: of every two encodings how many seeds learned the task, then scores in the headline."""
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

    def analysis(self, pairs: Sequence[Contrast], all_pairs: int, needed: int) -> TaskAnalysis:
        ranges = tuple(self._range(positions) for positions in self.places)
        at = self.places.index(self.headline)
        best_first = tuple(cell.encoding for cell in ranges[at].cells)
        flags = {e: self._flags(e) for e in best_first} if self.gated else {}
        learned = {e: (sum(own), len(own)) for e, own in flags.items()}
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
            learned=learned,
            reach={e: self._reach(e) for e in best_first} if self.gated else {},
            steps={},
            pairs=tuple(pairs),
            verdict=conclude(best_first, ranges[at], pairs, learned, needed),
            alarms=tuple(_alarms(self.items, ranges, learned, all_pairs, needed)),
            unknown={e: len(self.own[e]) - len(own) for e, own in flags.items() if len(own) < len(self.own[e])},
        )

    def _flags(self, encoding: str) -> list[bool]:
        """Who learned the task, of the seeds of which that is known: a seed without a score in distribution is not."""
        known = ((encoding, seed) for seed in self.own[encoding])
        return [self._learned[key] for key in known if key in self._learned]

    def _may_report(self, key: Key) -> bool:
        """Whether a seed passes the gate; where nobody has scores in distribution there is none to pass."""
        return not self.gated or self._learned.get(key, False)

    def _word(self, item: Observation) -> Word:
        """The word of one seed on one range."""
        assert item.bar is not None
        if item.split == "id":
            return word(item.bar, _score(item), None)
        start = (self.inside or {}).get((item.encoding, item.seed))
        return word(item.bar, Score(None, 0.0) if start is None else _score(start), _score(item))

    def _counts(self, item: Observation) -> bool:
        """Whether a score may be reported: out of distribution, only of seeds that learned the task."""
        there = item.score is not None and not item.diverged
        return there and (item.split == "id" or self._may_report((item.encoding, item.seed)))

    def _reach(self, encoding: str) -> Reach:
        assert self.trained is not None and self.first.bar is not None
        along = [positions for positions in self.places if positions[0] != "shift"]
        longest = max(length for _, length in along)
        seeds: list[float | None] = []
        untested = 0
        for key in ((encoding, seed) for seed in self.own[encoding]):
            if key not in self._learned:
                continue
            if not self._learned[key]:
                seeds.append(None)
                continue
            rows = [(positions, self.at[positions].get(key)) for positions in along]
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

    def _range(self, positions: RangeKey) -> Range:
        rows = self.at[positions]
        some = next(iter(rows.values()))
        cells = [self._cell(encoding, positions) for encoding in self.encodings]
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
        return Range(*positions, some.chance, some.floor, some.sequences, tuple(cells), self._ranks(rows))

    def _cell(self, encoding: str, positions: RangeKey) -> Cell:
        items = [item for seed in self.own[encoding] if (item := self.at[positions].get((encoding, seed)))]
        own = [self._word(item) if self.scored else None for item in items]
        words = {word: own.count(word) for word in own if word is not None}
        counted = tuple(self._counts(item) for item in items)
        known = sum(yes or word is not Word.UNKNOWN for yes, word in zip(counted, own, strict=True))
        failed = sum(item.diverged or word in FAILED for item, word in zip(items, own, strict=True))
        values = [item.score for item, yes in zip(items, counted, strict=True) if yes and item.score is not None]
        mean = interval(values, bounds=(0.0, 1.0) if self.scored else None) if values else None
        scaled = normalized(mean.mean, items[0].chance) if mean and self.scored and items[0].chance < 1 else None
        starts = [(self.inside or {}).get((item.encoding, item.seed)) for item in items]
        return Cell(
            encoding, words, tuple(item.seed for item in items), tuple(item.score for item in items), counted, mean,
            scaled, _mean([start.score for start in starts if start is not None]), (failed, known), self.first.bar,
        )  # fmt: skip

    def _ranks(self, rows: dict[Key, Observation]) -> AverageRanks | None:
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


def _families(tasks: Sequence[TaskAnalysis], alpha: float) -> dict[str, AverageRanks]:
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


def _means(sample: Sample) -> tuple[float, float]:
    one, two = (sum(values) / len(values) for values in sample.values)
    return one, two


def _least(sample: Sample) -> float:
    one, two = map(len, sample.values)
    if sample.basis is Basis.LEARNING:
        return least_fisher_p(round(sum(map(sum, sample.values))), one, two)
    return least_p((one + two) // 2, (one + two + 1) // 2)


def _judge(samples: Sequence[Sample], alpha: float) -> list[Contrast]:
    """Every pair with its p values, corrected over all of them.

    Two families have to agree: permutation tests of scores hold their risk where the two distributions are equal,
    Welch's where only the means are; Fisher's tests of learning are in both. In either, tests that cannot reach their
    threshold do not count (see `holm`); as a claim needs both, Welch's p counts as no smaller than the smallest that
    the permutation test can give, which makes the same tests count in both.
    """
    least = [_least(sample) for sample in samples]
    scores = [sample for sample in samples if sample.basis is Basis.SCORES]
    by_permutation, by_welch = (iter([test(*s.values) for s in scores]) for test in (permutation, welch))
    first = [_fisher(s) if s.basis is Basis.LEARNING else next(by_permutation) for s in samples]
    second = [None if s.basis is Basis.LEARNING else next(by_welch) for s in samples]
    corrected = holm(first, least, alpha)
    floored = [p if w is None else max(w, floor) for p, w, floor in zip(first, second, least, strict=True)]
    corrected_welch = holm(floored, least, alpha)
    count, tests = effective_number(least, alpha), max(len(scores), 1)
    pairs = []
    for sample, p, w, one, two, floor in zip(samples, first, second, corrected, corrected_welch, least, strict=True):
        gap = _difference(sample, alpha)
        reached = least_p(*map(len, sample.values)) if w is None else floor
        possible = reached * count < alpha
        pairs.append(
            Contrast(
                sample.better, sample.worse, sample.basis, (len(sample.values[0]), len(sample.values[1])),
                _means(sample),
                gap, p, max(one, two) if w is None else one, w, None if w is None else two,
                _outcome(sample, max(one, two) < alpha, possible, alpha / tests),
            )
        )  # fmt: skip
    return pairs


def _fisher(sample: Sample) -> float:
    (one, of_one), (two, of_two) = ((round(sum(values)), len(values)) for values in sample.values)
    return fisher(one, of_one, two, of_two)


def _difference(sample: Sample, alpha: float) -> Difference:
    if sample.basis is Basis.LEARNING:
        return Difference(_means(sample)[0] - _means(sample)[1])
    return difference(*sample.values, 1 - alpha, SHARES if sample.bounded else None)


def _outcome(sample: Sample, sure: bool, possible: bool, share: float) -> Outcome:
    """`share` of the risk is that of calling this one pair alike (Bonferroni over all pairs that have scores)."""
    if sample.at_floor:
        return Outcome.FLOOR
    if sample.basis is Basis.LEARNING and _means(sample) in ((0.0, 0.0), (1.0, 1.0)):
        return Outcome.SAME
    if sure:
        return Outcome.CLAIM
    if not possible:
        return Outcome.FEW_SEEDS
    if sample.basis is Basis.SCORES and sample.bounded:
        fewest = min(map(len, sample.values))
        if fewest >= ALIKE and no_difference(_difference(sample, share), fewest):
            return Outcome.ALIKE
    return Outcome.OPEN


def conclude(
    encodings: Sequence[str],
    shown: Range,
    pairs: Sequence[Contrast],
    learned: Mapping[str, tuple[int, int]],
    needed: int,
) -> Verdict:
    """The verdict on a task. `learned` is empty where that is unknown; fewer seeds than needed recommend nobody."""
    seeds = min((len(cell.seeds) for cell in shown.cells if cell.seeds), default=0)
    missed = unseen(seeds) if seeds else None
    if len(encodings) < 2:
        return Verdict(Finding.ALONE, (), seeds, missed)
    if any(of for _, of in learned.values()) and not any(good for good, _ in learned.values()):
        return Verdict(Finding.NOT_LEARNED, (), seeds, missed)
    if seeds < needed:
        return Verdict(Finding.OPEN, (), seeds, missed)
    tests = _Tests(encodings, shown, pairs)
    use = tests.top(reliable=True)
    if use:
        return Verdict(Finding.USE, use, seeds, missed)
    return Verdict(Finding.OPEN, (), seeds, missed, tests.top(reliable=False))


class _Tests:
    """Who is above whom on the headline range."""

    def __init__(self, encodings: Sequence[str], shown: Range, pairs: Sequence[Contrast]) -> None:
        self.encodings = encodings
        self.claims = {(context.better, context.worse) for context in pairs if context.claim}
        self.by_learning = {(p.better, p.worse) for p in pairs if p.claim and p.basis is Basis.LEARNING}
        self.refuses = {cell.encoding for cell in shown.cells if cell.word is Word.OUT_OF_RANGE}
        self.goes = {c.encoding for c in shown.cells if c.words and c.words.keys() <= {Word.SOLVES, Word.PARTIAL}}
        failed = {cell.encoding: cell.failed for cell in shown.cells}
        self.failure_rate = {encoding: bad / of if of else 0.0 for encoding, (bad, of) in failed.items()}

    def top(self, *, reliable: bool) -> tuple[str, ...]:
        """The smallest group of which everyone is above everyone else, if nobody in it is above another.

        Somebody has to be tested: to go where all others cannot is a fact and no result of a test.
        """

        def above(one: str, two: str) -> bool:
            """By scores or learning, and not the other way by the other of the two; or by going there at all.

            Higher scores of the seeds that have any do not make up for failing in more seeds (`reliable`).
            """
            if (two, one) in self.claims:
                return False
            if (one, two) in self.claims:
                worse = self.failure_rate[one] > self.failure_rate[two]
                return (one, two) in self.by_learning or not (reliable and worse)
            return one in self.goes and two in self.refuses

        def tested(one: str) -> bool:
            return any((one, two) in self.claims for two in self.encodings)

        order = sorted(self.encodings, key=lambda one: -sum(above(one, two) for two in self.encodings if two != one))
        for size in range(1, len(order)):
            group, others = order[:size], order[size:]
            if any((one, two) in self.claims for one in group for two in group):
                return ()
            if all(above(one, two) for one in group for two in others):
                return tuple(one for one in self.encodings if one in group) if all(map(tested, group)) else ()
        return ()


def _alarms(
    items: Sequence[Observation],
    ranges: Sequence[Range],
    learned: Mapping[str, tuple[int, int]],
    pairs: int,
    seeds_needed: int,
) -> list[Alarm]:
    """All alarms that the scores of one task raise; `learned` is empty where there is nothing to tell it by."""
    alarms: list[Alarm] = [
        *_few_seeds(items, pairs, seeds_needed),
        *_other_sets(items),
        *_overlap(items),
        *_lost(items),
    ]
    if items[0].bar is not None:
        nobody = bool(learned) and not any(good for good, _ in learned.values())
        # Where nobody learned the task, that nobody can do it at other lengths is no news.
        levels = [alarm for r in ranges for alarm in _levels(r)]
        alarms += [a for a in levels if isinstance(a, Floor) and (a.split == "id" or not nobody)]
        alarms += [alarm for alarm in levels if isinstance(alarm, Ceiling)]
        short = {encoding: (good, of) for encoding, (good, of) in learned.items() if good < of}
        alarms += [Gate(short)] if short else []
    return alarms


def _levels(r: Range) -> Iterator[Alarm]:
    """All encodings at one score: at the floor nothing was learned, below the top the data may be at fault."""
    scores = [[s for s in cell.scores if s is not None] for cell in r.cells]
    means = [sum(s) / len(s) for s in scores if s]
    if len(means) < 2:
        return
    middle = sum(means) / len(means)
    if max(means) <= (r.floor + NOISE if r.sequences is None else band(r.floor, r.sequences)[1]):
        yield Floor(r.split, r.length, r.floor)
        return
    low, high = (middle - NOISE, middle + NOISE) if r.sequences is None else band(middle, r.sequences)
    if max(means) < CEILING and low <= min(means) and max(means) <= high:
        yield Ceiling(r.split, r.length, min(means), max(means))


def _few_seeds(items: Sequence[Observation], pairs: int, needed: int) -> Iterator[Alarm]:
    own: dict[str, set[int]] = {}
    for item in items:
        own.setdefault(item.encoding, set()).add(item.seed)
    n = len({item.seed for item in items})
    if needed > n:
        yield FewSeeds(n, needed, pairs)
    short = {encoding: len(seeds) for encoding, seeds in own.items() if len(seeds) < n}
    if short:
        yield UnequalSeeds(n, short)


def _other_sets(items: Sequence[Observation]) -> Iterator[Alarm]:
    hashes: dict[RangeKey, set[str]] = {}
    for item in items:
        hashes.setdefault((item.split, item.length), set()).add(item.hash)
    differing = tuple(key for key in _in_order(hashes) if len(hashes[key]) > 1)
    if differing:
        yield DifferentSets(differing)


def _overlap(items: Sequence[Observation]) -> Iterator[Alarm]:
    shares: dict[RangeKey, float] = {}
    for item in items:
        if item.seen is not None:
            shares[item.split, item.length] = max(item.seen, shares.get((item.split, item.length), 0.0))
    much = tuple((*key, shares[key]) for key in _in_order(shares) if shares[key] > SHOWN)
    if much:
        yield Overlap(much)


def _lost(items: Sequence[Observation]) -> Iterator[Alarm]:
    """Runs that diverged, and those that came to no number only beyond what they were trained on."""
    runs = {(item.encoding, item.seed) for item in items if item.diverged}
    fine = {(item.encoding, item.seed) for item in items if item.split == "id" and item.score is not None}
    if runs - fine:
        yield DivergedRuns(tuple(sorted(runs - fine)))
    if runs & fine:
        yield DivergedRuns(tuple(sorted(runs & fine)), beyond=True)


def _in_order(places: Iterable[RangeKey]) -> list[RangeKey]:
    return sorted(places, key=lambda positions: (ORDER.index(positions[0]), positions[1]))
