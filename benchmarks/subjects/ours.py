"""Our own encodings: those that some other library here has too."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks import formulas
from benchmarks.contracts import FAR, VOCABULARY, NotApplicableError, Subject, queries, spread, typed
from ordinate import AttentionContext, Encoding, ModelConfig, Positions, Transformer, encodings
from ordinate.core.parsing import parse_choice

OPTIONS = {
    "learned": ("learned(rows=96)", "learned(beyond=clip)", "learned(beyond=interpolate)", "learned(size=none)"),
    "sinusoidal": ("sinusoidal(layout=halves)", "sinusoidal(exponent=tensor2tensor)", "sinusoidal(scale_tokens=true)"),
    "rope": (
        "rope(pairs=interleaved)", "rope(fraction=0.5)", "rope(scaling=linear,factor=2)", "rope(scaling=ntk,factor=2)",
        "rope(scaling=llama3,factor=4)", "rope(scaling=proportional,fraction=0.5)",
    ),
    "xpos": ("xpos(pairs=interleaved)", "xpos(scale_base=256)"),
    "alibi": ("alibi(max_bias=4)",),
    "t5": ("t5(buckets=16)", "t5(farthest=64)"),
    "cope": ("cope(positions=6)",),
}  # fmt: skip
NAMES = (
    "learned", "sinusoidal", "rope", "rope(scaling=dynamic,factor=4)", "rope(scaling=yarn,factor=4)", "lrope", "xpos",
    "pope", "alibi", "sandwich", "t5", "cope", "fox",
)  # fmt: skip
SHORT = 16  # the trained length of what changes past it; in deeper models no cache can follow its hidden states


class Own(Subject):
    package = "ordinate"

    def __init__(self, name: str) -> None:
        self.encoding = name
        self.trained = name == "lrope"
        self.length = SHORT if "dynamic" in name else 2048 if "yarn" in name else 2 * FAR
        self.shift_invariant = self.module().shift_invariant
        self.options = {text: self._use(text) for text in OPTIONS.get(name, ())}

    def _build(self, name: str) -> Transformer:
        length = min(self.length, 64)
        return Transformer(
            ModelConfig(
                vocabulary=VOCABULARY, encoding=name, dim=48, heads=4, length=length, dropout=0.0,
                layers=1 if length == SHORT else 2,
            )
        )  # fmt: skip

    def _use(self, name: str) -> Callable[[], object]:
        return lambda: self._build(name)(torch.ones(1, 8, dtype=torch.long))

    def module(self, **more: Any) -> Encoding:
        (choice,) = parse_choice(self.encoding)
        biased = choice.name in ("alibi", "t5", "sandwich")
        size = dict(dim=48, heads=12) if biased else dict(dim=64, heads=1)
        return encodings.create(choice.name, **size, length=self.length, **dict(choice.parameters), **more)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        positions, kind = Positions.range(length), type(module)
        if kind.embed is not Encoding.embed:
            return module.embed(torch.zeros(1, length, 64, dtype=dtype), positions)[0].detach()
        if kind.rotate is not Encoding.rotate:
            return module.rotate(queries(length, dtype), module.prepare(positions), "q").detach()
        if module.needs_scores or not module.has_bias:
            raise NotApplicableError
        typed(module, dtype)
        return module.bias(AttentionContext(positions.slice(length - 1, length), positions))[0, :, 0].detach()

    def definition(self) -> tuple[Tensor, Tensor]:
        name = "yarn" if "yarn" in self.encoding else "dynamic" if "dynamic" in self.encoding else self.encoding
        if name not in DEFINITIONS:
            raise NotApplicableError
        return DEFINITIONS[name](self)

    def scores(self, length: int, **more: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Products of turned queries and keys, not scaled, and what went in."""
        q, k, module, positions = queries(length), queries(length, seed=1), self.module(**more), Positions.range(length)
        state = module.prepare(positions)
        scores = module.match(
            module.rotate(q, state, "q"), module.rotate(k, state, "k"), AttentionContext.self_attention(positions)
        )
        return (scores * q.shape[-1] ** 0.5).detach(), q, k

    def model(self) -> Transformer:
        return spread(self._build(self.encoding))  # type: ignore[return-value]

    def logits(self, model: Any, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        return model(tokens, positions=positions)

    def padded(self, model: Any, tokens: Tensor, pad: int) -> Tensor:
        filled = torch.nn.functional.pad(tokens, (pad, 0))
        padding_mask = torch.arange(filled.shape[1]).expand(len(filled), -1) >= pad
        return model(filled, padding_mask=padding_mask)[:, pad:]

    def decoded(self, model: Any, tokens: Tensor, parts: list[tuple[int, int]]) -> list[Tensor]:
        cache = model.cache(len(tokens), tokens.shape[1])
        return [model(tokens[:, start:stop], cache=cache) for start, stop in parts]


def _values(own: Own, length: int = 64) -> Tensor:
    return own.values(own.module(), length, torch.float32)


def _rope(own: Own, theta: Tensor | None = None, factor: float = 1.0) -> tuple[Tensor, Tensor]:
    return _values(own), formulas.rope(queries(64), halves=True, theta=theta) * factor


def _dynamic(own: Own) -> tuple[Tensor, Tensor]:
    base = 10000.0 * (4.0 * 64 / SHORT - 3.0) ** (64 / 62)
    return _rope(own, base ** -(torch.arange(0, 64, 2, dtype=torch.float64) / 64))


def _xpos(own: Own) -> tuple[Tensor, Tensor]:
    computed, q, k = own.scores(64, pairs="interleaved")
    return computed, formulas.xpos_scores(q, k)


def _pope(own: Own) -> tuple[Tensor, Tensor]:
    computed, q, k = own.scores(40)
    return computed, formulas.pope_scores(q, k)


def _t5(own: Own) -> tuple[Tensor, Tensor]:
    module = own.module()
    rows = [formulas.t5_buckets(distance) for distance in range(299, -1, -1)]
    return own.values(module, 300, torch.float32), module.table[rows].T.detach()


DEFINITIONS: dict[str, Callable[[Own], tuple[Tensor, Tensor]]] = {
    "sinusoidal": lambda own: (_values(own), formulas.sinusoidal(64, 64)),
    "rope": _rope,
    "lrope": _rope,
    "dynamic": _dynamic,
    "yarn": lambda own: _rope(own, *formulas.yarn(64, 4.0, 2048)),
    "xpos": _xpos,
    "pope": _pope,
    "alibi": lambda own: (_values(own), formulas.alibi(12, 64)),
    "sandwich": lambda own: (_values(own), formulas.sandwich(12, 64)),
    "t5": _t5,
}

SUBJECTS = tuple(Own(name) for name in NAMES if parse_choice(name)[0].name in encodings.names())
