"""The language models of a folder of checkpoints, finished and under way, and how their training went."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ordinate.core.config import digest
from ordinate.core.errors import InputError
from ordinate.lm.budgets import Branch
from ordinate.lm.checkpoint_folder import LATEST, RUN, result_of
from ordinate.lm.config import TrunkConfig
from ordinate.lm.evaluation.stored import NAME, read_evaluation
from ordinate.lm.segment import SegmentBounds, segment_of
from ordinate.lm.trained_model import read_run
from ordinate.results.lm_evaluation import LanguageModelEvaluation
from ordinate.results.run_result import LanguageModelResult
from ordinate.store.claim import Claim
from ordinate.store.files import Journal, folder_fault, read_json, refuse_link

ModelState = Literal["running", "done", "stopped", "trunk"]  # trunk: at rest, and never done: budgets may be added
METRICS = ("loss", "valid_loss", "bits_per_byte", "tokens_per_second", "gradient_norm")

Points = Mapping[str, list[tuple[int, float]]]  # by metric: tokens, value


@dataclass(frozen=True)
class StoredModel:
    """A trunk, or a budget, in its folder."""

    folder: Path
    config: TrunkConfig  # with the encoding and the context that it was trained with last
    branch: Branch | None  # none: a trunk
    parent: str  # the name of a budget's trunk
    state: ModelState
    result: LanguageModelResult | None
    segment: SegmentBounds | None  # what its process trains now, or did last

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def group(self) -> str:
        """The same for the same model from other seeds, and for no other one."""
        return digest((replace(self.config, seed=0), self.branch))

    @property
    def seedless_name(self) -> str:
        """`nano_rope_2M`."""
        return re.sub(rf"_s{self.config.seed}(?=_v\d+$|$)", "", self.name)

    @property
    def checkpoint(self) -> Path | None:
        """What can be evaluated, probed and continued; none before the first one is saved."""
        path = self.folder / LATEST
        return path if path.exists() else None

    def points(self, models: Mapping[str, "StoredModel"]) -> Points:
        """Its metrics by tokens: those of its trunk up to the branch point, then its own."""
        trunk = models.get(self.parent)
        found = {metric: list[tuple[int, float]]() for metric in METRICS}
        if trunk is not None and self.branch is not None:
            trunk._read(found, self.branch.begin)
        self._read(found)
        return {metric: points for metric, points in found.items() if points}

    def _read(self, found: Points, last: int | None = None) -> None:
        for line in Journal(self.folder / "metrics.jsonl").read():
            step, tokens = line.get("step"), line.get("tokens")
            if type(step) is int and type(tokens) is int and (last is None or step <= last):
                for metric in METRICS:
                    if isinstance(value := line.get(metric), float):
                        found[metric].append((tokens, value))

    def evaluations(self) -> dict[str, LanguageModelEvaluation]:
        """Those of its present weights, by the name of their file. Others are of weights that were trained on."""
        found = {}
        for path in sorted(self.folder.glob(f"{NAME}*.json")):
            with suppress(InputError):  # a damaged one is made again by `lm eval`
                evaluation = read_evaluation(path)
                if self.result is None or evaluation.sha256 == self.result.files.get(LATEST):
                    found[path.name] = evaluation
        return found


def stored_models(
    root: Path, read: Callable[[Path], StoredModel] | None = None
) -> tuple[dict[str, StoredModel], dict[str, str]]:
    """All models by name, and the errors of folders that cannot be read. `read`: another way to read one."""
    found, damaged = dict[str, StoredModel](), dict[str, str]()
    if fault := folder_fault(root):
        raise InputError(f"{root} {fault}")
    for folder in sorted(root.iterdir()) if root.exists() else ():
        if (folder / RUN).exists():
            try:
                found[folder.name] = (read or read_model)(folder)
            except InputError as error:
                damaged[folder.name] = str(error)
    return found, damaged


def read_model(folder: Path) -> StoredModel:
    """What is known of a folder; nothing in it is hashed."""
    refuse_link(folder)
    config, branch, _ = read_run(folder)
    parent, result = str(read_json(folder / RUN).get("parent", "")), result_of(folder)
    state: ModelState = "trunk" if branch is None else "stopped"
    if result is not None:
        state = "done"
    elif Claim(folder / "claim").holder is not None:
        state = "running"
    return StoredModel(folder, config, branch, parent.partition("/")[0], state, result, segment_of(folder))


def read_with_trunk(folder: Path) -> tuple[StoredModel, dict[str, StoredModel]]:
    """A model, and its trunk by its name if that is there."""
    model = read_model(folder)
    trunk = folder.parent / Path(model.parent).name
    return model, {model.parent: read_model(trunk)} if model.parent and (trunk / RUN).exists() else {}
