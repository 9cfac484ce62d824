"""PoPE-pytorch, on the path that its functions take on a CPU."""

from typing import Any, ClassVar

import torch
from PoPE_pytorch import AxialPoPE, PoPE, flash_attn_with_pope
from torch import Tensor

from benchmarks import formulas
from benchmarks.contracts import Subject, queries
from benchmarks.subjects.attention import HEADS, WIDTH, TokenAttention


class Polar(Subject):
    package, encoding, shift_invariant = "PoPE-pytorch", "PoPE", True
    options: ClassVar[dict[str, Any]] = {
        "inv_freqs, a tensor": lambda: PoPE(4, heads=2, inv_freqs=torch.ones(4))(8),
        "bias_uniform_init=True": lambda: PoPE(4, heads=2, bias_uniform_init=True),
        "inv_freqs, a list": lambda: PoPE(4, heads=2, inv_freqs=[1.0, 0.1, 0.01, 0.001])(8),
    }

    def module(self) -> PoPE:
        return PoPE(WIDTH, heads=1)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        turned, _ = module.apply_pope_to_qk(module(length), queries(length, dtype), queries(length, dtype))
        return turned.detach()

    def definition(self) -> tuple[Tensor, Tensor]:
        q, k, pope = queries(40), queries(40, seed=1), self.module()
        turned, keys = pope.apply_pope_to_qk(pope(40), q, k)
        return (turned @ keys.mT).detach(), formulas.pope_scores(q, k)

    def model(self) -> TokenAttention:
        return TokenAttention(PoPE(WIDTH, heads=HEADS))

    def logits(self, model: Any, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        q, k, v = model.qkv(tokens)
        turns = model.position(tokens.shape[1] if positions is None else positions)
        return flash_attn_with_pope(q, k, v, pos_emb=turns, causal=True).transpose(1, 2).flatten(2)

    def padded(self, model: Any, tokens: Tensor, pad: int) -> Tensor:
        filled = torch.nn.functional.pad(tokens, (pad, 0))
        q, k, v = model.qkv(filled)
        real = torch.arange(filled.shape[1]).expand(len(filled), -1) >= pad
        turns = model.position(filled.shape[1])
        mixed = flash_attn_with_pope(q, k, v, pos_emb=turns, causal=True, mask=real)
        return mixed.transpose(1, 2).flatten(2)[:, pad:]

    def decoded(self, model: Any, tokens: Tensor, parts: list[tuple[int, int]]) -> list[Tensor]:
        q, k, v = model.qkv(tokens)
        rows = []
        for a, b in parts:
            turns = model.position(b)
            mixed = flash_attn_with_pope(q[:, :, a:b], k[:, :, :b], v[:, :, :b], pos_emb=turns, causal=True)
            rows.append(mixed.transpose(1, 2).flatten(2))
        return rows


class Axial(Subject):
    package, encoding = "PoPE-pytorch", "PoPE, axial"
    options: ClassVar[dict[str, Any]] = {
        "bias_uniform_init=True": lambda: AxialPoPE(8, heads=2, axial_dims=(4, 4), bias_uniform_init=True),
    }

    def module(self) -> AxialPoPE:
        return AxialPoPE(WIDTH, heads=1, axial_dims=(WIDTH // 2, WIDTH // 2))

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        turned, _ = module.apply_pope_to_qk(module((length // 2, 2)), queries(length, dtype), queries(length, dtype))
        return turned.detach()


SUBJECTS = (Polar(), Axial())
