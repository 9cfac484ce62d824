"""A trained language model, opened from a user's path: a checkpoint folder, or a checkpoint in one."""

from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from ordinate.core.config import build, digest
from ordinate.core.errors import InputError
from ordinate.lm.budgets import Branch, branch_config, read_branch
from ordinate.lm.checkpoint_folder import LATEST, RUN, read_identity, result_of
from ordinate.lm.config import TrunkConfig
from ordinate.lm.hardware import default_precision
from ordinate.model import Transformer
from ordinate.text.corpus import Corpus, open_corpus
from ordinate.text.manifest import MANIFEST
from ordinate.training import checkpoint

DATA = "data"  # the folder that `ordinate lm prepare` makes corpora in


@dataclass(frozen=True)
class TrainedModel:
    """A model with its weights, in evaluation mode, and where they come from."""

    path: Path  # of the checkpoint
    sha256: str  # of that file
    config: TrunkConfig  # with the encoding and the context that the checkpoint was trained with last
    branch: Branch | None  # none: of a trunk
    step: int
    model: Transformer

    @property
    def decayed(self) -> bool:
        """Whether the learning rate has decayed to its end. Only decayed checkpoints are compared with each other."""
        return self.branch is not None and self.step == self.branch.end

    @property
    def undecayed_remark(self) -> str:
        """What to say of a checkpoint that is not decayed; empty of one that is."""
        if self.decayed:
            return ""
        where = "a trunk" if self.branch is None else f"an unfinished branch of {self.branch.end:,} steps"
        return (
            f"step {self.step:,} of {where}: the learning rate has not decayed, so its losses are higher and noisier "
            "than those of a finished budget, and are not to be compared with them"
        )

    @property
    def name(self) -> str:
        return self.path.parent.name

    @property
    def tokens(self) -> int:
        """How many it was trained on."""
        return self.step * self.config.step_tokens

    @property
    def device(self) -> torch.device:
        return self.model.embedding.weight.device

    @property
    def precision(self) -> Literal["float32", "bfloat16"]:
        """That of training, where this device has it."""
        return self.config.precision if default_precision(self.device) == "bfloat16" else "float32"

    def autocast(self) -> AbstractContextManager[object]:
        if self.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def find_corpus(self, data: Path | None = None) -> Corpus:
        """The text it was trained on, with its tokenizer: in a folder, or in `data/` here or beside the checkpoints."""
        wanted = self.config.corpus
        if data is not None:
            corpus = open_corpus(data)
            if corpus.fingerprint != wanted:
                raise InputError(
                    f"{data} is corpus {corpus.fingerprint[:12]}, but {self.path} was trained on {wanted[:12]}: "
                    "name the folder that it was trained on"
                )
            return corpus
        roots = dict.fromkeys((Path(DATA), self.path.parent.parent.parent / DATA))
        for manifest in (path for root in roots for path in sorted(root.glob(f"*/{MANIFEST}"))):
            with suppress(InputError):  # a damaged one is not the one
                if (corpus := open_corpus(manifest.parent)).fingerprint == wanted:
                    return corpus
        raise InputError(
            f"{self.path} was trained on corpus {wanted[:12]}, which is not in {' or '.join(map(str, roots))}: "
            "name its folder with --data"
        )


def open_trained(path: str | Path, device: torch.device | str = "cpu") -> TrainedModel:
    """Open a checkpoint folder (its `latest.pt`), or any checkpoint in one. Tensors are loaded, never code."""
    path = Path(path)
    file = path / LATEST if path.is_dir() else path
    if not file.exists():
        what = f"{path} holds no {LATEST}" if path.is_dir() else f"there is no file {path}"
        raise InputError(f"{what}: name a checkpoint folder that `ordinate lm train` made, or a checkpoint in one")
    if not (file.parent / RUN).exists():
        raise InputError(f"{file} has no {RUN} beside it, which says what it is of: keep both in one folder")
    config, branch, owner = read_run(file.parent)
    sha256 = checkpoint.fingerprint(file)
    result = result_of(file.parent) if file.name == LATEST else None
    if result is not None and result.files.get(LATEST, sha256) != sha256:
        raise InputError(f"{file} is damaged (not what {file.parent / 'result.json'} was written with): restore it")
    with torch.device(device):
        model = Transformer(config.model, seed=config.seed)
    last = branch.end if branch else checkpoint.step_of(file)
    state = checkpoint.load_weights(file, owner, model, last=last)
    return TrainedModel(file, sha256, config, branch, state.step, model.eval())


def read_run(folder: Path) -> tuple[TrunkConfig, Branch | None, str]:
    """The configuration of a folder's checkpoints, and the owner that they name."""
    identity = read_identity(folder)
    trunk, branch = identity.get("trunk"), identity.get("branch")
    try:
        found = None if branch is None else read_branch(_table(branch))
        config = branch_config(build(TrunkConfig, _table(trunk)), found)
    except (InputError, TypeError) as error:
        raise InputError(f"{folder / RUN} cannot be used: {error}") from error
    # hashes of what is written there: a version with more settings still knows its old checkpoints
    return config, found, digest(trunk) if branch is None else f"{digest(trunk)}-{digest(branch)}"


def _table(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InputError(f"expected a table of settings, got {found!r}")
    return found
