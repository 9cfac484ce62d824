"""One training step: ours beside x-transformers, and every encoding beside none."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from x_transformers import Decoder, TransformerWrapper

from benchmarks.measure import Row, compare, in_turns
from ordinate import Encoding, ModelConfig, Transformer, encodings
from ordinate.training.environment import keep_memory
from ordinate.training.measured_model import Inputs, make_model
from ordinate.training.overhead import training_step

VOCABULARY = 16

# Required at length 512, by family: a tenth or two over the slowest of docs/COST.md. What reads scores or content holds
# them all, and that is most of its cost.
BOUNDS = {"added": 1.15, "rotation": 1.40, "bias": 1.30, "content": 2.25}


def family_of(encoding: Encoding) -> str:
    """The family whose cost an encoding has: `rerope` is a rotation that needs the scores, as `cope` does."""
    return "content" if encoding.needs_scores else encoding.family


def stepper(model: nn.Module, tokens: Tensor) -> Callable[[], object]:
    return training_step(model, Inputs(tokens, {}))


def ours(name: str, *, dim: int, heads: int, layers: int, length: int) -> Transformer:
    return Transformer(
        ModelConfig(
            vocabulary=VOCABULARY, encoding=name, dim=dim, heads=heads, layers=layers, length=length, dropout=0.0
        )
    )


def theirs(*, dim: int, heads: int, layers: int, length: int, flash: bool) -> nn.Module:
    """x-transformers at the same shape, rotary, no dropout; it has no biases in attention, which is to its favor."""
    return TransformerWrapper(
        num_tokens=VOCABULARY,
        max_seq_len=length,
        use_abs_pos_emb=False,
        attn_layers=Decoder(
            dim=dim, depth=layers, heads=heads, attn_dim_head=dim // heads, rotary_pos_emb=True,
            rotary_emb_dim=dim // heads, attn_flash=flash,
        ),
    )  # fmt: skip


def against_x_transformers(rounds: int) -> list[Row]:
    shape = dict(dim=128, heads=4, layers=2, length=32)
    tokens = torch.randint(0, VOCABULARY, (64, 32), generator=torch.Generator().manual_seed(0))
    times = in_turns(
        {
            "rope": stepper(ours("rope", **shape), tokens),
            "x-transformers": stepper(theirs(**shape, flash=False), tokens),
            "x-transformers, flash": stepper(theirs(**shape, flash=True), tokens),
        },
        rounds=rounds,
    )
    best = min(("x-transformers", "x-transformers, flash"), key=lambda name: min(times[name]))
    return [compare(times, "rope", best, required="<= 1.00", goal="0.92")]


def each_encoding(
    names: list[str], rounds: int, *, batch: int, bound: Callable[[Encoding], float], **shape: int
) -> list[Row]:
    steps, bounds = {}, {}
    for name in names:
        model = make_model(name, **shape)
        if model.config.axes == 1:  # others have no text to read
            steps[name] = training_step(model, Inputs.of(model, batch, shape["length"]))
            bounds[name] = bound(model.per_layer[0]) if name != "none" else 0.0
    times = in_turns(steps, rounds=rounds)
    return [compare(times, name, "none", required=f"<= {bounds[name]:.2f}") for name in steps if name != "none"]


def run(rounds: int = 40, tiny: bool = False) -> dict[str, list[Row]]:
    torch.set_num_threads(1)
    keep_memory()
    names = ["none", "rope", "cope"] if tiny else encodings.names()
    length = 64 if tiny else 512
    return {
        "Training step against x-transformers (d128, 4 heads, 2 layers, batch 64, length 32, one thread)": (
            against_x_transformers(3 * rounds)
        ),
        "Training step of each encoding against none (same shape)": each_encoding(
            names, rounds, batch=64, bound=lambda encoding: 1.30 if encoding.needs_scores else 1.10, dim=128, heads=4,
            layers=2, length=32,
        ),
        f"Training step of each encoding against none (d256, 8 heads, 2 layers, batch 4, length {length})": (
            each_encoding(
                names, rounds if tiny else max(rounds // 4, 3), batch=4,
                bound=lambda encoding: BOUNDS[family_of(encoding)], dim=256, heads=8, layers=2, length=length,
            )
        ),
    }  # fmt: skip
