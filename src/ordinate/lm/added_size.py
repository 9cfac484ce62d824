"""How large what an encoding adds is beside the token embeddings: an encoding that drowns the tokens decides by that.

By default language models scale token embeddings by sqrt(dim) beside what is added to them, as the models do that the
sizes are taken from. `binary` follows them, `binary(size=1)` matches the size, `binary(scale_tokens=false)` adds the
same values to unscaled tokens: an encoding's text says which, so that it can be an axis of a study.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from ordinate.core.parsing import Choice, parse_choice, write_value
from ordinate.core.positions import Positions
from ordinate.core.seeds import generator
from ordinate.encodings import registry
from ordinate.model import ModelConfig, Transformer
from ordinate.model.assemble import distinct, make_encodings

SCALE = "scale_tokens"  # the parameter of encodings that are added
LARGE = 3.0  # a ratio above this is warned of
MOST = 4096  # positions to measure at, from the first on


def scale_by_default(encoding: str) -> str:
    """The encoding with scaled tokens, if it adds to them and does not say whether they are scaled."""
    return _each(encoding, lambda given: {SCALE: True} | given)


def short_name(encoding: str) -> str:
    """What a user writes for a text of `scale_by_default`: scaled tokens are not mentioned, unscaled ones are."""
    return _each(encoding, _without_default)


def _without_default(given: dict[str, object]) -> dict[str, object]:
    rest = {name: value for name, value in given.items() if name != SCALE}
    return rest if given.get(SCALE) else rest | {SCALE: False}


def _each(encoding: str, change: Callable[[dict[str, object]], dict[str, object]]) -> str:
    """The text with the parameters changed of every encoding in it that can scale tokens."""
    return "+".join(_write(choice, change) for choice in parse_choice(encoding))


def _write(choice: Choice, change: Callable[[dict[str, object]], dict[str, object]]) -> str:
    parameters = dict(choice.parameters)
    if SCALE in registry.parameters(choice.name):
        parameters = change(parameters)
    inner = ",".join(f"{name}={write_value(value)}" for name, value in sorted(parameters.items()))
    return f"{choice.name}({inner})" if inner else choice.name


@torch.no_grad()
def added_ratio(config: ModelConfig) -> float:
    """The root mean square of what a text encoding adds at the start over that of the token embeddings, as scaled.

    Measured on drawn tokens at the trained positions, without the table of tokens, which may be large.
    """
    with torch.device("meta"):
        if not Transformer(config).embedding_parts:
            return 0.0
    draw, length = generator(0, "added ratio"), min(config.length, MOST)
    tokens = torch.randint(config.vocabulary, (1, length), generator=draw)
    x = torch.randn(1, length, config.dim, generator=draw) * config.token_std
    positions, changed, scale = replace(Positions.range(length), tokens=tokens), x, 1.0
    for part in distinct(make_encodings(config)):
        changed = part.eval().embed(changed, part.relabel_positions(positions))
        scale *= math.sqrt(config.dim) if part.parameters_given.get(SCALE) else 1.0
    return (changed - scale * x).square().mean().sqrt().item() / (scale * config.token_std)
