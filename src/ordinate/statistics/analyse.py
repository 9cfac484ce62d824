"""From scores to an analysis: words per cell, paired tests, ranks. Every rule of a fair comparison is applied here."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ordinate.statistics.alarms import alarms_of
from ordinate.statistics.analysis import Alarm, Analysis, Cell, Pair, Range, TaskAnalysis
from ordinate.statistics.interval import Interval, interval
from ordinate.statistics.looks import no_difference
from ordinate.statistics.observation import Observation, Split
from ordinate.statistics.pairs import holm, seeds_needed, sign_flips
from ordinate.statistics.ranks import Ranks, ranks
from ordinate.statistics.sentences import verdict
from ordinate.statistics.verdict import Score, normalised, word

ORDER: tuple[Split, ...] = ("id", "ood", "shift")  # validation chooses learning rates; it is no result
Place = tuple[Split, int]
Key = tuple[str, int]  # encoding and seed


def analyse(
    observations: Sequence[Observation],
    *,
    alpha: float = 0.05,
    planned: Mapping[str, Sequence[str]] | None = None,
    alarms: Mapping[str, Sequence[Alarm]] | None = None,
    limits: Sequence[str] = (),
    preliminary: Sequence[str] = (),
) -> Analysis:
    """All statistics of a comparison.

    By task: `planned` names all its encodings, so that one without any score is still in the table and in the
    correction for many pairs; `alarms` are those that scores alone cannot show.
    """
    by_task: dict[str, list[Observation]] = {}
    for item in observations:
        if item.split in ORDER:
            by_task.setdefault(item.task, []).append(item)
    tasks = tuple(
        _Task(name, items, (planned or {}).get(name, ()), alpha).analysis(tuple((alarms or {}).get(name, ())))
        for name, items in by_task.items()
    )
    encodings = tuple(dict.fromkeys(item.encoding for item in observations))
    return Analysis(tasks, encodings, alpha, _families(tasks, alpha), tuple(limits), tuple(preliminary))


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
        self.at: dict[Place, dict[Key, Observation]] = {}
        for item in items:
            self.at.setdefault((item.split, item.length), {})[item.encoding, item.seed] = item
        self.places = sorted(self.at, key=lambda place: (ORDER.index(place[0]), place[1]))
        inside = [place for place in self.places if place[0] == "id"]
        self.inside = self.at[inside[-1]] if inside else None
        self.scored = self.first.bar is not None
        self._fitted = {key for key in self.inside or () if self._passed(key)}
        self.needed = seeds_needed(len(self.encodings), alpha) if len(self.encodings) > 1 else 0

    def analysis(self, more: tuple[Alarm, ...]) -> TaskAnalysis:
        ranges = tuple(self._range(place) for place in self.places)
        headline = next((i for i, r in enumerate(ranges) if r.split != "id"), len(ranges) - 1)
        best_first = tuple(cell.encoding for cell in ranges[headline].cells)
        fits = {e: (sum(self.fitted((e, seed)) for seed in self.own[e]), len(self.own[e])) for e in best_first}
        found = TaskAnalysis(
            self.name, self.first.family, self.first.direction, self.first.bar, best_first, tuple(self.seeds),
            self.needed, ranges, headline, fits if self.scored else {}, self._fit_pairs() if self.scored else (),
            (), (),
        )  # fmt: skip
        told = (*more, *alarms_of(found, self.items))
        return TaskAnalysis(**{**vars(found), "verdict": verdict(found, self.alpha), "alarms": told})

    def fitted(self, key: Key) -> bool:
        """Whether a seed passed the gate. Without scores in distribution there is no gate to pass."""
        return not self.scored or self.inside is None or key in self._fitted

    def _passed(self, key: Key) -> bool:
        assert self.inside is not None
        return self.scored and self._word(self.inside[key], None) == "solves"

    def _word(self, inside: Observation, outside: Observation | None) -> str:
        assert inside.bar is not None
        return word(inside.bar, _score(inside), None if outside is None else _score(outside), diverged=inside.diverged)

    def _counts(self, item: Observation) -> bool:
        """Whether a score may be reported: out of distribution, only of seeds that fitted."""
        told = item.score is not None and not item.diverged
        return told and (item.split == "id" or self.fitted((item.encoding, item.seed)))

    def _effective(self, item: Observation | None) -> float:
        """What ranks go by: who has nothing to report is last, and luck inside the floor's band is no merit."""
        if item is None or not self._counts(item) or item.score is None:
            return -np.inf
        if item.direction == "lower":
            return -item.score
        return item.score if not self.scored or _score(item).above_floor else item.floor

    def _range(self, place: Place) -> Range:
        rows = self.at[place]
        some = next(iter(rows.values()))
        cells = [self._cell(encoding, place) for encoding in self.encodings]
        sign = -1 if some.direction == "lower" else 1
        cells.sort(
            key=lambda c: (
                c.interval is None,
                -sign * c.interval.mean if c.interval else 0.0,
                -sum(c.counted),
                -sign * _mean(c.scores),
                c.encoding,
            )
        )
        scores = {
            encoding: {s: item.score for s in self.seeds if (item := rows.get((encoding, s))) and self._counts(item)}
            for encoding in self.encodings
        }
        why = "no seed where both have a score to report" if self.scored and place[0] != "id" else "no seed in common"
        pairs = self._pairs(scores, some, why)  # type: ignore[arg-type]
        return Range(*place, some.chance, some.floor, some.sequences, tuple(cells), pairs, self._ranks(rows))

    def _cell(self, encoding: str, place: Place) -> Cell:
        items = [item for seed in self.own[encoding] if (item := self.at[place].get((encoding, seed)))]
        words: dict[str, int] = {}
        for item in items if self.scored else ():
            told = self._told(item)
            words[told] = words.get(told, 0) + 1
        counted = tuple(self._counts(item) for item in items)
        values = [item.score for item, yes in zip(items, counted, strict=True) if yes and item.score is not None]
        found = interval(values) if values else None
        scaled = normalised(found.mean, items[0].chance) if found and self.scored and items[0].chance < 1 else None
        return Cell(
            encoding, _cell_word(words, _mean(self._inside_scores(items))) if items else "no result", words,
            tuple(item.seed for item in items), tuple(item.score for item in items), counted, found, scaled,
        )  # fmt: skip

    def _told(self, item: Observation) -> str:
        """The word of one seed on one range."""
        if item.split == "id" or self.inside is None:
            return self._word(item, None)
        start = self.inside.get((item.encoding, item.seed))
        return "not scored in distribution" if start is None else self._word(start, item)

    def _inside_scores(self, items: list[Observation]) -> list[float | None]:
        starts = [(self.inside or {}).get((item.encoding, item.seed)) for item in items]
        return [start.score for start in starts if start is not None]

    def _ranks(self, rows: dict[Key, Observation]) -> Ranks | None:
        """Of the encodings that have scores, over the seeds that all of them have."""
        names = [name for name in self.encodings if self.own[name]]
        seeds = [s for s in self.seeds if all((name, s) in rows for name in names)]
        if not seeds or len(names) < 2:
            return None
        return ranks(names, np.array([[self._effective(rows[n, s]) for n in names] for s in seeds]), self.alpha)

    def _fit_pairs(self) -> tuple[Pair, ...]:
        """Fit rates come first: whoever did not learn a task cannot be compared beyond it."""
        rates = {
            encoding: {seed: float(self.fitted((encoding, seed))) for seed in self.own[encoding]}
            for encoding in self.encodings
        }
        return self._pairs(rates, None, "no seed in common")

    def _pairs(self, scores: dict[str, dict[int, float]], floor: Observation | None, why_none: str) -> tuple[Pair, ...]:
        """All pairs of encodings, tested seed by seed, with one correction over all of them."""
        sign = -1 if self.first.direction == "lower" and floor is not None else 1
        found: list[tuple[str, str, list[float], list[float]]] = []
        for one, two in combinations(self.encodings, 2):
            common = [s for s in self.seeds if s in scores[one] and s in scores[two]]
            a, b = [scores[one][s] for s in common], [scores[two][s] for s in common]
            found.append((two, one, b, a) if sign * (sum(b) - sum(a)) > 0 else (one, two, a, b))
        differences = [np.subtract(a, b) for _, _, a, b in found]
        tested = iter(sign_flips([d for d in differences if len(d)]))
        p = [next(tested) if len(d) else None for d in differences]
        corrected = holm([1.0 if value is None else value for value in p])
        pairs = []
        for (better, worse, a, _), d, value, adjusted in zip(found, differences, p, corrected, strict=True):
            off = interval(d, 1 - self.alpha) if len(d) else None
            at_floor = (
                floor is not None
                and self.scored
                and len(a) > 0
                and not (Score(float(np.mean(a)), floor.floor, floor.sequences).above_floor)
            )
            claim = adjusted < self.alpha and off is not None and off.off_zero and not at_floor
            remark = why_none if off is None else self._remark(off, claim, at_floor, better)
            pairs.append(Pair(better, worse, len(d), off, value, None if value is None else adjusted, claim, remark))
        return tuple(pairs)

    def _remark(self, difference: Interval, claim: bool, at_floor: bool, better: str) -> str:
        if at_floor:
            return "both at the floor"
        if claim:
            return f"{better} is better"
        if difference.n < self.needed:
            return f"not enough seeds for a claim ({difference.n} of {self.needed})"
        if self.first.direction == "higher" and no_difference(difference):
            return "no difference that matters (within 0.02)"
        return "no evidence of a difference"


