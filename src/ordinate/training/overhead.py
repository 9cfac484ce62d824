"""The cost of an encoding relative to none: parameters, a training step, a decoding step, and memory.

Every encoding is measured in turns with `none` on the same tokens, and its best time is divided by that of `none`.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from ordinate.core.config import settle
from ordinate.core.errors import InputError
from ordinate.core.memory import require_memory
from ordinate.encodings import canonical
from ordinate.model import Transformer
from ordinate.model.decode import Decoder
from ordinate.training.config_limits import check_numbers, refuse, too_small
from ordinate.training.environment import keep_memory
from ordinate.training.measured_model import Inputs, make_model, paths
from ordinate.training.optimizer import apply_gradients
from ordinate.training.step_memory import MeasuredLayer, Peak, peak
from ordinate.training.timing import in_turns

BASELINE = "none"
DECODED = 48  # steps, of which the best counts


@dataclass(frozen=True)
class BenchSizes:
    """The model and the measurement."""

    dim: int = 256
    heads: int = 8
    layers: int = 2
    batch: int = 4
    length: int = 512
    rounds: int = 12  # training steps of each, of which the best counts
    memory_length: int = 8192  # of the one layer whose memory is measured; 0: not measured
    threads: int = 1

    def __post_init__(self) -> None:
        refuse(settle(self))
        refuse(too_small(self, dim=1, heads=1, layers=1, batch=1, length=4, rounds=1, memory_length=0, threads=1))
        check_numbers(vars(self))
        for batch, length in ((self.batch, self.length), (1, self.memory_length)):
            kept = 4 * batch * length * 10 * self.dim  # a layer's at least, for its backward pass
            require_memory(kept, f"batch {batch} of length {length} at dim {self.dim}")


@dataclass(frozen=True)
class Ratio:
    """Times those of `none`: best over best, and where nine of ten single rounds lie."""

    best: float
    low: float
    high: float
    seconds: float


@dataclass(frozen=True)
class Overhead:
    """One encoding's costs. A failed measurement is none, with the reason in `problems`."""

    encoding: str
    axes: int
    parameters: int  # of the encoding, in the whole model
    parameters_per_layer: int  # of those, what every further layer adds
    path: str  # of attention in training
    step: Ratio | None
    decoding_path: str
    decoding: Ratio | None
    memory_path: str = ""
    memory: float | None = None  # times that of `none`
    memory_bytes: int | None = None
    problems: tuple[str, ...] = ()


def check(encodings: Sequence[str], sizes: BenchSizes) -> list[str]:
    """The encodings in their one spelling, each able to work at these sizes."""
    names = list(dict.fromkeys(canonical(text) for text in encodings))
    for name in names:
        _model(name, sizes)
    return names


def measure(encodings: Sequence[str], sizes: BenchSizes) -> Iterator[Overhead]:
    """Measure one encoding after the other. `none` itself gives about 1, up to noise."""
    keep_memory()
    before = torch.get_num_threads()
    torch.set_num_threads(sizes.threads)
    bases: dict[int, Peak | str] = {}
    try:
        for name in encodings:
            try:
                yield _one(name, sizes, bases)
            except InputError as error:
                yield Overhead(name, 1, 0, 0, "", None, "", None, problems=(str(error),))
    finally:
        torch.set_num_threads(before)


def _one(name: str, sizes: BenchSizes, bases: dict[int, Peak | str]) -> Overhead:
    model = _model(name, sizes)
    axes, inputs = model.config.axes, Inputs.of(model, sizes.batch, sizes.length)
    base = _model(BASELINE, sizes, axes)
    plain = Inputs.of(base, sizes.batch, sizes.length)
    per_layer = [part for part in model.per_layer[0].parts() if part.per_layer]
    step = _ratio(training_step(base, plain), training_step(model, inputs), sizes.rounds, warmup=2)
    path = paths(model, inputs.context(model), sizes.batch)
    decoding, decoding_path = _decoding(model, base, sizes)
    costs = Overhead(name, axes, _count(model.parts), _count(per_layer), path, step, decoding_path, decoding)
    if not sizes.memory_length:
        return costs
    own = _peak(name, sizes, axes)
    base_peak = bases[axes] = bases.get(axes) or _peak(BASELINE, sizes, axes)
    problems = tuple(dict.fromkeys(f"memory: {failure}" for failure in (own, base_peak) if isinstance(failure, str)))
    if isinstance(own, str):
        return replace(costs, problems=problems)
    ratio = None if isinstance(base_peak, str) else own.bytes / max(1, base_peak.bytes)
    return replace(costs, memory_path=own.path, memory=ratio, memory_bytes=own.bytes, problems=problems)


def _model(name: str, sizes: BenchSizes, axes: int | None = None) -> Transformer:
    return make_model(name, dim=sizes.dim, heads=sizes.heads, layers=sizes.layers, length=sizes.length, axes=axes)


def _count(parts: Sequence[nn.Module]) -> int:
    return sum(p.numel() for part in parts for p in part.parameters())


def _peak(name: str, sizes: BenchSizes, axes: int) -> Peak | str:
    return peak(MeasuredLayer(name, sizes.dim, sizes.heads, sizes.memory_length, axes=axes, threads=sizes.threads))


def training_step(model: nn.Module, inputs: Inputs) -> Callable[[], None]:
    """Forward, loss, backward, clip, AdamW."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        logits = model(inputs.tokens, **inputs.arguments)
        nn.functional.cross_entropy(logits.flatten(0, 1), inputs.tokens.flatten()).backward()
        apply_gradients(model, optimizer, lr=1e-4, clip=1.0)

    return step


def decoding_step(model: Transformer, length: int, steps: int) -> Callable[[], Tensor]:
    """One more token of one sequence with every call, the last of them at `length`."""
    model.eval()
    inputs, start = Inputs.of(model, 1, length), length - steps
    cache, at = model.cache(1, length), iter(range(start, length))
    with torch.inference_mode():
        model(inputs.tokens[:, :start], cache=cache, **inputs.part(0, start))
    fast = None if "relation" in inputs.arguments else Decoder(model, cache)

    @torch.inference_mode()
    def step() -> Tensor:
        now = next(at)
        arguments = inputs.part(now, now + 1)
        if fast is not None:
            return fast(inputs.tokens[:, now], **arguments)
        logits: Tensor = model(inputs.tokens[:, now : now + 1], cache=cache, **arguments)
        return logits

    return step


def _decoding(model: Transformer, base: Transformer, sizes: BenchSizes) -> tuple[Ratio, str]:
    warmup = 2 if sizes.length > 8 else 1
    steps = min(DECODED + warmup, sizes.length // 2)
    plain, own = (decoding_step(each, sizes.length, steps) for each in (base, model))
    ratio = _ratio(plain, own, steps - warmup, warmup=warmup)
    context = Inputs.of(model, 1, sizes.length).context(model)
    return ratio, paths(model, context.query_block(sizes.length - 1, sizes.length), 1, trains=False)


def _ratio(plain: Callable[[], object], own: Callable[[], object], rounds: int, *, warmup: int) -> Ratio:
    times = in_turns({"plain": plain, "own": own}, rounds=rounds, warmup=warmup)
    base, mine = times["plain"], times["own"]
    single = [x / y for x, y in zip(mine, base, strict=True)]
    cuts = statistics.quantiles(single, n=20, method="inclusive") if len(single) > 1 else single
    return Ratio(min(mine) / min(base), cuts[0], cuts[-1], min(mine))
