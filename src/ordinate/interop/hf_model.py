"""Our transformer as a transformers model with equal logits: of an architecture that has the same blocks.

The model's own positions are used where they are the encoding's: rope in Qwen3 and Llama, learned in GPT-2. Any other
encoding is attached to it. BLOOM has alibi, but beside a norm of its embeddings that ours do not have.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.interop.attach import attach_hf
from ordinate.interop.installed import transformers
from ordinate.interop.rope_parameters import to_hf
from ordinate.model.config import ModelConfig
from ordinate.model.transformer import Transformer

CLOSE = 1e-4  # of the largest logit: float32 sums in another order


def as_hf(model: Transformer, *, end: int | None = None) -> Any:
    """A transformers model with the same weights and the same logits. `end`: the token that begins and ends texts.

    `config.ordinate` describes an attached encoding; without one, transformers alone loads the model.
    """
    host = _host(model.config)
    theirs = host(model, end).eval()
    _verify(model, theirs)
    return theirs


def _host(config: ModelConfig) -> Callable[[Transformer, int | None], Any]:
    """The architecture that has these blocks."""
    gated = config.norm == "rms" and config.activation == "swiglu" and not config.bias
    plain = config.norm == "layer" and config.activation == "gelu" and config.bias and not config.qk_norm
    whole_heads = config.kv_heads == config.heads and config.heads * config.head_dim == config.dim
    text = config.causal and config.readout == "tokens" and config.classes == config.vocabulary
    if text and config.norm_place == "pre" and config.residual:
        if gated:
            return _qwen3_or_llama
        if plain and whole_heads:
            return _gpt2
    raise InputError(
        "transformers has no architecture with exactly these blocks: it has causal ones with norm=rms,"
        " activation=swiglu and bias=false (Qwen3, Llama), and with norm=layer, activation=gelu and bias=true (GPT-2),"
        " all with norm_place=pre and residual=true"
    )


def _qwen3_or_llama(model: Transformer, end: int | None) -> Any:
    """Qwen3 is Llama with norms of queries and keys."""
    hf, c = transformers(), model.config
    name = "Qwen3" if c.qk_norm else "Llama"
    rope = _rope_parameters(model)
    config = getattr(hf, f"{name}Config")(
        vocab_size=c.vocabulary, hidden_size=c.dim, intermediate_size=c.hidden, num_hidden_layers=c.layers,
        num_attention_heads=c.heads, num_key_value_heads=c.kv_heads, head_dim=c.head_dim,
        max_position_embeddings=c.length, rms_norm_eps=1e-6, tie_word_embeddings=c.tied, bos_token_id=end,
        eos_token_id=end, pad_token_id=None, **({} if rope is None else {"rope_parameters": rope}),
    )  # fmt: skip
    ours, weights = model.state_dict(), {}
    sizes = [c.heads * c.head_dim, c.kv_heads * c.head_dim, c.kv_heads * c.head_dim]
    for layer in range(c.layers):
        block, theirs = f"blocks.{layer}.", f"model.layers.{layer}."
        for part, rows in zip("qkv", ours[f"{block}attention.inputs.weight"].split(sizes), strict=True):
            weights[f"{theirs}self_attn.{part}_proj.weight"] = rows
        gate, up = ours[f"{block}wide.weight"].chunk(2)
        weights |= {f"{theirs}mlp.gate_proj.weight": gate, f"{theirs}mlp.up_proj.weight": up}
        names = {
            "attention.output": "self_attn.o_proj", "narrow": "mlp.down_proj", "attention_norm": "input_layernorm",
            "feed_norm": "post_attention_layernorm",
        }  # fmt: skip
        if c.qk_norm:
            names |= {f"attention.{side}_norm": f"self_attn.{side}_norm" for side in "qk"}
        weights |= {f"{theirs}{new}.weight": ours[f"{block}{old}.weight"] for old, new in names.items()}
    weights |= {"model.embed_tokens.weight": ours["embedding.weight"], "model.norm.weight": ours["norm.weight"]}
    weights["lm_head.weight"] = ours["embedding.weight" if c.tied else "head.weight"]
    theirs = _filled(getattr(hf, f"{name}ForCausalLM"), config, weights)
    return theirs if rope is not None else _attached(model, theirs)


def _gpt2(model: Transformer, end: int | None) -> Any:
    hf, c = transformers(), model.config
    rows = _learned_rows(model)
    config = hf.GPT2Config(
        vocab_size=c.vocabulary, n_embd=c.dim, n_layer=c.layers, n_head=c.heads, n_inner=c.hidden, bos_token_id=end,
        n_positions=c.length if rows is None else len(rows), activation_function="gelu", layer_norm_epsilon=1e-5,
        tie_word_embeddings=c.tied, eos_token_id=end,
    )  # fmt: skip
    names = {
        "attention.inputs": "attn.c_attn", "attention.output": "attn.c_proj", "wide": "mlp.c_fc",
        "narrow": "mlp.c_proj", "attention_norm": "ln_1", "feed_norm": "ln_2",
    }  # fmt: skip
    ours, weights = model.state_dict(), {}
    for layer in range(c.layers):
        for old, new in names.items():
            for kind in ("weight", "bias"):
                weight = ours[f"blocks.{layer}.{old}.{kind}"]
                transposed = kind == "weight" and "norm" not in old  # GPT-2 keeps the transpose
                weights[f"transformer.h.{layer}.{new}.{kind}"] = weight.t() if transposed else weight
    weights |= {f"transformer.ln_f.{kind}": ours[f"norm.{kind}"] for kind in ("weight", "bias")}
    weights["transformer.wte.weight"] = ours["embedding.weight"]
    weights["lm_head.weight"] = ours["embedding.weight" if c.tied else "head.weight"]
    weights["transformer.wpe.weight"] = torch.zeros(c.length, c.dim) if rows is None else rows
    theirs = _filled(hf.GPT2LMHeadModel, config, weights)
    return theirs if rows is not None else _attached(model, theirs)


def _rope_parameters(model: Transformer) -> dict[str, Any] | None:
    """Those that rotate as the model's only encoding does; None if it has another."""
    part = model.parts[0]
    if len(model.parts) > 1 or part.name != "rope" or any(len(one.parts()) > 1 for one in model.per_layer):
        return None
    try:
        return to_hf(part)
    except InputError:  # transformers has no parameters for it, such as interleaved pairs
        return None