def _score(item: Observation) -> Score:
    return Score(item.score, item.floor, item.sequences)


def _mean(scores: Sequence[float | None]) -> float:
    told = [score for score in scores if score is not None]
    return sum(told) / len(told) if told else 0.0


_PLURAL = {"solves": "solve", "fits": "fit"}


def _cell_word(words: dict[str, int], inside: float) -> str:
    """The word that all seeds share; otherwise how many have which."""
    if not words:
        return ""
    if len(words) > 1:
        counts = sorted(words.items(), key=lambda item: -item[1])
        return "mixed: " + ", ".join(f"{n} {_PLURAL.get(w, w) if n > 1 else w}" for w, n in counts)
    only = next(iter(words))
    return f"did not fit ({inside:.2f})" if only == "did not fit" else only


def _families(tasks: Sequence[TaskAnalysis], alpha: float) -> dict[str, Ranks]:
    """Ranks over the tasks of each family that has several, and over all: by the average rank on the headline range."""
    groups: dict[str, list[TaskAnalysis]] = {}
    for task in tasks:
        groups.setdefault(task.family or "tasks", []).append(task)
    if len(groups) > 1:
        groups["all tasks"] = list(tasks)
    found = {}
    for family, members in groups.items():
        told = [task.ranges[task.headline].ranks for task in members]
        tables = [item.average for item in told if item is not None]
        names = [name for name in tables[0] if all(name in table for table in tables)] if tables else []
        if len(tables) > 1 and len(names) > 1:
            found[family] = ranks(names, np.array([[-table[name] for name in names] for table in tables]), alpha)
    return found
