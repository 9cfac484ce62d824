"""rotary-embedding-torch, as its README uses it."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb
from torch import Tensor

from benchmarks import formulas
from benchmarks.contracts import Subject, queries
from benchmarks.subjects.attention import WIDTH, TokenAttention


class RoPE(Subject):
    package, encoding, shift_invariant = "rotary-embedding-torch", "RoPE", True
    masks = False
    settings: ClassVar[dict[str, Any]] = {}
    options: ClassVar[dict[str, Any]] = {
        "interpolate_factor": lambda: RotaryEmbedding(32, interpolate_factor=2.0).rotate_queries_or_keys(queries(8)),
        "theta_rescale_factor": lambda: RotaryEmbedding(32, theta_rescale_factor=2.0).rotate_queries_or_keys(
            queries(8)
        ),
        "freqs_for='pixel'": lambda: RotaryEmbedding(32, freqs_for="pixel").rotate_queries_or_keys(queries(8)),
        "freqs_for='constant'": lambda: RotaryEmbedding(32, freqs_for="constant").rotate_queries_or_keys(queries(8)),
    }

    def module(self) -> RotaryEmbedding:
        return RotaryEmbedding(WIDTH, **self.settings)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        return module.rotate_queries_or_keys(queries(length, dtype)).detach()

    def definition(self) -> tuple[Tensor, Tensor]:
        return self.values(self.module(), 64, torch.float32), formulas.rope(queries(64))

    def model(self) -> TokenAttention:
        return TokenAttention(self.module())

    def logits(self, model: Any, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        return self._logits(model, tokens, 0) if positions is None else super().logits(model, tokens, positions)

    def shifted(self, model: Any, tokens: Tensor, by: int) -> Tensor:
        return self._logits(model, tokens, by)

    def _logits(self, model: Any, tokens: Tensor, offset: int) -> Tensor:
        q, k, v = model.qkv(tokens)
        turn = model.position.rotate_queries_or_keys
        return model.mix(turn(q, offset=offset), turn(k, offset=offset), v)

    def decoded(self, model: Any, tokens: Tensor, parts: list[tuple[int, int]]) -> list[Tensor]:
        q, k, v = model.qkv(tokens)
        turn = model.position.rotate_queries_with_cached_keys
        return [model.mix(*turn(q[:, :, a:b], k[:, :, :b]), v[:, :, :b]) for a, b in parts]


class LearnedRoPE(RoPE):
    encoding, settings = "RoPE, learned frequencies", {"learned_freq": True}
    trained = True
    options: ClassVar[dict[str, Callable[[], object]]] = {}


class XPos(RoPE):
    encoding, settings = "xPos", {"use_xpos": True}
    options: ClassVar[dict[str, Any]] = {
        "seq_before_head_dim=True, with cached keys": lambda: RotaryEmbedding(
            32, use_xpos=True, seq_before_head_dim=True
        ).rotate_queries_with_cached_keys(torch.zeros(1, 1, 2, 64), torch.zeros(1, 8, 2, 64))
    }

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        return module.rotate_queries_and_keys(queries(length, dtype), queries(length, dtype))[0].detach()

    def definition(self) -> tuple[Tensor, Tensor]:
        q, k = queries(64), queries(64, seed=1)
        turned, keys = self.module().rotate_queries_and_keys(q, k)
        return turned @ keys.mT, formulas.xpos_scores(q, k)

    def shifted(self, model: Any, tokens: Tensor, by: int) -> Tensor:
        return Subject.logits(self, model, tokens)  # it takes no offset

    def _logits(self, model: Any, tokens: Tensor, offset: int) -> Tensor:
        q, k, v = model.qkv(tokens)
        return model.mix(*model.position.rotate_queries_and_keys(q, k), v)


class Axial(Subject):
    package, encoding = "rotary-embedding-torch", "RoPE, axial"

    def module(self) -> RotaryEmbedding:
        return RotaryEmbedding(16)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        x = queries(length * 8, dtype).view(1, length, 8, WIDTH)
        return apply_rotary_emb(module.get_axial_freqs(length, 8), x).detach()

    def definition(self) -> tuple[Tensor, Tensor]:
        theta = (10000 ** -(torch.arange(0, 16, 2, dtype=torch.float64) / 16)).repeat_interleave(2)
        rows, columns = (torch.arange(n, dtype=torch.float64)[:, None] * theta for n in (5, 8))
        wanted = torch.cat((rows[:, None].expand(5, 8, 16), columns.expand(5, 8, 16)), dim=-1)
        return self.module().get_axial_freqs(5, 8), wanted

    def disturbances(self, module: Any, length: int) -> list[Callable[[], object]]:
        return [*super().disturbances(module, length), lambda: module.get_axial_freqs(length, 8, offsets=(3, 5))]


SUBJECTS = (RoPE(), LearnedRoPE(), XPos(), Axial())
