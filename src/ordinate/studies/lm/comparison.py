"""A comparison of language models: encodings by seeds, at one size, budget, corpus and settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ordinate.core.config import digest
from ordinate.core.errors import InputError
from ordinate.lm.budgets import Branch, ChangedBranch, branch, change_branch
from ordinate.lm.config import TrunkConfig, resolve
from ordinate.lm.evaluation.config import EvalConfig, InductionConfig, PasskeyConfig, TextConfig
from ordinate.lm.sizes import defaults
from ordinate.results.lm_evaluation import WindowProtocol

FIRST_SEED = 42  # that of `lm train`, whose runs count here
MOST_RUNS = 2_000
# Smaller than that of `lm eval`: seeds are the unit, and all runs are scored on the same tokens.
EVALUATION = EvalConfig(
    parts=("text", "induction"),
    text=TextConfig(
        overall=65_536, tokens=32_768, windows=("disjoint",), more_contexts=(1.25, 1.5, 3.0, 6.0), targets=4_096
    ),
    passkey=PasskeyConfig(count=8),
    induction=InductionConfig(periods=(0.25, 0.5, 1.0), sequences=4),
)


@dataclass(frozen=True)
class ModelArm:
    """What is compared with others: an encoding, and possibly what is done to it after its training."""

    encoding: str
    scaling: str = ""  # of its angles past the trained length, at evaluation; such arms share their runs
    to: str = ""  # the encoding that training ends with; empty: the same
    at: float | None = None  # the share of the budget at which it changes; none: where the decay begins

    @property
    def name(self) -> str:
        change = f", then {self.to}" + ("" if self.at is None else f" from {self.at:.4g}") if self.to else ""
        return f"{self.encoding}{change}{f', {self.scaling}' if self.scaling else ''}"


@dataclass(frozen=True)
class ModelRun:
    """A model that is trained to a budget and evaluated."""

    config: TrunkConfig
    branch: Branch
    evaluation: EvalConfig

    @cached_property
    def id(self) -> str:
        return digest((self.config, self.branch, self.evaluation))

    @cached_property
    def key(self) -> str:
        """The same run on any text and device: results that come with the program are found by it."""
        return digest((replace(self.config, corpus="", precision="float32"), self.branch, self.evaluation))

    @property
    def name(self) -> str:
        change = f" to {self.branch.encoding}" if isinstance(self.branch, ChangedBranch) else ""
        return f"{self.config.encoding}{change}, seed {self.config.seed}"


@dataclass(frozen=True)
class LMComparison:
    """Arms by seeds. The same seed means the same text in the same order, and the same weights to begin with."""

    size: str
    arms: tuple[ModelArm, ...]
    seeds: int
    budget: int  # tokens
    corpus: str  # fingerprint; empty: unknown
    settings: Mapping[str, Any] = field(default_factory=dict)  # of training
    evaluation: EvalConfig = EVALUATION

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(arm.name for arm in self.arms)

    @property
    def protocol(self) -> WindowProtocol:
        """By which losses past the trained length are compared: scalings are evaluated on the same targets alone."""
        return "same targets" if any(arm.scaling for arm in self.arms) else "disjoint"

    @property
    def length(self) -> int:
        """The trained one."""
        return next(iter(self.runs.values())).config.model.length

    @property
    def text_vocabulary(self) -> int:
        """That text must have."""
        return next(iter(self.runs.values())).config.text_vocabulary

    @cached_property
    def runs(self) -> dict[tuple[str, int], ModelRun]:
        """By arm and seed: all arms of a seed, then those of the next."""
        seeds = range(FIRST_SEED, FIRST_SEED + self.seeds)
        return {(arm.name, seed): self._run(arm, seed) for seed in seeds for arm in self.arms}

    @property
    def distinct_runs(self) -> list[ModelRun]:
        """What there is to do: each run once, those that leave a trunk early before those that leave it late."""
        found = {run.id: run for run in self.runs.values()}
        return sorted(found.values(), key=lambda run: (run.config.seed, run.branch.begin))

    def _run(self, arm: ModelArm, seed: int) -> ModelRun:
        given = {key: value for key, value in self.settings.items() if key != "seed"}
        config, decay = resolve(self.size, arm.encoding, self.corpus, given | {"seed": seed})
        scalings = tuple(
            other.scaling
            for other in self.arms
            if replace(other, scaling="") == replace(arm, scaling="") and other.scaling
        )
        evaluation = replace(self.evaluation, scaling=scalings)
        if config.mix and "passkey" not in evaluation.parts:
            evaluation = replace(evaluation, parts=(*evaluation.parts, "passkey"))
        if not config.model.causal:  # the other parts read from left to right
            evaluation = replace(evaluation, parts=("text",))
        plain = branch(config, self.budget, decay)
        ends = change_branch(config, plain, arm.to, None, arm.at) if arm.to else plain
        return ModelRun(config, ends, evaluation)


def plan_comparison(
    size: str,
    arms: Sequence[ModelArm],
    seeds: int,
    budget: int | None,
    corpus: str,
    settings: Mapping[str, Any] | None = None,
    evaluation: EvalConfig = EVALUATION,
) -> LMComparison:
    """Check all of it before anything runs."""
    if not 1 <= seeds <= 100:
        raise InputError(f"a comparison has 1 to 100 seeds, got {seeds}")
    if "seed" in (settings or {}):
        raise InputError("seed cannot be set: a comparison uses one seed after the other; give their number with seeds")
    own = [replace(arm, encoding=resolve(size, arm.encoding, corpus, settings)[0].encoding) for arm in arms]
    if twice := sorted({arm.name for arm in own if own.count(arm) > 1}):
        raise InputError(f"{twice[0]} is named twice: leave one out")
    if len(own) * seeds > MOST_RUNS:
        raise InputError(f"this would be {len(own) * seeds:,} runs: {MOST_RUNS:,} are the most")
    if not own:
        raise InputError("no encoding was given: name some, as in --encodings rope,alibi")
    comparison = LMComparison(
        size, tuple(own), seeds, budget or defaults(size).budget, corpus, dict(settings or {}), evaluation
    )
    assert comparison.runs  # resolved and checked
    return comparison
