"""Models of transformers beside Llama and BERT: their own positions go, and come back as ours."""

from typing import Any

import pytest
import torch
import transformers as hf
from torch.testing import assert_close

from ordinate import InputError, Positions, attach_hf, encodings, from_hf

from .copied import sizes, stirred

grouped = sizes | dict(num_key_value_heads=2, bos_token_id=None, eos_token_id=None)
plain = {name: value for name, value in grouped.items() if name != "num_key_value_heads"}
ROTARY: dict[str, dict[str, Any]] = {
    "Llama": grouped,
    "Llama (yarn)": grouped
    | dict(rope_parameters=dict(rope_type="yarn", rope_theta=1e4, factor=4.0, original_max_position_embeddings=16)),
    "Qwen2": grouped,
    "Qwen3": grouped | dict(head_dim=16),
    "Mistral": grouped | dict(sliding_window=None),
    "Mixtral": grouped | dict(sliding_window=None),
    "Gemma": grouped | dict(head_dim=16),
    "Granite": grouped | dict(attention_multiplier=0.5),
    "Olmo2": grouped,
    "Phi": grouped | dict(partial_rotary_factor=0.5),
    "GPTNeoX": plain | dict(rotary_pct=0.25),
    "Glm": grouped | dict(head_dim=8),
    "Cohere": grouped,
    "Starcoder2": grouped | dict(sliding_window=None),
}
TABLES: dict[str, dict[str, Any]] = {
    "GPT2": dict(n_embd=32, n_layer=2, n_head=4, vocab_size=50, n_positions=64, bos_token_id=None, eos_token_id=None),
    "OPT": plain | dict(ffn_dim=48, word_embed_proj_dim=32),
    "Bert": plain,
    "Roberta": plain | dict(pad_token_id=1),
    "Electra": plain,
}


def model(name: str, layers: int = 2) -> Any:
    settings = {**ROTARY, **TABLES}[name]
    depth = "n_layer" if "n_layer" in settings else "num_hidden_layers"
    config = getattr(hf, f"{name.partition(' ')[0]}Config")(**settings | {depth: layers})
    return stirred(hf.AutoModel.from_config(config))


