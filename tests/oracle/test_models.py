"""Whole models with copied weights: the logits of Qwen3 (rope), GPT-2 (learned) and BLOOM (alibi)."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import BloomConfig, BloomForCausalLM, GPT2Config, GPT2LMHeadModel, Qwen3Config, Qwen3ForCausalLM

from ordinate import ModelConfig, Transformer, preset

compare = settings(deadline=None, derandomize=True, max_examples=8)
layer_counts, head_counts, halves = st.integers(1, 3), st.integers(1, 6), st.integers(1, 10)
lengths = st.sampled_from([1, 17, 230])  # long sequences take another path through attention

# float32 sums in another order, through three layers; logits here are of the order of ten
rounding = {"atol": 5e-4, "rtol": 1e-4}


@torch.no_grad()
def stirred(model: nn.Module, names: dict[str, str]) -> dict[str, Tensor]:
    """Weights as after training (no norm at 1, no bias at 0), under the names that ours have."""
    model.eval()
    result = {}
    for name, weight in model.named_parameters():
        weight.add_(0.2 * torch.randn_like(weight))
        for old, new in names.items():
            name = name.replace(old, new)
        result[name] = weight
    return result


def same_logits(config: ModelConfig, weights: dict[str, Tensor], theirs: nn.Module, length: int, *, ids: bool) -> None:
    """Equal on whole sequences, and on the real tokens of padded ones (`ids`: theirs must be told where they stand)."""
    ours = Transformer(config).eval()
    ours.load_state_dict(weights, strict=True)
    tokens = torch.randint(config.vocabulary, (3, length))
    padding_mask = torch.arange(length) >= torch.tensor([0, length // 3, length - 1])[:, None]
    places = {"position_ids": (padding_mask.long().cumsum(dim=1) - 1).clamp(min=0)} if ids else {}
    with torch.no_grad():
        assert_close(ours(tokens), theirs(tokens).logits, **rounding)
        padded = theirs(tokens, attention_mask=padding_mask.long(), **places).logits
        assert_close(ours(tokens, padding_mask=padding_mask)[padding_mask], padded[padding_mask], **rounding)


@compare
@given(layer_counts, st.integers(1, 3), st.integers(1, 3), halves, st.sampled_from([1e4, 1e6]), lengths)
def test_qwen3(layers: int, key_heads: int, share: int, half: int, base: float, length: int) -> None:
    """The modern preset with rope: RMSNorm, SwiGLU, QK-norm, grouped queries, a head width of its own, tied."""
    heads = key_heads * share
    theirs = Qwen3ForCausalLM(
        Qwen3Config(
            hidden_size=24, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=key_heads,
            head_dim=2 * half, intermediate_size=40, vocab_size=50, tie_word_embeddings=True,
            rope_parameters={"rope_type": "default", "rope_theta": base},
        )
    )  # fmt: skip
    weights = stirred(theirs, {
        "model.": "", "embed_tokens": "embedding", "layers.": "blocks.", "self_attn": "attention", "o_proj": "output",
        "mlp.down_proj": "narrow", "input_layernorm": "attention_norm", "post_attention_layernorm": "feed_norm",
    })  # fmt: skip
    for block in (f"blocks.{layer}" for layer in range(layers)):
        inputs = [weights.pop(f"{block}.attention.{part}_proj.weight") for part in "qkv"]
        weights[f"{block}.attention.inputs.weight"] = torch.cat(inputs)
        gate_and_value = [weights.pop(f"{block}.mlp.{part}_proj.weight") for part in ("gate", "up")]
        weights[f"{block}.wide.weight"] = torch.cat(gate_and_value)
    config = preset(
        "modern", encoding=f"rope(base={base})", dim=24, layers=layers, heads=heads, kv_heads=key_heads,
        head_dim=2 * half, hidden=40, vocabulary=50,
    )  # fmt: skip
    same_logits(config, weights, theirs, length, ids=True)


@compare
@given(layer_counts, head_counts, halves, lengths)
def test_gpt2(layers: int, heads: int, half: int, length: int) -> None:
    """The classic preset with learned positions, tied; GPT-2's linear layers are stored transposed."""
    dim = 2 * half * heads
    theirs = GPT2LMHeadModel(
        GPT2Config(n_embd=dim, n_layer=layers, n_head=heads, n_positions=256, vocab_size=50, activation_function="gelu")
    )
    weights = stirred(theirs, {
        "transformer.h.": "blocks.", "transformer.": "", "wte": "embedding", "wpe.weight": "encodings.0.table",
        "attn.c_attn": "attention.inputs", "attn.c_proj": "attention.output", "mlp.c_fc": "wide",
        "mlp.c_proj": "narrow", "ln_1": "attention_norm", "ln_2": "feed_norm", "ln_f": "norm",
    })  # fmt: skip
    linear = ("inputs.weight", "output.weight", "wide.weight", "narrow.weight")
    weights = {name: w.t() if name.endswith(linear) else w for name, w in weights.items()}
    config = preset(
        "classic", encoding="learned", dim=dim, layers=layers, heads=heads, length=256, vocabulary=50, tied=True
    )
    same_logits(config, weights, theirs, length, ids=True)


@compare
@given(layer_counts, head_counts, halves, lengths)
def test_bloom(layers: int, heads: int, half: int, length: int) -> None:
    """The classic preset with alibi, tied; without BLOOM's norm on embeddings, with the exact GELU."""
    width = 2 * half
    dim = width * heads
    theirs = BloomForCausalLM(BloomConfig(hidden_size=dim, n_layer=layers, n_head=heads, vocab_size=50))
    theirs.transformer.word_embeddings_layernorm = nn.Identity()
    for block in theirs.transformer.h:
        block.mlp.gelu_impl = nn.GELU()
    weights = stirred(theirs, {
        "transformer.h.": "blocks.", "transformer.": "", "word_embeddings": "embedding", "ln_f": "norm",
        "self_attention.query_key_value": "attention.inputs", "self_attention.dense": "attention.output",
        "mlp.dense_h_to_4h": "wide", "mlp.dense_4h_to_h": "narrow",
        "input_layernorm": "attention_norm", "post_attention_layernorm": "feed_norm",
    })  # fmt: skip
    for name in weights:
        if ".inputs." in name:  # theirs has q, k and v of one head side by side
            weights[name] = weights[name].unflatten(0, (heads, 3, width)).transpose(0, 1).flatten(0, 2)
    config = preset("classic", encoding="alibi", dim=dim, layers=layers, heads=heads, vocabulary=50, tied=True)
    same_logits(config, weights, theirs, length, ids=False)
