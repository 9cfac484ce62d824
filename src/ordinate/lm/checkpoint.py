"""The full state of a model at a step. Data and dropout follow from the step, so no generator need be saved.

One format for one process, for ranks with copies and for ranks with shards: whole tensors by name, written by rank 0.
So a run may go on with another number of ranks.
"""

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from ordinate.core.errors import InputError
from ordinate.store.files import regular, replacing
from ordinate.training.checkpoint import check_tensor, read_tensors

SCHEMA = 1
MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def whole_state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, dict[str, Any]]:
    """Weights and moments by name. Ranks with shards must all call it."""
    weights = {name: _whole(tensor) for name, tensor in model.state_dict(keep_vars=True).items()}
    moments = {
        name: {part: _whole(optimizer.state[weight][part]) for part in MOMENTS}
        for name, weight in model.named_parameters()
        if weight in optimizer.state
    }
    return {"model": weights, "optimizer": moments}


def save(path: Path, owner: str, state: dict[str, Any]) -> None:
    """Replace a checkpoint as a whole. `state` is tensors and plain data; `owner` is the id of what it belongs to."""
    with replacing(path) as file:
        torch.save({"schema": SCHEMA, "owner": owner, **state}, file)


def load(path: Path, owner: str, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Put weights and moments back, all checked before any is used; returns the rest. Loads tensors, never code."""
    try:
        saved = read_tensors(path)
    except Exception as error:  # a damaged file shows itself in many ways
        raise InputError(f"{path} is no checkpoint of this program, or is damaged: move it away") from error
    if saved.pop("schema", None) != SCHEMA:
        raise InputError(f"{path} is no checkpoint that this version reads: move it away")
    if saved.pop("owner", None) != owner:
        raise InputError(f"{path} belongs to another model or configuration: move it away")
    weights, moments = saved.pop("model", None), saved.pop("optimizer", None)
    tensors: dict[str, Tensor] = model.state_dict(keep_vars=True)
    trained = {name for name, tensor in tensors.items() if isinstance(tensor, nn.Parameter)}
    try:
        _check(tensors, trained, weights, moments)
        _check_plain(saved)
    except ValueError as error:
        raise InputError(f"{path} does not fit its model ({error}): move it away") from error
    with torch.no_grad():
        for name, weight in tensors.items():
            weight.copy_(_like(weights[name], weight))
            if name in moments:
                optimizer.state[weight] = {
                    "step": moments[name]["step"].to(weight.device if weight.is_cuda else "cpu"),
                    "exp_avg": _like(moments[name]["exp_avg"], weight),
                    "exp_avg_sq": _like(moments[name]["exp_avg_sq"], weight),
                }
    return saved


def fingerprint(path: Path) -> str:
    """The hash of a file, so that a branch can say which checkpoint it left from."""
    with open(path, "rb", opener=regular) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(tensors: dict[str, Tensor], trained: set[str], weights: Any, moments: Any) -> None:
    """Refuse saved tensors that are not the model's."""
    if not isinstance(weights, dict) or not isinstance(moments, dict):
        raise ValueError("weights or moments are missing")
    for saved, wanted in ((weights, tensors.keys()), (moments, trained if moments else set())):
        if odd := sorted(map(str, saved.keys() ^ wanted)):
            raise ValueError(f"{odd[0]} is in one of them alone")
    for name, tensor in tensors.items():
        check_tensor(name, weights[name], tensor)
        if name in moments:
            parts = moments[name]
            if not isinstance(parts, dict) or parts.keys() != set(MOMENTS):
                raise ValueError(f"the moments of {name} are incomplete")
            check_tensor(f"the steps of {name}", parts["step"], torch.empty(()))
            for part in MOMENTS[1:]:
                check_tensor(f"{part} of {name}", parts[part], tensor)


def _check_plain(rest: dict[str, Any]) -> None:
    """Refuse what is no step, no size of a journal, or no time."""
    for name, kind in (("step", int), ("journal", int), ("seconds", float)):
        value = rest.get(name)
        if type(value) is not kind or not 0 <= value < 1e15:
            raise ValueError(f"its {name} is {value!r:.40}")


def _whole(tensor: Tensor) -> Tensor:
    found = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return found.detach().cpu()


def _like(saved: Tensor, weight: Tensor) -> Tensor:
    """On the device of a weight, cut as it is."""
    here = saved.to(weight.device)
    return distribute_tensor(here, weight.device_mesh, weight.placements) if isinstance(weight, DTensor) else here