@torch.no_grad()
@pytest.mark.parametrize("name", [*ROTARY, *TABLES])
def test_without_an_encoding_order_does_not_matter(name: str) -> None:
    """One layer of attention that knows no positions gives the last token the same from its past in any order."""
    theirs, tokens = model(name, layers=1), torch.randint(3, 50, (2, 9))
    swapped = tokens[:, [4, 1, 2, 7, 0, 5, 6, 3, 8]]
    assert (theirs(tokens)[0][:, -1] - theirs(swapped)[0][:, -1]).abs().max() > 1e-3
    attach_hf(theirs, "none")
    assert_close(theirs(tokens)[0][:, -1], theirs(swapped)[0][:, -1], atol=1e-4, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("name", ROTARY)
def test_their_own_rotation_comes_back(name: str) -> None:
    theirs, tokens = model(name), torch.randint(3, 50, (3, 20))
    padding_mask = (torch.arange(20) >= torch.tensor([0, 5, 18])[:, None]).long()
    expected, masked = theirs(tokens)[0], theirs(tokens, attention_mask=padding_mask)[0][padding_mask.bool()]
    attach_hf(theirs, from_hf(theirs.config))
    assert_close(theirs(tokens)[0], expected, atol=1e-4, rtol=1e-4)
    assert_close(theirs(tokens, attention_mask=padding_mask)[0][padding_mask.bool()], masked, atol=1e-4, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("name", ["SmolLM3", "Cohere2", "Exaone4"])
def test_layers_that_do_not_rotate_stay_so(name: str) -> None:
    """Which ones do not, their code knows: a rotation that all layers share would be another model, in silence."""
    settings = {"SmolLM3": dict(no_rope_layers=[1, 0]), "Cohere2": dict(layer_types=["full_attention"] * 2)}
    config = getattr(hf, f"{name}Config")(**grouped | settings.get(name, dict(layer_types=["full_attention"] * 2)))
    theirs, tokens = stirred(hf.AutoModel.from_config(config)), torch.randint(3, 50, (3, 20))
    expected = theirs(tokens)[0]
    if name == "SmolLM3":
        with pytest.raises(InputError, match="layers 1 of SmolLM3Config do not rotate, the others do"):
            from_hf(config)
    per_layer = [from_hf(config, layer=layer) for layer in range(2)]
    assert {part.name for part in per_layer} == ({"rope", "none"} if name == "SmolLM3" else {"none"})
    attach_hf(theirs, per_layer)
    assert_close(theirs(tokens)[0], expected, atol=1e-4, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("name", ["GPTNeoX", "GPTBigCode", "OPT"])
@pytest.mark.parametrize("encoding", ["fox", "sinusoidal+t5"])
def test_generation_with_a_cache_is_generation_without(name: str, encoding: str) -> None:
    """Whatever a model calls its cache, and whichever of its parts it calls."""
    settings = TABLES["GPT2"] if name == "GPTBigCode" else {**ROTARY, **TABLES}[name]
    config = getattr(hf, f"{name}Config")(**settings | dict(pad_token_id=0))
    theirs, tokens = stirred(hf.AutoModelForCausalLM.from_config(config)), torch.randint(3, 50, (2, 9))
    attach_hf(theirs, encoding)
    found, expected = (
        theirs.generate(tokens, max_new_tokens=5, do_sample=False, use_cache=cached) for cached in (True, False)
    )
    assert torch.equal(found, expected)


@pytest.mark.parametrize("name", ["Gemma", "Gemma2", "Gemma3Text"])
def test_what_is_added_matches_embeddings_as_they_are_read(name: str) -> None:
    """Gemma multiplies them by the root of their width."""
    settings = grouped | dict(head_dim=16, layer_types=["full_attention"] * 2)
    settings.pop("layer_types") if name == "Gemma" else None
    theirs = hf.AutoModel.from_config(getattr(hf, f"{name}Config")(**settings))
    size = theirs.get_input_embeddings()(torch.arange(50)).square().mean().sqrt().item()
    added = attach_hf(theirs, "sinusoidal").parts[0].embed(torch.zeros(1, 64, 32), Positions.range(64))
    assert added.square().mean().sqrt().item() == pytest.approx(size, rel=1e-4)


def test_embeddings_of_another_width_take_no_encoding_that_adds() -> None:
    narrow = plain | dict(embedding_size=16)
    refused(
        hf.ElectraModel(hf.ElectraConfig(**narrow)),
        "embeddings, which have 16 channels in this ElectraModel",
        "learned",
    )
    theirs = hf.ElectraModel(hf.ElectraConfig(**narrow)).eval()
    attach_hf(theirs, "alibi")
    assert theirs(torch.randint(3, 50, (2, 9)))[0].shape == (2, 9, 32)


@torch.no_grad()
@pytest.mark.parametrize("name", ["GPT2", "Bert"])
def test_their_own_table_comes_back(name: str) -> None:
    theirs, tokens = model(name), torch.randint(3, 50, (3, 20))
    table = theirs.wpe if name == "GPT2" else theirs.embeddings.position_embeddings
    expected = theirs(tokens)[0]
    attached = attach_hf(theirs, "learned")
    attached.encodings[0].table.copy_(table.weight)
    assert_close(theirs(tokens)[0], expected, atol=1e-4, rtol=1e-4)


def refused(theirs: Any, sentence: str, name: Any = "alibi", **settings: Any) -> None:
    with pytest.raises(InputError, match=sentence):
        attach_hf(theirs, name, **settings)


def test_models_that_cannot_take_an_encoding_are_refused() -> None:
    refused(torch.nn.Linear(2, 2), "attach_hf takes a model of transformers, got Linear")
    bloom = hf.BloomModel(hf.BloomConfig(hidden_size=32, n_layer=1, n_head=4, vocab_size=50))
    refused(bloom, "BloomModel does not use transformers' attention interface")
    t5 = hf.T5Model(hf.T5Config(d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=4, vocab_size=50))
    refused(t5, "T5Model attends to another sequence too")
    window = hf.MistralModel(hf.MistralConfig(**grouped, sliding_window=8))
    refused(window, "layers that do not see everything .a sliding window of 8.*configuration with sliding_window=None")
    attach_hf(hf.MistralModel(hf.MistralConfig(**grouped, sliding_window=None)), "alibi")
    gemma = hf.Gemma3TextModel(hf.Gemma3TextConfig(**grouped, head_dim=8))
    refused(gemma, r'do not see everything .sliding_attention.*layer_types=."full_attention". . 2')
    attach_hf(
        hf.Gemma3TextModel(hf.Gemma3TextConfig(**grouped, head_dim=8, layer_types=["full_attention"] * 2)), "alibi"
    )
    refused(hf.NemotronModel(hf.NemotronConfig(**grouped)), "the layers of NemotronModel pass nothing on")
    refused(
        hf.DistilBertModel(hf.DistilBertConfig(dim=32, n_layers=1, n_heads=4, hidden_dim=48)),
        "0 attention modules with the index of one of its 1 layers",
    )
    with torch.device("meta"):
        refused(hf.BertModel(hf.BertConfig(**plain)), "BertModel lies on meta")
    vit = hf.ViTModel(hf.ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48))
    refused(vit, "ViTModel has no table of token embeddings")
    cross = hf.BertConfig(**plain, is_decoder=True, add_cross_attention=True)
    refused(hf.BertModel(cross), "BertModel attends to another sequence too")


def test_encodings_that_a_model_cannot_take_are_refused() -> None:
    refused(model("Llama"), "alibi was made for dim 64, but the model has dim 32", _made("alibi", 64))
    refused(
        model("Llama"), "has parameters of its own for each layer: give every layer its own object", _made("shaw", 32)
    )
    refused(model("Llama"), "unknown encoding 'rop'", "rop")
    refused(model("Llama"), r"as text or as objects, got \[\]", [])
    refused(model("Llama"), "as text or as objects, not both", ["alibi", _made("alibi", 32)])
    refused(model("Llama"), "3 encodings for 2 layers", ["alibi"] * 3)
    refused(model("Llama"), "graph reads a relation between tokens", "graph")
    refused(model("Llama"), "reads positions with 2 axes, but the model's have 1", "rope_2d")


def _made(name: str, dim: int) -> Any:
    return encodings.create(name, dim=dim, heads=4, length=64)


def test_calls_that_an_attached_model_cannot_answer_are_refused() -> None:
    theirs, tokens = model("Llama"), torch.randint(3, 50, (2, 9))
    attach_hf(theirs, "alibi")

    def calling(sentence: str, *args: Any, **given: Any) -> None:
        with pytest.raises(InputError, match=sentence):
            theirs(*args, **given)

    calling("pass either input_ids or inputs_embeds")
    calling("attention_mask of shape .2, 9.*got .2, 1, 9, 9", tokens, attention_mask=torch.ones(2, 1, 9, 9))
    calling("attention_mask of shape .2, 9.*got .2, 5", tokens, attention_mask=torch.ones(2, 5))
    calling("position_ids need shape .2, 9., got .3, 2, 9", tokens, position_ids=torch.zeros(3, 2, 9).long())
    calling("an attached model reads whole positions", tokens, position_ids=torch.zeros(2, 9))
    calling("a plain DynamicCache", tokens, past_key_values=hf.StaticCache(theirs.config, max_cache_len=20))
    calling("tokens that an attached model did not write", tokens, past_key_values=_foreign(theirs))
    with pytest.raises(InputError, match="got no encoding: call the whole model"):
        theirs.layers[0](theirs.embed_tokens(tokens), position_embeddings=(torch.ones(1, 9, 8), torch.zeros(1, 9, 8)))


def test_what_an_encoding_reads_must_be_told() -> None:
    theirs, tokens = model("Bert"), torch.randint(3, 50, (2, 9))
    attached = attach_hf(theirs, "segment")
    with pytest.raises(InputError, match="segment reads segments: pass token_type_ids to the model"):
        theirs(tokens)
    attached.detach()
    attach_hf(theirs, "abacus")
    with pytest.raises(InputError, match="abacus reads tokens: pass input_ids to the model"):
        theirs(inputs_embeds=torch.randn(2, 9, 32))


def _foreign(theirs: Any) -> Any:
    cache = hf.DynamicCache(config=theirs.config)
    for layer in range(2):
        cache.update(torch.randn(2, 2, 4, 8), torch.randn(2, 2, 4, 8), layer)
    return cache
