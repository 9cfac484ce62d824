"""Generation with a causal model, one token at a time, with a KV cache."""

import math
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.core.positions import check_positions
from ordinate.model.config import ModelConfig
from ordinate.model.decode import Decoder
from ordinate.model.transformer import Transformer


def generate(
    model: Transformer,
    prompt: Int[Tensor, "b n"],
    count: int,
    *,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
    padding_mask: Tensor | None = None,
    positions: Tensor | None = None,
    segments: Tensor | None = None,
    stop: int | None = None,
) -> Int[Tensor, "b total"]:
    """The prompt and `count` more tokens. Temperature 0 is greedy; otherwise tokens are sampled with `generator`.

    Prompts of different lengths are padded on the left, with `padding_mask` False there. positions, segments: of the
    prompt and of all generated tokens, n + count, as in `forward`. stop: a sequence ends with this token, which then
    fills its row; once all sequences have ended, fewer tokens are returned.
    """
    _check_kinds(locals())
    _check(model, prompt, count, temperature, top_k, top_p, generator, padding_mask)
    start, total = prompt.shape[1], prompt.shape[1] + count
    inputs = _check_rows(model, positions, segments, prompt, total)
    if stop is not None and not 0 <= stop < model.config.vocabulary:
        raise InputError(f"stop must be a token, 0 to {model.config.vocabulary - 1}, got {stop}")
    training = model.training
    model.eval()
    tokens = torch.empty(len(prompt), total, dtype=torch.long, device=prompt.device)
    tokens[:, :start] = prompt
    ended = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    try:
        with torch.inference_mode():
            cache = model.cache(len(prompt), total)
            first = {name: row[:, :start] for name, row in inputs.items()}
            logits, step = model(prompt, padding_mask=padding_mask, cache=cache, **first)[:, -1], Decoder(model, cache)
            for at in range(start, total):
                tokens[:, at] = _pick(logits, temperature, top_k, top_p, generator)
                if stop is not None:
                    tokens[ended, at] = stop
                    ended |= tokens[:, at] == stop
                    if ended.all():
                        return tokens[:, : at + 1]
                if at + 1 < total:
                    logits = step(tokens[:, at], **{name: row[:, at : at + 1] for name, row in inputs.items()})
        return tokens
    finally:
        model.train(training)


def _check_rows(
    model: Transformer, positions: Tensor | None, segments: Tensor | None, prompt: Tensor, total: int
) -> dict[str, Tensor]:
    """Positions [#b, total, axes] and segments [#b, total] of prompt and continuation, if given."""
    rows = {}
    if positions is not None:
        sizes = dict(batch=len(prompt), length=total, axes=model.config.axes)
        rows["positions"] = check_positions(positions, **sizes)  # type: ignore[arg-type]
    if segments is not None:
        if segments.dim() != 2 or segments.shape[0] not in (1, len(prompt)) or segments.shape[1] != total:
            found_shape, needed = list(segments.shape), [len(prompt), total]
            raise InputError(f"segments of prompt and continuation need shape {needed}, got {found_shape}")
        rows["segments"] = segments
    return rows


def _pick(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float | None, generator: torch.Generator | None
) -> Int[Tensor, " b"]:
    if temperature == 0.0:
        return logits.argmax(dim=-1)
    scaled = (logits.float() - logits.amax(dim=-1, keepdim=True).float()) / max(temperature, 1e-6)
    probability = scaled.softmax(dim=-1)
    if top_k is not None and top_k < probability.shape[-1]:
        least = probability.topk(top_k, dim=-1).values[:, -1:]
        probability = probability.masked_fill(probability < least, 0.0)
    if top_p is not None:
        ordered, index = probability.sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered.masked_fill(before >= top_p * ordered.sum(dim=-1, keepdim=True), 0.0)
        probability = torch.zeros_like(probability).scatter(-1, index, ordered)
    return torch.multinomial(probability, 1, generator=generator).squeeze(-1)


# The type of each argument, in Python and in words.
_KINDS: dict[str, tuple[Any, str]] = {
    "prompt": (Tensor, "a tensor of shape [b, n]"),
    "count": (int, "a whole number"),
    "temperature": (int | float, "a number"),
    "top_k": (int | None, "a whole number, or None"),
    "top_p": (int | float | None, "a number, or None"),
    "generator": (torch.Generator | None, "a torch.Generator, or None"),
    "padding_mask": (Tensor | None, "a tensor of the prompt's shape, or None"),
    "segments": (Tensor | None, "a tensor of shape [b, n + count], or None"),
    "stop": (int | None, "a token, or None"),
}


def _check_kinds(given: dict[str, Any]) -> None:
    if not isinstance(getattr(given["model"], "config", None), ModelConfig):  # compiled ones have it too
        raise InputError(f"generate takes a Transformer, got {type(given['model']).__name__}")
    for name, (kind, words) in _KINDS.items():
        value = given[name]
        if isinstance(value, bool) or not isinstance(value, kind):
            found = repr(value) if isinstance(value, str | int | float) else type(value).__name__
            raise InputError(f"{name} must be {words}, got {found}")


def _check(
    model: Transformer, prompt: Tensor, count: int, temperature: float, top_k: int | None, top_p: float | None,
    generator: torch.Generator | None, padding_mask: Tensor | None,
) -> None:  # fmt: skip
    if model.config.readout != "tokens":
        raise InputError(f"generation needs logits for every token, but this model classifies ({model.config.readout})")
    if prompt.dim() != 2 or prompt.shape[1] == 0:
        raise InputError(f"a prompt needs shape [b, n] with at least one token, got {tuple(prompt.shape)}")
    if model.config.classes > model.config.vocabulary:
        raise InputError(
            f"the model answers with {model.config.classes} classes, more than its {model.config.vocabulary} tokens"
        )
    if count < 0 or not 0 <= temperature < math.inf:
        raise InputError(f"count and temperature must be finite and not negative, got {count} and {temperature}")
    if temperature == 0 and (top_k is not None or top_p is not None):
        raise InputError("top_k and top_p choose what to sample from, but temperature 0 is greedy: set temperature")
    if padding_mask is not None and (
        padding_mask.dim() != 2 or padding_mask.shape[1] != prompt.shape[1] or len(padding_mask) not in (1, len(prompt))
    ):
        raise InputError(f"padding_mask needs the prompt's shape {list(prompt.shape)}, got {list(padding_mask.shape)}")
    if padding_mask is not None and not padding_mask[:, -1].all():
        raise InputError("prompts must be padded on the left: padding_mask ends with padding")
    if temperature > 0 and generator is None:
        raise InputError("sampling needs a generator, so that it can be repeated: pass generator=")
    if (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
        raise InputError(f"top_k must be at least 1 and top_p in (0, 1], got {top_k} and {top_p}")
