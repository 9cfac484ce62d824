"""Looking at attention from outside: weights and kernels, without changing any result."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor, nn

from ordinate.model.block import Attention


@dataclass
class Record:
    """What was seen, in the order of the layers."""

    weights: list[Float[Tensor, "b h q k"]] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)


@contextmanager
def record(model: nn.Module) -> Iterator[Record]:
    """Collect attention weights and kernels of every forward pass inside the `with`."""
    found = Record()
    layers = [module for module in model.modules() if isinstance(module, Attention)]

    def watch(weights: Tensor, kernel: str) -> None:
        found.weights.append(weights)
        found.kernels.append(kernel)

    for layer in layers:
        layer.watch = watch
    try:
        yield found
    finally:
        for layer in layers:
            layer.watch = None
