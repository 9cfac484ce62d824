"""Changes of a model from outside, undone at the end of their `with`: what a model loses by one shows what it uses."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ordinate.core.encoding import Encoding
from ordinate.core.errors import InputError
from ordinate.core.seeds import generator
from ordinate.model import Transformer
from ordinate.model.block import Attention
from ordinate.probes import encoding_effects as effects

Pattern = Literal["offset", "first", "uniform"]

CONCENTRATED = 0.5  # of a channel's power around one frequency, for it to have a wavelength


def permuted(positions: Int[Tensor, "#b n axes"], rows: int) -> Int[Tensor, "b n axes"]:
    """The same positions in another order, drawn for each sequence."""
    n = positions.shape[1]
    order = torch.rand(rows, n, generator=generator(0, "probe", "permute", n)).argsort(dim=1)
    return positions.expand(rows, -1, -1).gather(1, order[..., None].expand(-1, -1, positions.shape[2]))


def shifted(positions: Int[Tensor, "#b n axes"], by: int) -> Int[Tensor, "#b n axes"]:
    """All positions moved by the same number, on every axis."""
    return positions + by


def frozen(positions: Int[Tensor, "#b n axes"]) -> Int[Tensor, "#b n axes"]:
    """Every token at the position of the middle one."""
    middle = positions.shape[1] // 2
    return positions[:, middle : middle + 1].expand_as(positions).contiguous()


@contextmanager
def switched_off(model: Transformer) -> Iterator[None]:
    """The encodings add nothing, turn nothing and change no score."""
    with ExitStack() as stack:
        for part in model.parts:
            hooks: dict[str, Callable[..., Any]] = {
                "relabel": lambda positions: positions,
                "embed": lambda x, positions: x,
                "rotate": lambda x, state, side, features=None: x,
                "relative_bias": lambda relative: None,
                "bias": lambda context: None,
                "qk_scores": lambda q, k, context, features=None, own=part: Encoding.qk_scores(own, q, k, context),
                "score_mod": lambda scores, q, k, context, features=None: scores,
                "weighted_values": lambda weights, v, context: weights @ v,
            }
            for name, hook in hooks.items():
                stack.enter_context(_replaced(part, name, hook))
        yield


@contextmanager
def _replaced(part: Encoding, name: str, hook: Callable[..., Any]) -> Iterator[None]:
    """One hook of one object, until the end of the `with`."""
    setattr(part, name, hook)
    try:
        yield
    finally:
        delattr(part, name)


def attention_layers(model: Transformer) -> list[Attention]:
    return [module for module in model.modules() if isinstance(module, Attention)]


def check_head(model: Transformer, layer: int, head: int) -> Attention:
    """The attention of a layer; layers and heads count from 1."""
    layers = attention_layers(model)
    if not 1 <= layer <= len(layers) or not 1 <= head <= layers[0].heads:
        have = f"layers 1 to {len(layers)} with heads 1 to {layers[0].heads}"
        raise InputError(f"there is no head {layer}.{head}: this model has {have}")
    return layers[layer - 1]


@contextmanager
def removed_heads(model: Transformer, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """The output of these heads, each a layer and a head, is 0."""
    with ExitStack() as stack:
        for layer, head in heads:
            attention = check_head(model, layer, head)
            own = slice((head - 1) * attention.width, head * attention.width)
            stack.enter_context(_hooked(attention, partial(_zero, own)))
        yield


def _zero(own: slice, _: nn.Module, inputs: Any, output: Float[Tensor, "b n inner"]) -> Tensor:
    changed = output.clone()
    changed[..., own] = 0.0
    return changed


@contextmanager
def patched_head(model: Transformer, layer: int, head: int, pattern: Pattern, offset: int = 0) -> Iterator[None]:
    """One head attends by an ideal pattern: all weight on the key at an offset or on the first, or spread evenly.

    Queries without a key at that offset attend as they did.
    """
    attention = check_head(model, layer, head)
    own = slice((head - 1) * attention.width, head * attention.width)
    shared = (head - 1) * attention.kv_heads // attention.heads  # the key head that serves this one

    def patch(_: nn.Module, inputs: Any, output: Float[Tensor, "b n inner"]) -> Tensor:
        x = inputs[0]
        first = (attention.heads + attention.kv_heads + shared) * attention.width
        values = attention.inputs(x)[..., first : first + attention.width]
        ideal = ideal_pattern(pattern, x.shape[1], offset, causal=model.config.causal).to(values)
        has_key = ideal.sum(dim=-1) > 0
        changed = output.clone()
        changed[:, has_key, own] = (ideal @ values)[:, has_key]
        return changed

    with _hooked(attention, patch):
        yield


def ideal_pattern(pattern: Pattern, n: int, offset: int, *, causal: bool) -> Float[Tensor, "n n"]:
    """Weights of every query on every key; a row of zeros where the pattern has no key."""
    i, j = torch.arange(n)[:, None], torch.arange(n)
    if pattern == "offset":
        return (i - j == offset).float()
    if pattern == "first":
        return (j == 0).float().expand(n, n).clone()
    visible = (j <= i).float() if causal else torch.ones(n, n)
    return visible / visible.sum(dim=-1, keepdim=True)


@contextmanager
def _hooked(module: nn.Module, hook: Callable[..., Tensor]) -> Iterator[None]:
    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def without_band(model: Transformer, low: float, high: float) -> Iterator[None]:
    """Channels with a wavelength above `low` and up to `high` carry no position: what is added to them is left out, or
    they are not turned. Their contents stay."""
    with ExitStack() as stack:
        for part in model.parts:
            channels = wavelengths(part)
            if channels is not None:
                band = (channels > low) & (channels <= high)
                remove = _without_added if part.overrides("embed") else _without_turns
                name = "embed" if part.overrides("embed") else "rotate"
                stack.enter_context(_replaced(part, name, remove(part, band)))
        yield


def _without_added(part: Encoding, band: Bool[Tensor, "1 d"]) -> Callable[..., Tensor]:
    embed = part.embed

    def without(x: Tensor, positions: Any) -> Tensor:
        return embed(x, positions).where(~band, embed(x, positions) - embed(torch.zeros_like(x), positions))

    return without


def _without_turns(part: Encoding, band: Bool[Tensor, "h e"]) -> Callable[..., Tensor]:
    rotate = part.rotate

    def without(x: Tensor, state: Any, side: Any, features: Any = None) -> Tensor:
        own = band.repeat(x.shape[1] // len(band), 1) if len(band) > 1 else band  # queries and keys may come together
        return x.where(own[:, None], rotate(x, state, side, features))

    return without


def wavelengths(part: Encoding) -> Float[Tensor, "h e"] | None:
    """Positions per turn of each channel, infinite for those that do not turn: of turned channels [h or 1, e], of added
    ones [1, d]. None where channels have no wavelength of their own."""
    if part.shape.axes > 1 or part.feature_width or part.widens:
        return None
    if part.overrides("embed"):
        return _added_wavelengths(part)
    angles = effects.turns(part, 0, 0) if part.overrides("rotate") else None
    if angles is None or not (angles > 1e-9).any():
        return None
    waves = 2 * torch.pi / angles[0].double()
    return waves[:1] if torch.allclose(angles[0], angles[0][:1].expand_as(angles[0]), rtol=1e-3, atol=1e-9) else waves


def _added_wavelengths(part: Encoding) -> Float[Tensor, "1 d"] | None:
    """By the peak of each channel's spectrum, if most channels have one."""
    reach = min(4 * part.shape.length, part.max_positions)
    values = effects.added(part, effects.along(part, 0, reach)[0]).double()
    window = torch.hann_window(reach, periodic=False, dtype=torch.float64)[:, None]
    power = torch.fft.rfft((values - values.mean(dim=0)) * window, dim=0).abs().square()
    peak = power[1:].argmax(dim=0) + 1
    around = torch.stack([power.gather(0, (peak + step).clamp(0, len(power) - 1)[None])[0] for step in (-1, 0, 1)])
    moving = power.sum(dim=0) > 1e-12
    clear = around.sum(dim=0) >= CONCENTRATED * power.sum(dim=0)
    if not moving.any() or (clear & moving).sum() < CONCENTRATED * moving.sum():
        return None
    return torch.where(moving, reach / peak, torch.inf)[None]
