"""What a comparison of language models has found so far: its finished runs, and their statistics."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ordinate.results.lm_evaluation import LanguageModelEvaluation
from ordinate.results.lm_record import LanguageModelRecord
from ordinate.statistics.analyze import analyze, few_seeds
from ordinate.statistics.document_losses import DocumentLosses
from ordinate.statistics.observations import Observation
from ordinate.statistics.types import Analysis, StudyFacts, TaskAnalysis
from ordinate.studies.lm.comparison import LMComparison, ModelArm
from ordinate.studies.lm.stored_runs import Records

# The two questions, as tasks: each has its own headline, and all pairs of both are tested as one family.
TRAINED = "trained length"
LONGER = "longer contexts"


@dataclass(frozen=True)
class LMOutcome:
    """The records of finished runs, by arm and seed."""

    comparison: LMComparison
    records: Mapping[tuple[str, int], LanguageModelRecord]
    failures: Mapping[str, str] = field(default_factory=dict)  # by run's id

    @property
    def missing_runs(self) -> set[str]:
        """Ids of those that are still to be done."""
        done = {self.comparison.runs[key].id for key in self.records}
        return {run.id for run in self.comparison.distinct_runs} - done

    @property
    def missing(self) -> int:
        return len(self.missing_runs)

    @property
    def finished(self) -> bool:
        return not self.missing

    @property
    def seeds(self) -> list[int]:
        return sorted({seed for _, seed in self.records})

    def of(self, arm: str) -> dict[int, LanguageModelRecord]:
        """The records of an arm by seed."""
        return {seed: record for (name, seed), record in sorted(self.records.items()) if name == arm}

    @cached_property
    def analysis(self) -> Analysis | None:
        """The statistics of `ordinate analyze` on the losses; none without a finished run."""
        scores = list(observations(self))
        if not scores:
            return None
        tasks = dict.fromkeys(score.task for score in scores)
        runs, done = len(self.comparison.distinct_runs), len(self.comparison.distinct_runs) - self.missing
        return analyze(
            scores,
            planned=dict.fromkeys(tasks, self.comparison.names),
            study={task: StudyFacts(done=done, runs=runs) for task in tasks},
            preliminary=few_seeds(scores),
        )

    def task(self, name: str) -> TaskAnalysis | None:
        tasks = self.analysis.tasks if self.analysis else ()
        return next((task for task in tasks if task.task == name), None)

    def reaches(self, arm: str) -> list[float]:
        """Of each seed, in trained lengths: the longest context whose loss is no worse than at that length."""
        scaling = self._arm(arm).scaling
        found = (record.evaluation.reach(scaling) for record in self.of(arm).values())
        return [reach.context / reach.trained for reach in found if reach is not None]

    @property
    def farthest(self) -> float:
        """The longest context that was tested, in trained lengths."""
        reaches = (record.evaluation.reach() for record in self.records.values())
        return max((reach.longest / reach.trained for reach in reaches if reach is not None), default=1.0)

    def losses(self, arm: str, multiple: float) -> list[float | None]:
        """Nats per token at a multiple of the trained length, one for each seed; None where the encoding cannot go."""
        found = []
        for record in self.of(arm).values():
            own = context_losses(record.evaluation, self._arm(arm), self.comparison)
            found.append(_mean(own.get(round(multiple * record.evaluation.length))))
        return found

    def _arm(self, name: str) -> ModelArm:
        return next(arm for arm in self.comparison.arms if arm.name == name)


def outcome(
    comparison: LMComparison, sources: Sequence[Records], failures: Mapping[str, str] | None = None
) -> LMOutcome:
    """From the first source that has all of it, else from the first one."""
    found: list[dict[tuple[str, int], LanguageModelRecord]] = []
    for source in sources:
        records = ((key, source.find(run)) for key, run in comparison.runs.items())
        found.append({key: record for key, record in records if record is not None})
        if len(found[-1]) == len(comparison.runs):
            return LMOutcome(comparison, found[-1])
    return LMOutcome(comparison, found[0], failures or {})


def observations(outcome: LMOutcome) -> Iterator[Observation]:
    """One loss of each arm and seed: on all text at the trained length, and on long documents at every context."""
    comparison = outcome.comparison
    for arm in comparison.arms:
        for seed, record in outcome.of(arm.name).items():
            evaluation = record.evaluation
            if evaluation.overall is not None and comparison.protocol == "disjoint":
                yield _observation(TRAINED, arm.name, seed, evaluation.length, evaluation, evaluation.overall)
            for context, losses in context_losses(evaluation, arm, comparison).items():
                if context >= evaluation.length:
                    yield _observation(LONGER, arm.name, seed, context, evaluation, losses)


def context_losses(
    evaluation: LanguageModelEvaluation, arm: ModelArm, comparison: LMComparison
) -> dict[int, DocumentLosses | None]:
    """By context, on the same long documents; none where the encoding cannot go. Scalings act past the trained length.

    Contexts for which the text has no documents are left out.
    """
    protocol, found = comparison.protocol, dict[int, DocumentLosses | None]()
    multiples = comparison.evaluation.text.contexts
    for context in sorted(round(multiple * evaluation.length) for multiple in multiples):
        scaling = arm.scaling if context > evaluation.length else ""
        row = evaluation.row(protocol, context, scaling=scaling)
        if row is not None and (row.losses is not None or context < evaluation.long_tokens):
            found[context] = row.losses
    return found


def _observation(
    task: str, arm: str, seed: int, context: int, evaluation: LanguageModelEvaluation, losses: DocumentLosses | None
) -> Observation:
    split = "id" if context <= evaluation.length else "ood"
    return Observation(task, arm, seed, split, context, _mean(losses), bar=None, direction="lower")  # type: ignore[arg-type]


def _mean(losses: DocumentLosses | None) -> float | None:
    return None if losses is None else losses.per_token