def _learned_rows(model: Transformer) -> Tensor | None:
    """The table of the model's only encoding, if it is GPT-2's."""
    part = model.parts[0]
    own = getattr(part, "parameters_given", {})
    plain = own.get("beyond", "refuse") == "refuse" and not own.get("scale_tokens", False)
    if len(model.parts) > 1 or part.name != "learned" or not plain:
        return None
    table: Tensor = model.state_dict()["encodings.0.table"]
    return table


def _filled(kind: Any, config: Any, weights: dict[str, Tensor]) -> Any:
    theirs = kind(config)
    theirs.load_state_dict({name: weight.detach().float().contiguous().cpu() for name, weight in weights.items()})
    return theirs


def _attached(model: Transformer, theirs: Any) -> Any:
    c = model.config
    texts = [c.encoding] if isinstance(c.encoding, str) else list(c.encoding)
    attached = attach_hf(theirs, texts, length=c.length, token_size=c.token_std)
    attached.encodings.load_state_dict(model.encodings.state_dict())
    return theirs


@torch.no_grad()
def _verify(model: Transformer, theirs: Any) -> None:
    """Compare logits on random tokens, and refuse a model that differs."""
    c, source = model.config, torch.Generator().manual_seed(0)
    tokens = torch.randint(c.vocabulary, (1, min(c.length, 256)), generator=source)
    device, training = model.embedding.weight.device, model.training
    expected = model.eval()(tokens.to(device)).float().cpu()
    model.train(training)
    found = theirs(tokens).logits.float()
    off = float((found - expected).abs().max() / expected.abs().max())
    if not off < CLOSE:
        raise InputError(
            f"as a {type(theirs).__name__} of transformers, this model with {c.encoding} gives other logits (by"
            f" {off:.1e} of the largest): it cannot be exported exactly"
        )
