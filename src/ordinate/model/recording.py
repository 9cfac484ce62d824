"""Attention weights and kernels, recorded from outside the model without changing any result."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn

from ordinate.model.block import Attention


@dataclass
class Recording:
    """Attention weights and the kernels that ran, in the order of the layers."""

    weights: list[Float[Tensor, "b h q k"]] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)


@contextmanager
def record(model: nn.Module) -> Iterator[Recording]:
    """Collect attention weights and kernels of every forward pass inside the `with`."""
    recording = Recording()

    def keep(layer: int, weights: Tensor, kernel: str) -> None:
        recording.weights.append(weights)
        recording.kernels.append(kernel)

    with watch_attention(model, keep):
        yield recording


@contextmanager
def watch_attention(model: nn.Module, receive: Callable[[int, Tensor, str], None]) -> Iterator[None]:
    """Call `receive` with the layer, its weights [b, h, q, k] and its kernel in every forward pass inside the `with`.

    One layer's weights exist at a time, unless the receiver keeps them.
    """
    outer = {module: module.watch for module in model.modules() if isinstance(module, Attention)}

    def watch(layer: Attention, weights: Tensor, kernel: str) -> None:
        receive(layer.layer, weights, kernel)
        if (enclosing := outer[layer]) is not None:  # a recording around this one
            enclosing(weights, kernel)

    for layer in outer:
        layer.watch = partial(watch, layer)
    try:
        yield
    finally:
        for layer, enclosing in outer.items():
            layer.watch = enclosing
