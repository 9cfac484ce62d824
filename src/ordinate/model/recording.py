"""Looking at attention from outside: weights and kernels, without changing any result."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor, nn

from ordinate.model.block import Attention

LayerWatch = Callable[[Tensor, str], None]


@dataclass
class Recording:
    """What was seen, in the order of the layers."""

    weights: list[Float[Tensor, "b h q k"]] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)


@contextmanager
def record(model: nn.Module) -> Iterator[Recording]:
    """Collect attention weights and kernels of every forward pass inside the `with`."""
    found = Recording()
    layers = [module for module in model.modules() if isinstance(module, Attention)]

    before = [layer.watch for layer in layers]

    def watcher(outer: LayerWatch | None) -> LayerWatch:
        def watch(weights: Tensor, kernel: str) -> None:
            found.weights.append(weights)
            found.kernels.append(kernel)
            if outer is not None:
                outer(weights, kernel)

        return watch

    for layer, outer in zip(layers, before, strict=True):
        layer.watch = watcher(outer)
    try:
        yield found
    finally:
        for layer, outer in zip(layers, before, strict=True):
            layer.watch = outer
