"""What the files of a run hold: `config.json`, `env.json`, `metrics.jsonl`, and its result in `result.json`."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypedDict

from ordinate.results.serialize import LARGEST, Between
from ordinate.statistics.learning import TrainingEnd, ended
from ordinate.statistics.observations import Direction, RangeKey, Split, headline
from ordinate.statistics.words import NOT_FITTED, Word, words_of

Count = Annotated[int, Between(0, LARGEST)]
Share = Annotated[float, Between(0, 1 + 1e-6)]  # with room for rounding
Status = Literal["finished", "diverged"]
# Nothing changes these files any more. `latest.pt` is that of a language model.
HashedFile = Literal["metrics.jsonl", "model.safetensors", "attention.safetensors", "latest.pt"]


class StoredModelConfig(TypedDict):
    encoding: str | list[str]  # one for all layers, or one for each


class StoredConfig(TypedDict):
    """What `config.json` holds, as far as readers of a store use it. Other keys are passed through."""

    task: str
    model: StoredModelConfig
    seed: int
    lr: float
    steps: int
    train_lengths: list[int]


def encoding_name(config: StoredConfig) -> str:
    """The encoding of a run; several names if its layers differ."""
    encoding = config["model"]["encoding"]
    return encoding if isinstance(encoding, str) else ", ".join(encoding)


@dataclass(frozen=True, slots=True)
class Machine:
    """Versions and hardware: what `env.json` holds."""

    ordinate: str
    python: str
    torch: str
    numpy: str
    platform: str
    processor: str
    cores: int | None
    threads: int
    git: str | None  # the commit of a checkout


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a run's journal: one metric at one step."""

    run: str
    step: int
    split: str
    length: int | None
    metric: str
    value: float | None  # None: not finite


@dataclass(frozen=True, slots=True)
class Norms:
    """Mean norms at the first step. An encoding much larger than the embeddings can decide a comparison."""

    embedding_norm: float
    encoding_norm: float  # of what the encoding adds to the embeddings


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """The scores on one frozen set, with the baselines to compare them with.

    Scores are None where the encoding cannot go, and where the run diverged.
    """

    split: Split
    length: Annotated[int, Between(1, LARGEST)]
    sequences: Annotated[int, Between(1, 10**7)]
    hash: str  # of the problems
    score: float | None  # in the task's metric; past the trained lengths, where the task scores them apart
    loss: float | None
    accuracy: Share | None
    exact: Share | None
    loss_error: float | None  # standard error of the loss
    chance: float
    majority: float
    position_only: float
    bag_of_tokens: float
    floor: float  # the best of these baselines
    seen: Share | None  # the part of the problems that training showed
    groups: dict[str, float | None]  # the metrics of the task's groups of positions
    gap_loss: float | None = None  # out of distribution: loss minus the loss in distribution
    gap_accuracy: float | None = None  # out of distribution: accuracy in distribution minus accuracy

    @property
    def key(self) -> RangeKey:
        return self.split, self.length


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run. `evaluation` has one row per split and length, among them `valid` and `id`."""

    run: str
    task: str
    status: Status
    steps: Count
    learned_at: int | None  # the first step of two checks in a row at the bar; if it stayed there, see `training_end`
    parameters: Count
    encoding_parameters: Count
    metric: str  # accuracy, exact or loss
    direction: Direction
    bar: float | None  # None: the metric is loss
    evaluation: tuple[EvaluationRow, ...]
    norms: Norms
    records: tuple[Record, ...]  # the learning curve and the scores
    memory: int | None  # bytes of one training step
    seconds: float
    files: dict[HashedFile, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.bar is None) != (self.metric == "loss"):
            raise ValueError(f"bar is {self.bar} for the metric {self.metric}")
        rows = Counter(row.key for row in self.evaluation)
        if missing := {"valid", "id"} - {split for split, _ in rows}:
            raise ValueError(f"evaluation has no row of {min(missing)}")
        (split, length), most = rows.most_common(1)[0]
        if most > 1:
            raise ValueError(f"evaluation has {most} rows of {split} at {length}")
        if self.bar is not None:
            self._check_shares()

    def _check_shares(self) -> None:
        for row in self.evaluation:
            for name in ("score", "chance", "majority", "position_only", "bag_of_tokens", "floor"):
                value = getattr(row, name)
                if value is not None and not 0 <= value <= 1 + 1e-6:
                    raise ValueError(f"{name} in evaluation is {value}")

    @property
    def diverged(self) -> bool:
        return self.status == "diverged"

    def row(self, split: Split, length: int) -> EvaluationRow:
        """The row of one split and length; KeyError if there is none."""
        return {row.key: row for row in self.evaluation}[split, length]

    @property
    def valid(self) -> EvaluationRow:
        """The validation set, by which learning rates are chosen."""
        return next(row for row in self.evaluation if row.split == "valid")

    @property
    def in_distribution(self) -> EvaluationRow:
        """The longest length in distribution."""
        return max((row for row in self.evaluation if row.split == "id"), key=lambda row: row.length)

    @property
    def out_of_distribution(self) -> tuple[EvaluationRow, ...]:
        return tuple(row for row in self.evaluation if row.split in ("ood", "shift"))

    @property
    def headline(self) -> EvaluationRow:
        """The range on which encodings are tested against each other."""
        return self.row(*headline([row.key for row in self.evaluation if row.split != "valid"]))

    @property
    def words(self) -> dict[RangeKey, Word | None]:
        """The verdict on each row; None where the task is scored by loss."""
        words = dict(zip(self.hashes, words_of(self.evaluation, self.bar, self.diverged), strict=True))
        why = None if self.bar is None else self.training_end().word
        return {key: why if word is Word.DID_NOT_FIT and why in NOT_FITTED else word for key, word in words.items()}

    def training_end(self, seed: int = 0) -> TrainingEnd:
        """How the training of this seed ended: whether it learned the task, or why not. Not for a loss."""
        inside = self.in_distribution
        (word,) = words_of([inside], self.bar, self.diverged)
        assert word is not None
        curve = [record.value for record in self.learning_curve if record.value is not None]
        return TrainingEnd(seed, ended(word, self.learned_at, curve), inside.score, self.steps, self.learned_at)

    @property
    def hashes(self) -> dict[RangeKey, str]:
        """The problems that the run was scored on."""
        return {row.key: row.hash for row in self.evaluation}

    @property
    def learning_curve(self) -> tuple[Record, ...]:
        """The task's metric on the validation set, by step."""
        return tuple(r for r in self.records if r.split == "valid" and r.metric == self.metric)


@dataclass(frozen=True, slots=True)
class LanguageModelResult:
    """A language model trained to one token budget."""

    run: str  # the name of its folder
    step: int
    tokens: int
    seconds: float
    parameters: int
    added_ratio: float  # size of what the encoding adds to token embeddings at the start, over theirs
    valid_loss: float
    bits_per_byte: float
    files: dict[HashedFile, str] = field(default_factory=dict)
