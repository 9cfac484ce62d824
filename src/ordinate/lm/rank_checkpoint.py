"""A checkpoint that rank 0 reads for all ranks: the others need not see the file, and receive one tensor at a time."""

from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from ordinate.lm.ranks import Ranks
from ordinate.model import Transformer
from ordinate.training import checkpoint
from ordinate.training.checkpoint import MOMENTS, LanguageModelState, SavedTensors


def load(
    path: Path, owner: str, model: Transformer, optimizer: torch.optim.Optimizer, ranks: Ranks, *, last: int,
    source: Transformer | None = None,
) -> LanguageModelState:  # fmt: skip
    """Restore weights and moments on all ranks, and return the rest. Nothing is used before all of it is checked.

    `source`: a model like the one that was saved, if it had another encoding; then what both have is restored.
    """
    held: list[SavedTensors] = []  # on rank 0 alone

    def look() -> tuple[LanguageModelState, dict[str, float | None]]:
        tensors, state = checkpoint.read(path, owner, source or model, LanguageModelState, last=last)
        held.append(tensors if source is None else in_common(tensors, source, model))
        moments = held[0].optimizer
        return state, {name: float(own["step"]) if (own := moments.get(name)) else None for name in held[0].model}

    state, steps = ranks.decide(look)
    if ranks.world == 1:
        checkpoint.put(held[0], model, optimizer)
        return state
    weights = model.state_dict(keep_vars=True)
    for name, step in steps.items():
        checkpoint.put(_receive(held[0] if held else None, name, step, weights[name]), model, optimizer)
    return state


def in_common(tensors: SavedTensors, source: Transformer, model: Transformer) -> SavedTensors:
    """The tensors of one model that another can use: all of the network, and those of an encoding that both have.

    What the other encoding has beside them stays as it was initialized, from generators with names of their own.
    """
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    pairs = enumerate(zip(source.parts, model.parts, strict=False))
    same = tuple(f"encodings.{number}." for number, (old, new) in pairs if old.name == new.name)
    names = [
        name
        for name, tensor in tensors.model.items()
        if shapes.get(name) == tensor.shape and (not name.startswith("encodings.") or name.startswith(same))
    ]
    moments = {name: tensors.optimizer[name] for name in names if name in tensors.optimizer}
    return SavedTensors({name: tensors.model[name] for name in names}, moments)


def _receive(held: SavedTensors | None, name: str, step: float | None, weight: Tensor) -> SavedTensors:
    """One weight and its moments, on all ranks."""
    tensors = {name: _from_first(None if held is None else held.model[name], weight)}
    if step is None:
        return SavedTensors(tensors, {name: None})
    saved = None if held is None else held.optimizer[name]
    moments = {part: _from_first(None if saved is None else saved[part], weight) for part in MOMENTS}
    return SavedTensors(tensors, {name: {"step": torch.tensor(step), **moments}})


def _from_first(tensor: Tensor | None, weight: Tensor) -> Tensor:
    """The tensor that rank 0 has. Shards are dealt out later, by rank 0 too, so other ranks only need the shape."""
    here = torch.empty(weight.shape, dtype=weight.dtype, device="cpu") if tensor is None else tensor
    if not hasattr(weight, "device_mesh"):
        dist.broadcast(here, src=0)
    return here
