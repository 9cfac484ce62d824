"""The options that `lm plan` and `lm train` share, resolved to a model, its data and its budgets."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ordinate.cli.options import read_settings
from ordinate.core.errors import InputError
from ordinate.core.parameters import LARGEST_WHOLE

if TYPE_CHECKING:
    from ordinate.lm.budgets import Branch
    from ordinate.lm.config import TrunkConfig
    from ordinate.text.corpus import Corpus

DATA = Path("data")

# Options of both commands.
Settings = Annotated[list[str] | None, Argument(metavar="[KEY=VALUE ...]", help="Settings, as in lr=0.001 batch=32.")]
Size = Annotated[str, Option("--size", help="nano, micro, tiny, small, medium or large.")]
Encoding = Annotated[str, Option("--encoding", "-e", help="An encoding: rope, alibi, rope(base=500000).")]
Budget = Annotated[str | None, Option("--budget", help="Tokens, as in 2.4B or 1.2B,2.4B (default: that of the size).")]
Data = Annotated[
    Path | None, Option("--data", help="Folder made by `lm prepare` (default: the one in data/ that fits).")
]
Root = Annotated[Path, Option("--checkpoints", help="Folder of the checkpoints.")]
Seed = Annotated[int, Option("--seed", help="Seed of the weights and of the order of the data.")]
Device = Annotated[str, Option("--device", help="cpu, cuda, mps or auto.")]
BranchEncoding = Annotated[
    str | None,
    Option("--branch-encoding", help="Encoding from the branch on, as in none or rope(scaling=linear,factor=2)."),
]
BranchLength = Annotated[int | None, Option("--branch-length", help="Context from the branch on, in tokens.")]
BranchAt = Annotated[
    float | None, Option("--branch-at", help="Share of the budget before the change (default: up to the decay).")
]
CHECKPOINTS = Path("checkpoints")


@dataclass(frozen=True)
class BranchChange:
    """What branches train on with, where it differs from their trunk."""

    encoding: str | None = None
    length: int | None = None
    at: float | None = None  # share of the budget

    def __post_init__(self) -> None:
        if self.at is not None and self.encoding is None and self.length is None:
            raise InputError("--branch-at says when a branch changes: add --branch-encoding or --branch-length")
        if self.length is not None and not 1 <= self.length <= LARGEST_WHOLE:
            raise InputError(f"--branch-length must be at least 1 and at most {LARGEST_WHOLE}, got {self.length}")
        if self.at is not None and not 0 < self.at < 1:
            raise InputError(f"--branch-at is a share between 0 and 1, got {self.at:g}")


@dataclass(frozen=True)
class LMRequest:
    """A model, its data, and one branch per budget."""

    config: "TrunkConfig"
    corpus: "Corpus"
    branches: "list[Branch]"


UNCHANGED = BranchChange()


def resolve_request(
    size: str, encoding: str, budget: str | None, data: Path | None, seed: int, device: str, settings: list[str] | None,
    change: BranchChange = UNCHANGED,
) -> LMRequest:  # fmt: skip
    from ordinate.lm.budgets import branches, change_branch
    from ordinate.lm.config import resolve
    from ordinate.lm.sizes import defaults
    from ordinate.lm.token_counts import parse_tokens

    default = defaults(size)
    given = precision(device) | {"seed": seed} | read_settings(None, settings, ("encoding",))
    corpus = find_corpus(data, resolve(size, encoding, "", given)[0].text_vocabulary)
    config, decay = resolve(size, encoding, corpus.fingerprint, given)
    budgets = [parse_tokens(text) for text in budget.split(",")] if budget is not None else [default.budget]
    planned = branches(config, budgets, decay)
    if change != UNCHANGED:
        planned = [change_branch(config, branch, change.encoding, change.length, change.at) for branch in planned]
    return LMRequest(config, corpus, planned)


def precision(device: str) -> dict[str, str]:
    """The setting that a device has by default."""
    from ordinate.lm.hardware import default_precision
    from ordinate.model import pick_device

    return {"precision": default_precision(pick_device(device))}


def find_corpus(data: Path | None, vocabulary: int) -> "Corpus":
    """The folder that was named, or the prepared one that fits."""
    from ordinate.text.corpus import open_corpus

    return open_corpus(data or _prepared(vocabulary))


def _prepared(vocabulary: int) -> Path:
    """The one folder of prepared data that has a model's vocabulary."""
    from ordinate.text.corpus import open_corpus

    fitting = []
    for path in sorted(DATA.glob("*/manifest.json")):
        with suppress(InputError):  # a damaged one does not fit
            if open_corpus(path.parent).vocabulary == vocabulary:
                fitting.append(path.parent)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InputError(f"{len(fitting)} folders of {DATA}/ fit: name one with --data, as in --data {fitting[0]}")
    raise InputError(
        f"no data with a vocabulary of {vocabulary:,} is prepared in {DATA}/: run"
        f"  ordinate lm prepare --vocabulary {vocabulary}  or name a folder with --data"
    )
