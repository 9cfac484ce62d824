"""Small models of transformers, and ours with the same weights."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

from ordinate import ModelConfig, Transformer
from ordinate.interop import Attached

DIM, HEADS, LAYERS, LENGTH, VOCABULARY = 32, 4, 2, 64, 50
sizes: dict[str, Any] = dict(
    hidden_size=DIM, num_attention_heads=HEADS, num_hidden_layers=LAYERS, max_position_embeddings=LENGTH,
    vocab_size=VOCABULARY, intermediate_size=48, pad_token_id=0,
)  # fmt: skip


def llama(**settings: Any) -> LlamaForCausalLM:
    """A Llama with grouped queries, its weights spread as after training; it never ends by itself."""
    config = LlamaConfig(**sizes | dict(num_key_value_heads=2, bos_token_id=None, eos_token_id=None) | settings)
    return stirred(LlamaForCausalLM(config))


def bert(**settings: Any) -> BertModel:
    """A BERT without its norm on embeddings and its vectors of segments, which ours does not have."""
    model = BertModel(BertConfig(**sizes | dict(layer_norm_eps=1e-5) | settings), add_pooling_layer=False)
    model.embeddings.LayerNorm = nn.Identity()
    stirred(model).embeddings.token_type_embeddings.weight.data.zero_()
    return model


@torch.no_grad()
def stirred(model: Any) -> Any:
    for weight in model.parameters():
        weight.add_(0.2 * torch.randn_like(weight))
    return model.eval()


def renamed(model: nn.Module, names: dict[str, str]) -> dict[str, Tensor]:
    """The weights of a model under the names that ours have; those of the encodings are shared already."""
    result = {}
    for name, weight in model.named_parameters():
        if "ordinate." in name:
            continue
        for old, new in names.items():
            name = name.replace(old, new)
        result[name] = weight
    return result


def ours_as_llama(theirs: LlamaForCausalLM, attached: Attached) -> Transformer:
    """Our transformer with Llama's weights and the very encodings that are attached to it."""
    weights = renamed(theirs, {
        "model.": "", "embed_tokens": "embedding", "layers.": "blocks.", "self_attn": "attention", "o_proj": "output",
        "mlp.down_proj": "narrow", "input_layernorm": "attention_norm", "post_attention_layernorm": "feed_norm",
        "lm_head": "head",
    })  # fmt: skip
    for block in (f"blocks.{layer}" for layer in range(LAYERS)):
        inputs = [weights.pop(f"{block}.attention.{part}_proj.weight") for part in "qkv"]
        weights[f"{block}.attention.inputs.weight"] = torch.cat(inputs)
        weights[f"{block}.wide.weight"] = torch.cat(
            [weights.pop(f"{block}.mlp.{part}_proj.weight") for part in ("gate", "up")]
        )
    config = model_config(
        kv_heads=theirs.config.num_key_value_heads, hidden=48, norm="rms", activation="swiglu", bias=False
    )
    return loaded(config, attached, weights)


def ours_as_bert(theirs: BertModel, attached: Attached) -> Transformer:
    """Our transformer with BERT's weights; its head is the identity on the last hidden states."""
    weights = renamed(theirs, {
        "embeddings.word_embeddings": "embedding", "encoder.layer.": "blocks.",
        "attention.output.dense": "attention.output", "attention.output.LayerNorm": "attention_norm",
        "intermediate.dense": "wide", "output.LayerNorm": "feed_norm",
    })  # fmt: skip
    weights = {
        name.replace("output.dense", "narrow"): weight for name, weight in weights.items() if "token_type" not in name
    }
    for kind in ("weight", "bias"):
        for block in (f"blocks.{layer}" for layer in range(LAYERS)):
            inputs = [weights.pop(f"{block}.attention.self.{part}.{kind}") for part in ("query", "key", "value")]
            weights[f"{block}.attention.inputs.{kind}"] = torch.cat(inputs)
    weights["head.weight"] = torch.eye(DIM)
    return loaded(model_config(hidden=48, norm_place="post", causal=False, classes=DIM), attached, weights)


def model_config(**settings: Any) -> ModelConfig:
    return ModelConfig(
        vocabulary=VOCABULARY,
        encoding="none",
        dim=DIM,
        heads=HEADS,
        layers=LAYERS,
        length=LENGTH,
        dropout=0.0,
        **settings,
    )


def loaded(config: ModelConfig, attached: Attached, weights: dict[str, Tensor]) -> Transformer:
    ours = Transformer(config, attached.per_layer).eval()
    missing, unknown = ours.load_state_dict(weights, strict=False)
    assert not unknown and all(name.startswith("encodings.") for name in missing), (missing, unknown)
    return ours


def padded(length: int = 12) -> tuple[Tensor, Tensor]:
    """Tokens, and which of them are real: padding on the left, as text is generated from."""
    tokens = torch.randint(3, VOCABULARY, (3, length))
    padding_mask = torch.arange(length) >= torch.tensor([0, length // 3, length - 2])[:, None]
    return tokens.masked_fill(~padding_mask, 0), padding_mask
