"""S4's open questions, each answered by what finished comparisons say, or by what has not been run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ordinate.report.study_tables import scores
from ordinate.report.table import Table
from ordinate.report.why import task_sentence
from ordinate.statistics.phrases import called, listed
from ordinate.statistics.types import Range, TaskAnalysis
from ordinate.studies.study_outcome import PartOutcome, StudyOutcome

NEAR = 0.05  # of a score: what is less apart is called the same

Outcomes = Mapping[str, StudyOutcome]


@dataclass(frozen=True)
class OpenQuestion:
    """A question, its answer in sentences (none: nothing that answers it is finished), and the scores behind it."""

    question: str
    answer: str
    tables: tuple[Table, ...]
    waiting: tuple[str, ...]  # comparisons that are not finished
    heads: tuple[str, ...] = ()  # what the heads do, of each comparison whose runs were probed


def open_questions(found: Outcomes) -> list[OpenQuestion]:
    """All eight, in the order of S4."""
    asked: tuple[tuple[str, Callable[[Sequence[PartOutcome]], str], tuple[tuple[str, str], ...]], ...] = (
        ("Why does ALiBi fail k-back, and what would help it there and on long-range matches?", _alibi,
         (("reasons", "slopes on k_back"), ("reasons", "slopes on first_last"))),
        ("How do results change with k?", _by_k, (("s4-k", "recall"),)),
        ("Do they hold for other architectures?", _architectures, (("s4-architectures", ""),)),
        ("Why does RoPE generalize on k-back, and can it be made to work on shifted patterns?", _rope,
         (("s4-k-back", "fair"), ("s4-shift", "fair"), ("reasons", "base on shift_pattern"))),
        ("Why do sinusoidal and learned encodings fail past the trained length?", _coverage, (("coverage", "k_back"),)),
        ("Why does the learned encoding alone succeed on long-range matches, and can its overfitting be reduced?",
         _long_range, (("s4-long-range", ""), ("coverage", "first_last"))),
        ("Can ALiBi learn faster?", _faster, (("reasons", "slopes on k_back"), ("reasons", "slopes on first_last"))),
        ("Why are the curves of learned and sinusoidal encodings volatile?", _volatile,
         (("s4-k-back", ""), ("s4-long-range", ""))),
    )  # fmt: skip
    return [_question(found, question, answer, wanted) for question, answer, wanted in asked]


def _question(
    found: Outcomes, question: str, answer: Callable[[Sequence[PartOutcome]], str], wanted: Sequence[tuple[str, str]]
) -> OpenQuestion:
    parts: list[PartOutcome] = []
    tables, waiting = list[Table](), list[str]()
    for study, start in wanted:
        own = [part for part in found[study].parts if part.part.name.startswith(start)]
        done = [part for part in own if part.finished]
        waiting += [found[study].study.title_of(part.part) for part in own if not part.finished]
        parts += done
        if done:
            tables.append(scores(StudyOutcome(found[study].study, tuple(done))))
    return OpenQuestion(question, answer(parts) if parts else "", tuple(tables), tuple(waiting), tuple(_heads(parts)))


def _heads(parts: Sequence[PartOutcome]) -> Iterator[str]:
    """`k_back, fair: rope: layer 1 head 2 looks 3 back ...`."""
    for part in parts:
        for task in _tasks(part):
            if part.comparison is not None and (said := task_sentence(part.comparison, task)):
                yield f"{task.task}, {part.part.name}: {said}"


# --- reading a comparison ---


def _tasks(part: PartOutcome) -> tuple[TaskAnalysis, ...]:
    return part.comparison.analysis.tasks if part.comparison else ()


def _named(parts: Sequence[PartOutcome], start: str) -> TaskAnalysis | None:
    """The task of the part of this name."""
    return next((task for part in parts if part.part.name.startswith(start) for task in _tasks(part)), None)


def _encoding(task: TaskAnalysis, name: str) -> str | None:
    return next((own for own in task.encodings if own == name or own.partition("(")[0] == name), None)


def _mean(r: Range | None, encoding: str) -> float | None:
    found = [] if r is None else [score for score in r.cell(encoding).scores if score is not None]
    return fmean(found) if found else None


def _number(value: float | None) -> str:
    return "out of range" if value is None else f"{value:.2f}"


def _both(task: TaskAnalysis, encoding: str) -> str:
    """`alibi 0.79 in distribution and 0.64 at twice the length, learned by 0 of 6 seeds`."""
    good, of = task.learned.get(encoding, (0, 0))
    inside, beyond = _mean(task.inside, encoding), _mean(task.shown, encoding)
    return (
        f"{called(encoding)} {_number(inside)} in distribution and {_number(beyond)} at twice the length, learned by "
        f"{good} of {of} seeds"
    )


def _learns(task: TaskAnalysis, encoding: str) -> bool:
    good, of = task.learned.get(encoding, (0, 0))
    return 2 * good > of


# --- the answers ---


def _alibi(parts: Sequence[PartOutcome]) -> str:
    said = []
    for start, what in (("slopes on k_back", "k_back"), ("slopes on first_last", "first_last")):
        task = _named(parts, start)
        if task is None:
            continue
        said.append(f"On {what}: {_both(task, 'alibi')}.")
        said.append(_higher(task, task.inside, "in distribution"))
        said.append(_higher(task, task.shown, "at twice the length"))
        if what == "k_back":
            able = [name for name in _slopes(task) if _learns(task, name)]
            said.append(
                "A bias that falls with distance cannot by itself make the item three back score above the nearer ones;"
                + (f" with {listed(able)} it learns the task all the same." if able else " no slopes mended that.")
            )
    return " ".join(said)


def _slopes(task: TaskAnalysis) -> list[str]:
    """ALiBi with other slopes, given or learned."""
    return [name for name in task.encodings if name.partition("(")[0] in ("alibi", "learned_alibi") and name != "alibi"]


def _higher(task: TaskAnalysis, r: Range | None, where: str) -> str:
    """Which other slopes score higher there."""
    plain = _mean(r, "alibi") or 0.0
    gains = {name: (_mean(r, name) or 0.0) - plain for name in _slopes(task)}
    better = [f"{name} (by {gain:.2f})" for name, gain in gains.items() if gain > NEAR]
    return f"Higher {where}: {listed(better)}." if better else f"No other slopes score higher {where}."


def _by_k(parts: Sequence[PartOutcome]) -> str:
    said = []
    names = list(dict.fromkeys(name for part in parts for task in _tasks(part) for name in task.encodings))
    for name in names:
        cells = [(task.task, _learns(task, name), _mean(task.shown, name)) for part in parts for task in _tasks(part)]
        ks = [(task.partition("k=")[2].rstrip(")"), learns, beyond) for task, learns, beyond in cells]
        good = [k for k, learns, _ in ks if learns]
        far = ", ".join(f"{_number(beyond)} at k={k}" for k, _, beyond in ks)
        learned = f"learns it at k = {listed(good)}" if good else "learns it at no k"
        said.append(f"{called(name)} {learned}; at twice the length it scores {far}.")
    return " ".join(sentence[:1].upper() + sentence[1:] for sentence in said)


def _architectures(parts: Sequence[PartOutcome]) -> str:
    same: dict[str, list[str]] = {}
    for part in parts:
        for task in _tasks(part):
            order = sorted((name for name in task.encodings), key=lambda name: -(_mean(task.shown, name) or 0.0))
            same.setdefault(order[0], []).append(part.part.name)
    tops = "; ".join(f"{called(name)} ({listed(names)})" for name, names in same.items())
    if len(parts) == 1:
        return f"In the one comparison that is finished, {tops} has the best mean at twice the length."
    word = f"is the same in all {len(parts)} comparisons" if len(same) == 1 else "differs"
    return f"The best mean at twice the length {word}: {tops}."


def _rope(parts: Sequence[PartOutcome]) -> str:
    said = []
    base = _named(parts, "base on shift_pattern")
    fair = [task for part in parts if part.part.name == "fair" for task in _tasks(part)]
    back = next((task for task in fair if task.task.startswith("k_back")), None)
    shift = next((task for task in fair if task.task.startswith("shift_pattern")), None)
    if back is not None:
        said.append(f"On k_back under our rules: {_both(back, 'rope')}.")
    if shift is not None:
        verb = "It learns shifted patterns" if _learns(shift, "rope") else "It does not learn shifted patterns"
        said.append(f"{verb} when its learning rate is tuned and the labels do not leak: {_both(shift, 'rope')}.")
    if base is not None:
        said.append(f"Bases: {'; '.join(_both(base, name) for name in base.encodings if name.startswith('rope'))}.")
        bases = {name: _mean(base.shown, name) or 0.0 for name in base.encodings if name.startswith("rope")}
        spread = max(bases.values()) - min(bases.values())
        best = max(bases, key=lambda name: bases[name])
        said.append(
            f"The best of them at twice the length is {best}." if spread > NEAR else "The base hardly matters there."
        )
    return " ".join(said)


def _coverage(parts: Sequence[PartOutcome]) -> str:
    plain, offset = _named(parts, "k_back, coverage=plain"), _named(parts, "k_back, coverage=offset")
    if plain is None or offset is None:
        return ""
    changes = {
        name: (_mean(plain.shown, name), _mean(offset.shown, name))
        for name in plain.encodings
        if name.partition("(")[0] in ("sinusoidal", "learned")
    }
    text = "; ".join(
        f"{name} {_number(before)} without and {_number(after)} with them" for name, (before, after) in changes.items()
    )
    mended = all(after is not None and after >= 0.95 for _, after in changes.values())
    why = (
        "Positions past the trained ones were never seen: random offsets in training, which show all of them at the "
        "same lengths, mend it"
        if mended
        else "Unseen positions are not the only reason: random offsets in training, which show all of them, do not "
        "mend it for all"
    )
    return f"{why} (score at twice the length: {text})."


def _long_range(parts: Sequence[PartOutcome]) -> str:
    said = []
    fair, stated = _named(parts, "fair"), _named(parts, "as stated")
    if fair is not None:
        able = [called(name) for name in fair.encodings if _learns(fair, name)]
        word = "It does not succeed alone" if len(able) > 1 else "It does"
        said.append(f"{word}: under our rules {listed(able)} learn it in most seeds.")
    if stated is not None:
        able = [called(name) for name in stated.encodings if _learns(stated, name)]
        said.append(
            f"As stated, with one learning rate for all and 300 steps, {listed(able) if able else 'none of them'} do."
        )
    plain, offset = _named(parts, "first_last, coverage=plain"), _named(parts, "first_last, coverage=offset")
    if plain is not None:
        name = _encoding(plain, "learned") or ""
        said.append(f"With rows past the trained length and none of them trained: {_both(plain, name)}.")
    if offset is not None:
        name = _encoding(offset, "learned") or ""
        said.append(f"With random offsets: {_both(offset, name)}.")
    return " ".join(said)


def _faster(parts: Sequence[PartOutcome]) -> str:
    said = []
    for start, what in (("slopes on k_back", "k_back"), ("slopes on first_last", "first_last")):
        task = _named(parts, start)
        if task is None:
            continue
        steps = {name: task.steps[name].median for name in task.encodings if name in task.steps}
        named = [
            f"{name} {'not within the budget' if value is None else f'after {value:,} steps'}"
            for name, value in steps.items()
        ]
        own = steps.get("alibi")
        sooner = [
            name
            for name, value in steps.items()
            if "alibi" in name and value is not None and (own is None or value < own)
        ]
        said.append(f"{'Yes' if sooner else 'Not by these changes'} on {what} (median over seeds): {listed(named)}.")
    return " ".join(said)


def _volatile(parts: Sequence[PartOutcome]) -> str:
    """The mean over seeds of the largest fall of validation accuracy after a run came within 0.05 of its best."""
    said, worst = list[str](), dict[str, float]()
    for part in parts:
        for task in _tasks(part):
            assert part.comparison is not None
            falls: dict[str, list[float]] = {}
            for curve in part.comparison.curves:
                values = [value for value in curve.values if value is not None]
                if curve.task == task.task and len(values) > 2:
                    falls.setdefault(curve.encoding, []).append(largest_fall(values))
            named = [f"{called(name)} {fmean(own):.2f}" for name, own in falls.items()]
            for name, own in falls.items():
                bare = name.partition("(")[0]
                worst[bare] = max(worst.get(bare, 0.0), fmean(own))
            said.append(f"{task.task}, {part.part.name}: {', '.join(named)}.")
    return f"{_volatile_words(worst)} Mean over seeds: {' '.join(said)}" if said else ""


def _volatile_words(worst: Mapping[str, float]) -> str:
    """Whether those two fall more than the others anywhere."""
    own = max((fall for name, fall in worst.items() if name in ("learned", "sinusoidal")), default=0.0)
    others = max((fall for name, fall in worst.items() if name not in ("learned", "sinusoidal")), default=0.0)
    measured = "Measured as the largest fall of validation accuracy below the best so far"
    if own <= NEAR:
        return f"{measured}, they are not: no mean fall of theirs exceeds {own:.2f} ({others:.2f} of other encodings)."
    if own <= others + NEAR:
        return f"{measured}, they are no more so than others: at most {own:.2f}, and {others:.2f} of other encodings."
    return f"{measured}, they are: at most {own:.2f}, and {others:.2f} of other encodings."


def largest_fall(values: Sequence[float]) -> float:
    """How far a curve ever falls below the best it had reached."""
    best, fall = values[0], 0.0
    for value in values:
        best = max(best, value)
        fall = max(fall, best - value)
    return fall
