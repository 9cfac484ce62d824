"""Checkpoints: the full state of an unfinished run. Data and dropout follow from the step, so no generator is saved.

One format for one process, for ranks with copies and for ranks with shards: whole tensors by name. A run may therefore
resume with another number of ranks.
"""

import hashlib
import math
import os
import reprlib
import zipfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ordinate.core.errors import InputError
from ordinate.model import Transformer
from ordinate.store import Run
from ordinate.store.files import regular, replacing
from ordinate.training.config import rebuild
from ordinate.training.optimizer import task_optimizer, whole

S = TypeVar("S", bound="TrainingState")

NAME = "checkpoint.pt"  # in the folder of a run on a task
NORMS = ("embedding_norm", "encoding_norm")  # written once, at the start of a run, and needed at its end
SCHEMA = 2
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam and AdamW, each of the shape of its weight
LONGEST = 1e10  # seconds that a run may have taken: three hundred years
ROOM = 2**24  # bytes that a checkpoint may have beside its tensors


@dataclass(frozen=True)
class TrainingState:
    """How far a run is: all of its state that is not tensors."""

    step: int
    seconds: float
    journal: int  # bytes of it that belong to these steps

    def check(self, last: int) -> None:
        """Raise ValueError for values that no run with this last step has."""
        if not 0 <= self.step <= last:
            raise ValueError(f"step is {self.step}, of {last}")
        if not 0 <= self.seconds < LONGEST or self.journal < 0:
            raise ValueError(f"{self.seconds:g} s of training and {self.journal} bytes of journal")


@dataclass(frozen=True)
class TaskState(TrainingState):
    """How far a run on a task is."""

    journal_sum: str  # hash of those bytes of the journal
    first_loss: float
    status: str
    above: int | None  # the first of the checks at the bar that the last one belongs to
    learned: int | None  # the step of the second such check in a row

    def check(self, last: int) -> None:
        super().check(last)
        first, learned = self.above or 0, self.learned or 0
        if not 0 <= min(first, learned) <= max(first, learned) <= self.step or (learned and not first):
            raise ValueError(f"learned is {self.learned} and above is {self.above} at step {self.step}")
        if self.status not in ("finished", "diverged"):
            raise ValueError(f"status is {self.status!r}")


@dataclass(frozen=True)
class LanguageModelState(TrainingState):
    """How far a language model is."""

    loss: float  # sum over the tokens since the last record of the journal
    steps: int  # since then

    def check(self, last: int) -> None:
        super().check(last)
        if not 0 <= self.loss < math.inf or not 0 <= self.steps <= self.step:
            raise ValueError(f"a loss of {self.loss:g} in {self.steps} of {self.step} steps")


@dataclass(frozen=True)
class SavedTensors:
    """Weights by name; and for every trained weight its moments, none if it never had a gradient."""

    model: dict[str, Tensor]
    optimizer: dict[str, dict[str, Tensor] | None]


def collect(model: nn.Module, optimizer: torch.optim.Optimizer, *, keep: bool = True) -> SavedTensors:
    """The tensors of a checkpoint. With shards, every rank must call this; those that do not keep get empty tensors."""
    tensors = model.state_dict(keep_vars=True)
    saved = SavedTensors({name: _saved(tensor, keep) for name, tensor in tensors.items()}, {})
    for name, weight in model.named_parameters():
        state = optimizer.state.get(weight)
        saved.optimizer[name] = {part: _saved(state[part], keep) for part in ("step", *MOMENTS)} if state else None
    return saved


def save(path: Path, owner: str, tensors: SavedTensors, state: TrainingState) -> None:
    """Replace a checkpoint as a whole. `owner` is the id of the run, or of the segment, that it belongs to."""
    content = {"schema": SCHEMA, "owner": owner, "model": tensors.model, "optimizer": tensors.optimizer}
    with replacing(path) as file:
        try:
            torch.save(content | asdict(state), file)
        except RuntimeError as error:  # torch ends its archive after a full disk too, and fails again
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


