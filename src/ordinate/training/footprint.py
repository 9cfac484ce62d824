"""How much memory a training step needs, counted and not sampled, so that it is the same on every machine."""

import torch
from torch import Tensor, nn

from ordinate.core.task import Batch


def memory(model: nn.Module, batch: Batch) -> int:
    """Bytes of weights, gradients, two moments of the optimizer, and what one step keeps for its backward pass."""
    weights = {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in model.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    device = next(model.parameters()).device
    positions = None if batch.positions is None else batch.positions.to(device)
    was_training = model.training
    model.train()
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = model(batch.tokens.to(device), positions=positions)
    model.train(was_training)
    del logits  # until here, nothing that was kept could be freed and counted twice
    return 4 * sum(weights.values()) + sum(kept.values())
