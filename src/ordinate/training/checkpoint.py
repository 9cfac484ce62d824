"""The full state of an unfinished run. Data and dropout follow from the step, so no generator need be saved."""

import io
import os
import reprlib
import zipfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.model import Transformer
from ordinate.store.files import regular, write_atomic

NAME = "checkpoint.pt"
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam and AdamW, each of the shape of its weight
LONGEST = 1e10  # seconds that a run may have taken: three hundred years
ROOM = 2**24  # bytes that a checkpoint may have beside its numbers


@dataclass(frozen=True)
class Saved:
    """How far a run is: all of its state that is not weights."""

    step: int
    first_loss: float
    status: str
    seconds: float
    above: int | None
    learned: int | None
    journal: int  # bytes of it that belong to these steps
    journal_sum: str | None = None  # their hash; older checkpoints have none


def save(folder: Path, run_id: str, model: Transformer, optimizer: torch.optim.Optimizer, state: Saved) -> None:
    """Replace the checkpoint as a whole."""
    buffer = io.BytesIO()
    tensors = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save({"run": run_id, **tensors, **asdict(state)}, buffer)
    write_atomic(folder / NAME, buffer.getvalue())


def load(folder: Path, run_id: str, model: Transformer, optimizer: torch.optim.Optimizer, steps: int) -> Saved | None:
    """Put the saved state back and return the rest of it; None if there is none.

    Loads tensors, never code, and uses nothing before all of it has been found to be what a run of so many steps saves.
    """
    path = folder / NAME
    if not os.path.lexists(path):
        return None
    try:
        content = _read(path, model)
    except Exception as error:  # a damaged file shows itself in many ways
        told = "is no checkpoint of this program, or is damaged"
        raise InputError(f"{path} {told}: move it away to start the run again") from error
    if content.pop("run", None) != run_id:
        raise InputError(f"{path} belongs to another configuration than run {run_id}: move it away to start again")
    try:
        weights, moments = content.pop("model"), content.pop("optimizer")["state"]
        saved = _progress(content, steps)
        _check_weights(weights, model)
        _check_moments(moments, optimizer, saved.step)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(f"{path} is damaged ({error}): move it away to start the run again") from error
    model.load_state_dict(weights)
    # groups hold settings, which are the configuration's and not the file's
    optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
    return saved


def _read(path: Path, model: Transformer) -> dict[str, Any]:
    """The content of a file that is no larger, unpacked, than a checkpoint of this model can be."""
    most = 4 * sum(tensor.nbytes for tensor in model.state_dict().values()) + ROOM
    with open(path, "rb", opener=regular) as file, zipfile.ZipFile(file) as archive:
        if sum(part.file_size for part in archive.infolist()) > most:
            raise ValueError("too large")
    return read_tensors(path)


def read_tensors(path: Path) -> dict[str, Any]:
    """Tensors and plain data, never code. Every part is as it was written: torch itself does not look at the sums."""
    with open(path, "rb", opener=regular) as file:
        with zipfile.ZipFile(file) as archive:
            if damaged := archive.testzip():
                raise ValueError(f"{damaged} has another sum")
        file.seek(0)
        return dict(torch.load(file, map_location="cpu", weights_only=True))


def _progress(content: dict[str, Any], steps: int) -> Saved:
    for field in fields(Saved):
        value = content.get(field.name)
        if not isinstance(value, field.type) or isinstance(value, bool):  # type: ignore[arg-type]
            raise ValueError(f"{field.name} is {reprlib.repr(value)}")
    if unknown := content.keys() - {field.name for field in fields(Saved)}:
        raise ValueError(f"{min(unknown, key=str)!r} is nothing that a run saves")
    saved = Saved(**content)
    first, learned = saved.above or 0, saved.learned or 0
    if not 0 <= saved.step <= steps:
        raise ValueError(f"step is {saved.step}, of {steps}")
    if not 0 <= min(first, learned) <= max(first, learned) <= saved.step or (learned and not first):
        raise ValueError(f"learned is {saved.learned} and above is {saved.above} at step {saved.step}")
    if saved.status not in ("finished", "diverged") or not 0 <= saved.seconds < LONGEST or saved.journal < 0:
        raise ValueError(f"status is {saved.status!r} after {saved.seconds:g} s and {saved.journal} bytes of journal")
    return saved


def _check_weights(found: Any, model: Transformer) -> None:
    expected = model.state_dict()
    if not isinstance(found, dict) or found.keys() != expected.keys():
        raise ValueError("its weights are not those of the model")
    for name, weight in expected.items():
        check_tensor(name, found[name], weight)


def _check_moments(found: Any, optimizer: torch.optim.Optimizer, step: int) -> None:
    """A weight that never had a gradient has no moments; every other has all of them."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    if not isinstance(found, dict) or not found.keys() <= set(range(len(weights))) or (step and not found):
        raise ValueError("its moments are not those of the optimizer")
    for number, state in found.items():
        if not isinstance(state, dict) or state.keys() != {"step", *MOMENTS}:
            raise ValueError(f"the moments of weight {number} are incomplete")
        check_tensor(f"the step of weight {number}", state["step"], torch.empty(()))
        if not 0 < state["step"].item() <= step:
            raise ValueError(f"the step of weight {number} is {state['step'].item():g}, of {step}")
        for name in MOMENTS:
            check_tensor(f"{name} of weight {number}", state[name], weights[number])


def check_tensor(name: str, found: Any, like: Tensor) -> None:
    """Another shape or kind of number would be read past its end by the fused optimizer."""
    plain = type(found) is Tensor and found.layout == torch.strided and found.device.type == "cpu"
    if not plain or found.is_quantized or not found.is_contiguous():
        raise ValueError(f"{name} is no plain tensor")
    if found.shape != like.shape or found.dtype != like.dtype:
        kinds = (f"{list(tensor.shape)} of {tensor.dtype}" for tensor in (found, like))
        raise ValueError(f"{name} has {' where the model has '.join(kinds)}")
