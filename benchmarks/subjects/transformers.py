"""transformers: small models of the architectures that carry each encoding, and the functions behind them."""

from typing import Any, ClassVar

import torch
import transformers as theirs
from torch import Tensor, nn
from transformers.models.bloom import modeling_bloom
from transformers.models.falcon import modeling_falcon
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.mpt import modeling_mpt
from transformers.models.t5.modeling_t5 import T5Attention

from benchmarks import formulas
from benchmarks.contracts import FAR, VOCABULARY, Subject, queries, spread, typed

theirs.logging.set_verbosity_error()
HEADS = 12


class Model(Subject):
    """A causal language model. Padded on the left as `generate` does: a mask, and positions of real tokens."""

    package = "transformers"
    takes_positions = True

    def build(self) -> nn.Module:
        raise NotImplementedError

    def model(self) -> nn.Module:
        torch.manual_seed(0)
        return spread(self.build())

    def logits(self, model: Any, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        if positions is None:
            return model(tokens).logits
        return model(tokens, position_ids=positions).logits if self.takes_positions else super().logits(model, tokens)

    def padded(self, model: Any, tokens: Tensor, pad: int) -> Tensor:
        filled = nn.functional.pad(tokens, (pad, 0))
        mask = (torch.arange(filled.shape[1]) >= pad).long().expand(len(filled), -1)
        more = {"position_ids": (mask.cumsum(-1) - 1).clamp(min=0)} if self.takes_positions else {}
        return model(filled, attention_mask=mask, **more).logits[:, pad:]

    def decoded(self, model: Any, tokens: Tensor, parts: list[tuple[int, int]]) -> list[Tensor]:
        kept, rows = None, []
        for start, stop in parts:
            out = model(tokens[:, start:stop], past_key_values=kept, use_cache=True)
            kept = out.past_key_values
            rows.append(out.logits)
        return rows


class Learned(Model):
    encoding = "learned (GPT-2)"

    def build(self) -> nn.Module:
        return theirs.GPT2LMHeadModel(
            theirs.GPT2Config(vocab_size=VOCABULARY, n_embd=48, n_layer=2, n_head=4, n_positions=64)
        )


class Sinusoidal(Model):
    encoding = "sinusoidal (XGLM)"

    def build(self) -> nn.Module:
        return theirs.XGLMForCausalLM(
            theirs.XGLMConfig(
                vocab_size=VOCABULARY, d_model=48, num_layers=2, attention_heads=4, ffn_dim=48,
                max_position_embeddings=64,
            )
        )  # fmt: skip

    def module(self) -> nn.Module:
        return theirs.models.xglm.modeling_xglm.XGLMSinusoidalPositionalEmbedding(2 * FAR, 48)

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        typed(module, dtype)
        return module(torch.arange(length)[None])


class RoPE(Model):
    encoding, shift_invariant = "RoPE (Llama)", True
    parameters: ClassVar[dict[str, Any]] = {"rope_type": "default"}
    longest, depth = 2 * FAR, 2

    def config(self, **more: Any) -> Any:
        return theirs.LlamaConfig(
            vocab_size=VOCABULARY, num_hidden_layers=self.depth, intermediate_size=48,
            max_position_embeddings=self.longest,
            rope_parameters={"rope_theta": 10000.0, **self.parameters}, **more,
        )  # fmt: skip

    def build(self) -> nn.Module:
        return theirs.LlamaForCausalLM(self.config(hidden_size=48, num_attention_heads=4))

    def module(self) -> nn.Module:
        return LlamaRotaryEmbedding(self.config(hidden_size=64, num_attention_heads=1))

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        q = queries(length, dtype)
        return apply_rotary_pos_emb(q, q, *module(q, torch.arange(length)[None]))[0]

    def definition(self) -> tuple[Tensor, Tensor]:
        return self.values(self.module(), 64, torch.float32), formulas.rope(queries(64), halves=True)


class Dynamic(RoPE):
    encoding, shift_invariant = "RoPE, dynamic NTK (Llama)", False
    # one layer: in deeper models every hidden state changes with the length, and no cache can follow
    parameters, longest, depth = {"rope_type": "dynamic", "factor": 4.0}, 16, 1

    def definition(self) -> tuple[Tensor, Tensor]:
        """At length n past the trained length L: base (s n / L - (s - 1))^(d / (d - 2)) times as large."""
        base = 10000.0 * (4.0 * 64 / 16 - 3.0) ** (64 / 62)
        theta = base ** -(torch.arange(0, 64, 2, dtype=torch.float64) / 64)
        return self.values(self.module(), 64, torch.float32), formulas.rope(queries(64), halves=True, theta=theta)


class Yarn(RoPE):
    encoding = "RoPE, YaRN (Llama)"
    parameters: ClassVar[dict[str, Any]] = {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 2048,
    }

    def definition(self) -> tuple[Tensor, Tensor]:
        theta, factor = formulas.yarn(64, 4.0, 2048)
        return self.values(self.module(), 64, torch.float32), formulas.rope(
            queries(64), halves=True, theta=theta
        ) * factor


class Bloom(Model):
    encoding, takes_positions = "ALiBi (BLOOM)", False
    theirs = staticmethod(modeling_bloom.build_alibi_tensor)

    def build(self) -> nn.Module:
        return theirs.BloomForCausalLM(
            theirs.BloomConfig(vocab_size=VOCABULARY, hidden_size=48, n_layer=2, n_head=HEADS)
        )

    def module(self) -> Any:
        return self.theirs

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        return module(torch.ones(1, length, dtype=torch.long), HEADS, dtype)[:, 0]

    def definition(self) -> tuple[Tensor, Tensor]:
        """It adds slope times the key's position, which softmax cannot tell from minus slope times the distance."""
        computed = self.values(self.module(), 64, torch.float32)
        return computed - computed[:, -1:], formulas.alibi(HEADS, 64)


class Falcon(Bloom):
    encoding, theirs = "ALiBi (Falcon)", staticmethod(modeling_falcon.build_alibi_tensor)

    def build(self) -> nn.Module:
        return theirs.FalconForCausalLM(
            theirs.FalconConfig(
                vocab_size=VOCABULARY, hidden_size=48, num_hidden_layers=2, num_attention_heads=HEADS, alibi=True,
                multi_query=False, new_decoder_architecture=False,
            )
        )  # fmt: skip


class Mpt(Bloom):
    encoding, theirs = "ALiBi (MPT)", staticmethod(modeling_mpt.build_mpt_alibi_tensor)

    def build(self) -> nn.Module:
        return theirs.MptForCausalLM(
            theirs.MptConfig(vocab_size=VOCABULARY, d_model=48, n_layers=2, n_heads=HEADS, max_seq_len=64)
        )

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        typed(module, dtype)
        return module(HEADS, length)[:, 0]


class T5(Model):
    """The decoder, after an encoder that always reads the same."""

    encoding, takes_positions = "T5", False

    def config(self) -> Any:
        return theirs.T5Config(
            vocab_size=VOCABULARY, d_model=48, d_kv=12, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0
        )

    def build(self) -> nn.Module:
        return theirs.T5ForConditionalGeneration(self.config())

    def _run(self, model: Any, tokens: Tensor, **more: Any) -> Any:
        source = torch.arange(3, 9).expand(len(tokens), -1)
        return model(input_ids=source, decoder_input_ids=tokens, **more)

    def logits(self, model: Any, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        return self._run(model, tokens).logits if positions is None else super().logits(model, tokens, positions)

    def padded(self, model: Any, tokens: Tensor, pad: int) -> Tensor:
        filled = nn.functional.pad(tokens, (pad, 0))
        mask = (torch.arange(filled.shape[1]) >= pad).long().expand(len(filled), -1)
        return self._run(model, filled, decoder_attention_mask=mask).logits[:, pad:]

    def decoded(self, model: Any, tokens: Tensor, parts: list[tuple[int, int]]) -> list[Tensor]:
        kept, rows = None, []
        for start, stop in parts:
            out = self._run(model, tokens[:, start:stop], past_key_values=kept, use_cache=True)
            kept = out.past_key_values
            rows.append(out.logits)
        return rows

    def module(self) -> nn.Module:
        torch.manual_seed(0)
        config = self.config()
        config.is_decoder = True
        return spread(T5Attention(config, has_relative_attention_bias=True, layer_idx=0))

    def values(self, module: Any, length: int, dtype: torch.dtype) -> Tensor:
        typed(module, dtype)
        return module.compute_bias(1, length, past_seen_tokens=length - 1)[0, :, 0].detach()

    def definition(self) -> tuple[Tensor, Tensor]:
        module = self.module()
        rows = [formulas.t5_buckets(distance) for distance in range(299, -1, -1)]
        return self.values(module, 300, torch.float32), module.relative_attention_bias.weight[rows].T.detach()


SUBJECTS = (Learned(), Sinusoidal(), RoPE(), Dynamic(), Yarn(), Bloom(), Mpt(), Falcon(), T5())
