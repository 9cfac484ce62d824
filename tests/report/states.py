"""How training can end, as comparisons of two encodings: each state as a whole analysis."""

from dataclasses import replace

from ordinate.statistics.analyze import analyze
from ordinate.statistics.learning import Steps, TrainingEnd
from ordinate.statistics.observations import Observation
from ordinate.statistics.types import Analysis, StudyFacts
from ordinate.statistics.words import Word

BUDGET, LONGER = 1500, "ordinate compare recall --encodings rope,fire --seeds 6 steps=3000"
GOOD, NONE = Word.SOLVES, None
# state: by encoding, how a seed ends in turn, its score in distribution and at twice the length, and when at the bar
STATES: dict[str, dict[str, list[tuple[Word, float | None, float | None, int | None]]]] = {
    "won": {"rope": [(GOOD, 1.0, 1.0, 300)], "fire": [(GOOD, 1.0, 0.4, 600)]},
    "rising": {"rope": [(GOOD, 1.0, 1.0, 300)], "fire": [(Word.STILL_RISING, 0.88, 0.7, NONE)]},
    "lost": {"rope": [(GOOD, 1.0, 1.0, 300)], "fire": [(Word.LOST_AGAIN, 0.93, 0.7, 1350)]},
    "few": {
        "rope": [(GOOD, 1.0, 0.9, 1450), (Word.STILL_RISING, 0.9, 0.7, NONE), (Word.LOST_AGAIN, 0.93, 0.7, 1350)],
        "fire": [(GOOD, 1.0, 1.0, 300)],
    },
    "late": {"rope": [(GOOD, 0.96, 0.9, NONE)], "fire": [(GOOD, 1.0, 1.0, 300)]},
    "diverged": {"rope": [(Word.DIVERGED, NONE, NONE, NONE)], "fire": [(Word.DIVERGED, NONE, NONE, NONE)]},
    "all rising": {"rope": [(Word.STILL_RISING, 0.88, 0.7, NONE)], "fire": [(Word.STILL_RISING, 0.6, 0.5, NONE)]},
    "nothing": {"rope": [(Word.DID_NOT_FIT, 0.5, 0.4, NONE)], "fire": [(Word.DID_NOT_FIT, 0.4, 0.4, NONE)]},
    "at chance": {"rope": [(Word.AT_CHANCE, 0.06, 0.06, NONE)], "fire": [(Word.AT_CHANCE, 0.06, 0.06, NONE)]},
    "equal": {"rope": [(GOOD, 1.0, 0.9, 300)], "fire": [(GOOD, 1.0, 0.9, 300)]},
}  # fmt: skip


def state(name: str, seeds: int = 6, **facts: object) -> Analysis:
    """A comparison that ended in this state; `facts` are those of the study."""
    observed, steps = list[Observation](), dict[str, Steps]()
    for encoding, turns in STATES[name].items():
        runs = [(seed, *turns[(seed - 1) % len(turns)]) for seed in range(1, seeds + 1)]
        for seed, word, inside, outside, _ in runs:
            row = Observation("recall", encoding, seed, "id", 32, inside, 0.06, 0.06, 1000)
            row = replace(row, diverged=word is Word.DIVERGED)
            observed += [row, replace(row, split="ood", length=64, score=outside)]
        ends = [TrainingEnd(seed, word, inside, BUDGET, at) for seed, word, inside, _, at in runs]
        steps[encoding] = Steps(tuple(ends), BUDGET)
    study = StudyFacts(**({"longer": LONGER} | facts))  # type: ignore[arg-type]
    return analyze(observed, steps={"recall": steps}, study={"recall": study})
