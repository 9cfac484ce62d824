"""x-transformers: the switches of its `Decoder`, and the modules behind them."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from x_transformers import Decoder, TransformerWrapper
from x_transformers import x_transformers as theirs

from benchmarks import formulas
from benchmarks.contracts import FAR, VOCABULARY, NotApplicableError, Subject, queries, spread, typed

DIM, HEADS, WIDTH = 64, 4, 16


def wrapper(switches: dict[str, Any], *, absolute: bool = False, **more: Any) -> nn.Module:
    torch.manual_seed(0)
    layers = Decoder(dim=DIM, depth=2, heads=HEADS, attn_dim_head=WIDTH, verbose=False, **switches)
    return TransformerWrapper(
        num_tokens=VOCABULARY, max_seq_len=64, use_abs_pos_emb=absolute, attn_layers=layers, **more
    )


class Switched(Subject):
    """A model with one of the switches on."""

    package = "x-transformers"
    switches: ClassVar[dict[str, Any]] = {}
    wrapping: ClassVar[dict[str, Any]] = {}
    variants: ClassVar[dict[str, dict[str, Any]]] = {}  # further switches, by what they are called

    def __init__(self) -> None:
        self.options = {name: self._use(more) for name, more in self.variants.items()}

    def _use(self, more: dict[str, Any]) -> Callable[[], object]:
        return lambda: wrapper(self.switches | more, **self.wrapping)(torch.ones(1, 8, dtype=torch.long))

    def model(self) -> nn.Module:
        return spread(wrapper(self.switches, **self.wrapping))

    def logits(self, model: Any, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        return model(tokens) if positions is None else model(tokens, pos=positions)

    def padded(self, model: Any, tokens: Tensor, pad: int) -> Tensor:
        filled = nn.functional.pad(tokens, (pad, 0))
        return model(filled, seq_start_pos=torch.full((len(tokens),), pad))[:, pad:]

    def decoded(self, model: Any, tokens: Tensor, parts: list[tuple[int, int]]) -> list[Tensor]:
        """All tokens so far go in with the cache, and the logits of the last come out: one at a time, by its design."""
        kept, rows = None, []
        for start, stop in parts:
            new = []
            for end in range(stop if start == 0 else start + 1, stop + 1):
                logits, kept = model(tokens[:, :end], cache=kept, return_intermediates=True)
                new.append(logits)
            rows.append(torch.cat(new, dim=1))
        return rows


class Learned(Switched):
    encoding, wrapping = "learned", {"absolute": True}

    def module(self) -> nn.Module:
        torch.manual_seed(0)
        return theirs.AbsolutePositionalEmbedding(DIM, 2 * FAR)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        return module(torch.zeros(1, length, DIM, dtype=dtype)).detach()


class Sinusoidal(Switched):
    encoding, wrapping = "sinusoidal, scaled", {"absolute": True, "scaled_sinu_pos_emb": True}

    def module(self) -> nn.Module:
        return theirs.ScaledSinusoidalEmbedding(DIM)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        return module(torch.zeros(1, length, DIM, dtype=dtype)).detach()

    def definition(self) -> tuple[Tensor, Tensor]:
        """Sines first, then cosines, all over sqrt(d) at the start."""
        table = formulas.sinusoidal(64, DIM)
        wanted = torch.cat((table[:, 0::2], table[:, 1::2]), dim=-1) * DIM**-0.5
        return self.values(self.module(), 64, torch.float32), wanted


class RoPE(Switched):
    encoding, switches, shift_invariant = "RoPE", {"rotary_pos_emb": True}, True
    variants: ClassVar[dict[str, Any]] = {
        "rotary_interpolation_factor": {"rotary_interpolation_factor": 2.0},
        "rotary_base_rescale_factor": {"rotary_base_rescale_factor": 2.0},
    }
    settings: ClassVar[dict[str, Any]] = {}

    def module(self) -> nn.Module:
        return theirs.RotaryEmbedding(64, **self.settings)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        return theirs.apply_rotary_pos_emb(queries(length, dtype), *module.forward_from_seq_len(length))

    def definition(self) -> tuple[Tensor, Tensor]:
        return self.values(self.module(), 64, torch.float32), formulas.rope(queries(64))


class XPos(RoPE):
    encoding, switches, settings = "xPos", {"rotary_xpos": True}, {"use_xpos": True}
    variants: ClassVar[dict[str, Any]] = {"rotary_xpos_scale_base": {"rotary_xpos_scale_base": 256}}

    def definition(self) -> tuple[Tensor, Tensor]:
        q, k = queries(64), queries(64, seed=1)
        angle, scale = self.module().forward_from_seq_len(64)
        turn = theirs.apply_rotary_pos_emb
        return turn(q, angle, scale) @ turn(k, angle, scale**-1).mT, formulas.xpos_scores(q, k)


class PoPE(Switched):
    encoding, switches, shift_invariant = "PoPE", {"polar_pos_emb": True}, True
    variants: ClassVar[dict[str, Any]] = {"polar_bias_uniform_init=True": {"polar_bias_uniform_init": True}}

    def module(self) -> nn.Module:
        return theirs.PolarEmbedding(64, 1)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        return theirs.apply_polar_pos_emb(queries(length, dtype), module(torch.arange(length))[0])

    def definition(self) -> tuple[Tensor, Tensor]:
        q, k = queries(40), queries(40, seed=1)
        angle, bias = self.module()(torch.arange(40))
        turn = theirs.apply_polar_pos_emb
        return (turn(q, angle) @ turn(k, angle + bias).mT).detach(), formulas.pope_scores(q, k)

    def shifted(self, model: Any, tokens: Tensor, by: int) -> Tensor:
        return model(tokens, pos=by + torch.arange(tokens.shape[1]))


class Biased(Switched):
    """A bias by distance; for keys alone, so every position has one."""

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        typed(module, dtype)
        return module(1, length)[:, 0].detach()


class ALiBi(Biased):
    encoding, switches, shift_invariant = "ALiBi", {"alibi_pos_bias": True}, True
    variants: ClassVar[dict[str, Any]] = {"alibi_num_heads": {"alibi_num_heads": 2}}

    def module(self) -> nn.Module:
        return theirs.AlibiPositionalBias(12)

    def definition(self) -> tuple[Tensor, Tensor]:
        return self.values(self.module(), 64, torch.float32), formulas.alibi(12, 64)


class T5(Biased):
    encoding, switches = "T5", {"rel_pos_bias": True}
    variants: ClassVar[dict[str, Any]] = {
        "rel_pos_num_buckets": {"rel_pos_num_buckets": 16},
        "rel_pos_max_distance": {"rel_pos_max_distance": 64},
    }

    def module(self) -> nn.Module:
        torch.manual_seed(0)
        return theirs.RelativePositionBias(scale=WIDTH**0.5, causal=True, heads=HEADS)

    def definition(self) -> tuple[Tensor, Tensor]:
        """Its scores are divided by sqrt(head width) where T5's are not; it multiplies the bias to keep their ratio."""
        module = self.module()
        rows = [formulas.t5_buckets(distance) for distance in range(299, -1, -1)]
        return self.values(module, 300, torch.float32), module.relative_attention_bias.weight[rows].T * WIDTH**0.5

    def logits(self, model: Any, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        if positions is not None:
            raise NotApplicableError  # it says so itself: only ALiBi takes positions
        return model(tokens)


class Dynamic(T5):
    encoding, switches = "dynamic position bias", {"dynamic_pos_bias": True}
    variants: ClassVar[dict[str, Any]] = {
        "dynamic_pos_bias_log_distance": {"dynamic_pos_bias_log_distance": True},
        "dynamic_pos_bias_norm": {"dynamic_pos_bias_norm": True},
    }

    def module(self) -> nn.Module:
        torch.manual_seed(0)
        return theirs.DynamicPositionBias(DIM // 4, heads=HEADS, depth=2)

    def definition(self) -> tuple[Tensor, Tensor]:
        raise NotApplicableError


class CoPE(Switched):
    encoding, switches = "CoPE", {"attn_use_cope": True}
    variants: ClassVar[dict[str, Any]] = {
        "cope_talking_heads=True": {"attn_cope_talking_heads": True},
        "cope_soft_onehot_pos=True": {"attn_cope_soft_onehot_pos": True},
    }

    def definition(self) -> tuple[Tensor, Tensor]:
        cope = spread(theirs.CoPE(64, 1, 6))
        q, scores = queries(12), queries(12, seed=1)[..., :12]
        hidden = torch.ones(12, 12, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
        computed = cope(q, scores).detach().masked_fill(hidden, 0.0)
        return computed, formulas.contextual(q, scores, cope.pos_emb.detach())

    def logits(self, model: Any, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        if positions is not None:
            raise NotApplicableError  # it counts by content
        return model(tokens)


class Forgetting(CoPE):
    encoding, switches = "FoX (data-dependent ALiBi)", {"attn_data_dependent_alibi": True}
    variants: ClassVar[dict[str, Any]] = {"data_dependent_alibi_per_row": {"attn_data_dependent_alibi_per_row": True}}

    def module(self) -> nn.Module:
        torch.manual_seed(0)
        return theirs.DataDependentAlibi(64, HEADS)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        if dtype == torch.bfloat16 and next(module.parameters()).dtype == torch.float32:
            raise NotApplicableError  # a linear layer takes its own dtype
        return module(queries(min(length, 1024), dtype)[0])[0, :, -1].detach()  # it builds the whole square

    def definition(self) -> tuple[Tensor, Tensor]:
        module, x = self.module(), queries(12)[0]
        linear = module.to_forget_gates[0]
        wanted = formulas.forgetting(x, linear.weight.detach(), linear.bias.detach())
        return module(x).detach().tril(-1), wanted


SUBJECTS = (
    Learned(), Sinusoidal(), RoPE(), XPos(), PoPE(), ALiBi(), T5(), Dynamic(), CoPE(), Forgetting(),
)  # fmt: skip