def load(path: Path, owner: str, model: nn.Module, optimizer: torch.optim.Optimizer, kind: type[S], *, last: int) -> S:
    """Restore weights and moments, and return the rest. Nothing is used before all of it is checked."""
    tensors, state = read(path, owner, model, kind, last=last)
    put(tensors, model, optimizer)
    return state


def read(path: Path, owner: str, model: nn.Module, kind: type[S], *, last: int) -> tuple[SavedTensors, S]:
    """The tensors of a checkpoint of such a model, and the rest of its state, all of it checked.

    Loads tensors, never code. Settings of the optimizer are the configuration's and are not in the file.
    """
    tensors: dict[str, Tensor] = model.state_dict(keep_vars=True)
    content = _content(path, owner, tensors)
    try:
        weights, moments = content.pop("model", None), content.pop("optimizer", None)
        state = _state(kind, content, last)
        _check_weights(weights, tensors)
        _check_moments(moments, dict(model.named_parameters()), state.step)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error}): move it away to start again") from error
    return SavedTensors(weights, moments), state


@torch.no_grad()
def put(tensors: SavedTensors, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Give a model and its optimizer these tensors; what has another name stays as it is."""
    for name, weight in model.state_dict(keep_vars=True).items():
        if name in tensors.model:
            weight.copy_(_like(tensors.model[name], weight))
        if saved := tensors.optimizer.get(name):
            device = weight.device if weight.is_cuda else torch.device("cpu")
            optimizer.state[weight] = {"step": saved["step"].to(device)}
            optimizer.state[weight] |= {part: _like(saved[part], weight) for part in MOMENTS}


def load_weights(path: Path, owner: str, model: nn.Module, *, last: int) -> LanguageModelState:
    """Load the weights alone into a model that is used, not trained on; they are checked before any is used."""
    tensors: dict[str, Tensor] = model.state_dict(keep_vars=True)
    content = _content(path, owner, tensors)
    try:
        weights, _ = content.pop("model", None), content.pop("optimizer", None)
        state = _state(LanguageModelState, content, last)
        _check_weights(weights, tensors)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error}): move it away") from error
    with torch.no_grad():
        for name, weight in tensors.items():
            weight.copy_(weights[name])
    return state


def restore(run: Run, model: Transformer, optimizer: torch.optim.Optimizer, steps: int) -> TaskState:
    """Restore the saved state; refuse it without the journal that belongs to it.

    All of it is checked before anything in the folder is changed.
    """
    saved = load(run.folder / NAME, run.id, model, optimizer, TaskState, last=steps)
    run.journal.check(saved.journal)
    if saved.journal_sum != run.journal.sum(saved.journal):
        raise InputError(f"{run.journal.path} is damaged (not what its checkpoint goes with): move the folder away")
    missing, last = set(NORMS), 0
    for record in run.records(saved.journal):
        missing.discard(record.metric)
        last = record.step
    if missing or last > saved.step:
        what = f"it has no {min(missing)}" if missing else f"step {last} comes after its checkpoint's {saved.step}"
        raise InputError(f"{run.journal.path} is damaged ({what}): move the run's folder away")
    return saved


def check_resumable(run: Run) -> None:
    """Refuse an interrupted run that cannot be resumed, if this program can build its model at all."""
    if not os.path.lexists(run.folder / NAME):
        return
    try:
        config = rebuild(run.config)
        model = Transformer(config.model, seed=config.seed)
    except InputError:
        return  # of an encoding, say, that is not installed here: nothing is wrong with the run
    restore(run, model, task_optimizer(config, model), config.steps)


def step_of(path: Path) -> int:
    """The step of a checkpoint, without reading its tensors."""
    try:
        with open(path, "rb", opener=regular):  # torch takes a name, and would wait for a pipe
            pass
        step = torch.load(path, map_location="cpu", weights_only=True, mmap=True)["step"]
    except Exception as error:  # a damaged file shows itself in many ways
        raise InputError(f"{path} is not a checkpoint of this program, or is damaged: move it away") from error
    if type(step) is not int:
        raise InputError(f"{path} is damaged (it names no step): move it away")
    return step


def fingerprint(path: Path) -> str:
    """The hash of a file, by which a branch names the checkpoint that it started from."""
    with open(path, "rb", opener=regular) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content(path: Path, owner: str, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """What a checkpoint holds, if this version reads it and it belongs to this owner."""
    try:
        content = _read(path, sum(tensor.nbytes for tensor in tensors.values()))
    except Exception as error:  # a damaged file shows itself in many ways
        raise InputError(f"{path} is not a checkpoint of this program, or is damaged: move it away") from error
    schema, saved_owner = content.pop("schema", None), content.pop("owner", None)
    if type(schema) is not int or schema != SCHEMA:
        raise InputError(f"{path} has schema {reprlib.repr(schema)}, this version reads {SCHEMA}: move it away")
    if type(saved_owner) is not str or saved_owner != owner:
        raise InputError(f"{path} belongs to another configuration than run {owner}: move it away to start again")
    return content


def _read(path: Path, weights: int) -> dict[str, Any]:
    """The content of a file that is no larger, unpacked, than a checkpoint of a model with so many bytes of weights.

    The sums are checked here because torch does not check them.
    """
    with open(path, "rb", opener=regular) as file:
        with zipfile.ZipFile(file) as archive:
            if sum(part.file_size for part in archive.infolist()) > 4 * weights + ROOM:
                raise ValueError("too large")
            if damaged := archive.testzip():
                raise ValueError(f"{damaged} has another sum")
        file.seek(0)
        return dict(torch.load(file, map_location="cpu", weights_only=True))


def _state(kind: type[S], content: dict[str, Any], last: int) -> S:
    for field in fields(kind):
        value = content.get(field.name)
        if not isinstance(value, field.type) or isinstance(value, bool):  # type: ignore[arg-type]
            raise ValueError(f"{field.name} is {reprlib.repr(value)}")
    if unknown := content.keys() - {field.name for field in fields(kind)}:
        raise ValueError(f"{min(unknown, key=str)!r} is not part of a checkpoint")
    state = kind(**content)
    state.check(last)
    return state


def _check_weights(saved: Any, tensors: dict[str, Tensor]) -> None:
    if not isinstance(saved, dict) or saved.keys() != tensors.keys():
        raise ValueError("its weights are not those of the model")
    for name, tensor in tensors.items():
        _check_tensor(name, saved[name], tensor)


def _check_moments(saved: Any, weights: dict[str, nn.Parameter], step: int) -> None:
    if not isinstance(saved, dict) or saved.keys() != weights.keys():
        raise ValueError("its moments are not those of the optimizer")
    if step and all(state is None for state in saved.values()):
        raise ValueError(f"it has no moments at step {step}")
    for name, state in saved.items():
        if state is None:
            continue
        if not isinstance(state, dict) or state.keys() != {"step", *MOMENTS}:
            raise ValueError(f"the moments of {name} are incomplete")
        _check_tensor(f"the step of {name}", state["step"], torch.empty(()))
        if not 0 < state["step"].item() <= step:
            raise ValueError(f"the step of {name} is {state['step'].item():g}, of {step}")
        for part in MOMENTS:
            _check_tensor(f"{part} of {name}", state[part], weights[name])


def _check_tensor(name: str, saved: Any, like: Tensor) -> None:
    """The fused optimizer would read a tensor of another shape or dtype past its end."""
    plain = type(saved) is Tensor and saved.layout == torch.strided and saved.device.type == "cpu"
    if not plain or saved.is_quantized or not saved.is_contiguous():
        raise ValueError(f"{name} is not a plain tensor")
    if saved.shape != like.shape or saved.dtype != like.dtype:
        kinds = (f"{list(tensor.shape)} of {tensor.dtype}" for tensor in (saved, like))
        raise ValueError(f"{name} has {' where the model has '.join(kinds)}")


def _saved(tensor: Tensor, keep: bool) -> Tensor:
    gathered = whole(tensor).detach()
    return gathered.cpu() if keep else torch.empty(0)


def _like(saved: Tensor, weight: Tensor) -> Tensor:
    """On the device of a weight, and sharded as it is."""
    tensor = saved.to(weight.device)
    if not hasattr(weight, "device_mesh"):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor, weight.device_mesh, weight.placements)  # type: ignore[attr-defined]
