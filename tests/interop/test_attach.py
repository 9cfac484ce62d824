"""Every encoding inside a Llama and a BERT of transformers does what it does in our transformer with their weights."""

import copy
import io
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close
from transformers import LlamaForCausalLM

from ordinate import (
    Encoding,
    InputError,
    ModelConfig,
    Shape,
    Transformer,
    attach_hf,
    encodings,
    from_hf,
    generate,
    load_hf,
    record,
)
from ordinate.interop import Attached

from .copied import LENGTH, bert, llama, ours_as_bert, ours_as_llama, padded

rounding = {"atol": 1e-4, "rtol": 1e-4}
EXAMPLES = {name: encodings.example(name) for name in encodings.names()}
TEXT = [name for name, example in EXAMPLES.items() if 1 in example.axes and "relation" not in example.extra_inputs]
VARIANTS = ["rope(scaling=yarn,factor=4,original=16)", "learned(beyond=clip,rows=8)", "alibi+learned", "segment+t5"]
BOTH_WAYS = [name for name in [*TEXT, *VARIANTS] if name not in EXAMPLES or not EXAMPLES[name].causal_only]
CAUSAL = [name for name in [*TEXT, *VARIANTS] if "segment" not in name]


def attached_llama(name: str) -> tuple[object, Attached]:
    """With grouped keys, unless every head turns keys its own way."""
    groups = {} if EXAMPLES.get(name) is None or takes_groups(name) else dict(num_key_value_heads=4)
    theirs = llama(**groups)
    attached = attach_hf(theirs, name)
    stir(attached)
    return theirs, attached


def takes_groups(name: str) -> bool:
    try:
        attach_hf(llama(), name)
    except InputError as error:
        assert "rotates every head differently" in str(error)
        return False
    return True


@pytest.mark.parametrize("name", ["fope", "selective_rope", "lrope(per_head=true)"])
def test_grouped_keys_are_refused_where_heads_turn_their_own_way(name: str) -> None:
    """When it is attached, as text or as an object; with the way out, which works."""
    made = encodings.create(name.partition("(")[0], dim=32, heads=4, length=LENGTH, per_head=True)
    for given in (name, [made, made]):
        with pytest.raises(InputError, match="set kv_heads to heads, or set per_head=false"):
            attach_hf(llama(), given)
    attach_hf(llama(), f"{name.partition('(')[0]}(per_head=false)")


@torch.no_grad()
def stir(attached: Attached) -> None:
    """Parameters as after training: many start at 0, where much would cancel."""
    for weight in attached.parameters():
        weight.add_(0.2 * torch.randn_like(weight))


@torch.no_grad()
@pytest.mark.parametrize("name", CAUSAL)
def test_llama_with_any_encoding_is_ours(name: str) -> None:
    theirs, attached = attached_llama(name)
    ours, (tokens, padding_mask) = ours_as_llama(theirs, attached), padded()
    assert_close(theirs(tokens).logits, ours(tokens), **rounding)
    found = theirs(tokens, attention_mask=padding_mask.long(), use_cache=False).logits
    assert_close(found[padding_mask], ours(tokens, padding_mask=padding_mask)[padding_mask], **rounding)


@torch.no_grad()
@pytest.mark.parametrize("name", CAUSAL)
def test_llama_generates_as_ours_does(name: str) -> None:
    """Greedy, padded on the left, with a cache: as ours, and as without a cache."""
    theirs, attached = attached_llama(name)
    ours, (tokens, padding_mask) = ours_as_llama(theirs, attached), padded()
    settings = dict(attention_mask=padding_mask.long(), max_new_tokens=8, do_sample=False)
    found = theirs.generate(tokens, **settings)
    assert torch.equal(found, generate(ours, tokens, 8, padding_mask=padding_mask))
    assert torch.equal(found, theirs.generate(tokens, use_cache=False, **settings))


@torch.no_grad()
@pytest.mark.parametrize("name", BOTH_WAYS)
def test_bert_with_any_encoding_is_ours(name: str) -> None:
    theirs = bert()
    attached = attach_hf(theirs, name)
    stir(attached)
    ours, (tokens, padding_mask) = ours_as_bert(theirs, attached), padded()
    segments = {}, {}
    if "segments" in attached.extra_inputs:
        which = torch.arange(12) // 7 * torch.ones_like(tokens)
        segments = dict(segments=which), dict(token_type_ids=which)
    assert_close(theirs(tokens, **segments[1]).last_hidden_state, ours(tokens, **segments[0]), **rounding)
    found = theirs(tokens, attention_mask=padding_mask.long(), **segments[1]).last_hidden_state
    assert_close(found[padding_mask], ours(tokens, padding_mask=padding_mask, **segments[0])[padding_mask], **rounding)


def test_what_looks_back_alone_is_refused_in_a_bert() -> None:
    looking_back = [name for name in TEXT if EXAMPLES[name].causal_only]
    assert len(looking_back) > 3
    for name in looking_back:
        with pytest.raises(InputError, match=f"{name} is defined for causal attention alone"):
            attach_hf(bert(), name)


@pytest.mark.parametrize("name", ["rope", "t5", "fire", "shaw", "cope", "learned", "fox", "path", "lrope"])
@pytest.mark.parametrize("again", [False, True])
def test_gradients_are_ours_and_survive_checkpointing(name: str, again: bool) -> None:
    theirs, attached = attached_llama(name)
    ours, (tokens, padding_mask) = ours_as_llama(theirs, attached), padded()
    if again:
        theirs.gradient_checkpointing_enable()
    theirs.train()

    def gradients(logits: Tensor) -> list[Tensor]:
        attached.zero_grad()
        F.cross_entropy(logits[padding_mask], tokens[padding_mask]).backward()
        return [weight.grad.clone() for weight in attached.parameters()]

    expected = gradients(ours(tokens, padding_mask=padding_mask))
    first = theirs(tokens, attention_mask=padding_mask.long()).logits
    theirs(tokens.flip(0))  # another pass between forward and backward changes nothing
    for found, expect in zip(gradients(first), expected, strict=True):
        assert expect.abs().max() > 0
        assert_close(found, expect, **rounding)


@pytest.mark.parametrize("name", ["alibi", "t5", "fire", "shaw", "learned"])
def test_a_model_trains_with_it(name: str) -> None:
    theirs = llama(attention_dropout=0.1).train()
    attached = attach_hf(theirs, name)
    start = [weight.detach().clone() for weight in attached.parameters()]
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=3e-3)
    tokens, losses = torch.randint(3, 50, (8, 16)), []
    for _ in range(12):
        loss = theirs(tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    assert all((now != then).any() for now, then in zip(attached.parameters(), start, strict=True))


@torch.no_grad()
def test_beams_are_reordered_with_what_is_remembered() -> None:
    for name in ("fox", "path", "conditional", "t5"):
        theirs = llama()
        stir(attach_hf(theirs, name))
        tokens, padding_mask = padded()
        settings = dict(attention_mask=padding_mask.long(), max_new_tokens=8, do_sample=False, num_beams=4)
        assert torch.equal(theirs.generate(tokens, **settings), theirs.generate(tokens, use_cache=False, **settings)), (
            name
        )


@torch.no_grad()
def test_a_cache_that_was_cropped_goes_on_from_there() -> None:
    theirs = llama()
    stir(attach_hf(theirs, "fox"))
    tokens = torch.randint(3, 50, (2, 12))
    cache = theirs(tokens[:, :9]).past_key_values
    cache.crop(-4)
    step = theirs(tokens[:, 5:], past_key_values=cache).logits
    assert_close(step, theirs(tokens).logits[:, 5:], **rounding)


@torch.no_grad()
def test_a_step_that_was_refused_leaves_the_cache_as_it_was() -> None:
    theirs = llama()
    stir(attach_hf(theirs, "learned", length=10))
    tokens = torch.randint(3, 50, (2, 9))
    cache = theirs(tokens[:, :6]).past_key_values
    with pytest.raises(InputError, match="out of range"):
        theirs(tokens[:, :7], past_key_values=cache)
    step = theirs(tokens[:, 6:], past_key_values=cache).logits
    assert_close(step, theirs(tokens).logits[:, 6:], **rounding)


@torch.no_grad()
def test_explicit_positions_are_remembered_by_the_cache() -> None:
    theirs = llama()
    attached = attach_hf(theirs, "alibi")
    ours = ours_as_llama(theirs, attached)
    tokens, ids = torch.randint(3, 50, (2, 10)), torch.stack((torch.arange(10) * 3, torch.arange(10) + 7))
    expected = ours(tokens, positions=ids)
    seen = theirs(tokens[:, :6], position_ids=ids[:, :6], use_cache=True)
    rest = theirs(tokens[:, 6:], position_ids=ids[:, 6:], past_key_values=seen.past_key_values).logits
    assert_close(torch.cat((seen.logits, rest), dim=1), expected, **rounding)


@torch.no_grad()
def test_positions_that_begin_again_are_packed_documents() -> None:
    theirs = llama()
    stir(attach_hf(theirs, "cope+alibi"))
    tokens, ids = torch.randint(3, 50, (1, 11)), torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6]])
    packed = theirs(tokens, position_ids=ids, use_cache=False).logits
    assert_close(packed[:, :4], theirs(tokens[:, :4]).logits, **rounding)
    assert_close(packed[:, 4:], theirs(tokens[:, 4:]).logits, **rounding)


@torch.no_grad()
def test_embeddings_in_place_of_tokens() -> None:
    theirs = llama()
    attach_hf(theirs, "sinusoidal+alibi")
    tokens = torch.randint(3, 50, (2, 9))
    assert_close(theirs(inputs_embeds=theirs.get_input_embeddings()(tokens)).logits, theirs(tokens).logits)


@torch.no_grad()
def test_attention_weights_can_be_seen() -> None:
    theirs = llama()
    attached = attach_hf(theirs, "t5")
    tokens = torch.randint(3, 50, (2, 9))
    ours = ours_as_llama(theirs, attached)
    with record(ours) as seen:
        ours(tokens)
    for found, expected in zip(theirs(tokens, output_attentions=True).attentions, seen.weights, strict=True):
        assert_close(found, expected, **rounding)


def test_dropout_falls_on_attention_weights() -> None:
    theirs = llama(attention_dropout=0.5)
    attach_hf(theirs, "alibi")
    tokens = torch.randint(3, 50, (1, 9))
    assert_close(theirs(tokens).logits, theirs(tokens).logits, rtol=0, atol=0)
    theirs.train()
    first, second = theirs(tokens).logits, theirs(tokens).logits
    assert (first - second).abs().max() > 1e-2


@torch.no_grad()
def test_weights_are_saved_and_loaded(tmp_path: Path) -> None:
    theirs, tokens = llama(), torch.randint(3, 50, (2, 9))
    stir(attach_hf(theirs, "fire+learned"))
    expected = theirs(tokens).logits
    assert any(name.startswith("model.ordinate.encodings.") for name in theirs.state_dict())
    other = llama()
    attach_hf(other, "fire+learned")
    other.load_state_dict(theirs.state_dict())
    assert_close(other(tokens).logits, expected)
    theirs.save_pretrained(tmp_path)
    third = llama()
    attach_hf(third, "fire+learned")
    third.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert_close(third(tokens).logits, expected)


@torch.no_grad()
@pytest.mark.parametrize("name", ["sinusoidal", "sinonly", "gray", "random_fourier", "binary_norm(size=1)", "learned"])
def test_what_was_added_is_added_again_wherever_its_weights_are_loaded(name: str) -> None:
    """Its size was matched to embeddings ten times those of the model that loads."""
    theirs, other, tokens = llama(), llama(), torch.randint(3, 50, (2, 9))
    theirs.model.embed_tokens.weight.mul_(10)
    attach_hf(theirs, name)
    attach_hf(other, name, seed=1)
    other.load_state_dict(theirs.state_dict())
    assert torch.equal(other(tokens).logits, theirs(tokens).logits)
    assert other.config.ordinate == theirs.config.ordinate


def test_weights_of_another_encoding_are_refused() -> None:
    theirs, other = llama(), llama()
    attach_hf(theirs, "rope(base=500)")
    attach_hf(other, "rope")
    with pytest.raises(
        InputError, match=r"belong to encoding \['rope\(base=500\)'\], but encoding \['rope'\] is attached"
    ):
        other.load_state_dict(theirs.state_dict())


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["sinusoidal+fire", ["rope(base=500)", "none"], "fox", "random_fourier(sigma=3)"])
def test_a_saved_model_reloads_by_itself(encoding: object, tmp_path: Path) -> None:
    theirs, tokens = llama(), torch.randint(3, 50, (2, 9))
    stir(attach_hf(theirs, encoding, length=40))
    theirs.model.embed_tokens.weight.mul_(3)  # trained since
    theirs.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="load a saved one with ordinate"):
        LlamaForCausalLM.from_pretrained(tmp_path)(tokens)
    again = load_hf(tmp_path)
    assert torch.equal(again(tokens).logits, theirs(tokens).logits)
    again.save_pretrained(tmp_path / "twice")
    assert torch.equal(load_hf(tmp_path / "twice")(tokens).logits, theirs(tokens).logits)


def test_what_cannot_reload_by_itself_says_so(tmp_path: Path) -> None:
    class Own(Encoding):
        """A class that no name leads to."""

    theirs = llama()
    theirs.save_pretrained(tmp_path / "plain")
    attach_hf(theirs, Own(Shape(32, 4, LENGTH)))
    theirs.save_pretrained(tmp_path / "own")
    for folder, sentence in (
        ("plain", "holds no attached"),
        ("own", "no text describes"),
        ("", "no folder with a conf"),
    ):
        with pytest.raises(InputError, match=sentence):
            load_hf(tmp_path / folder)


@torch.no_grad()
def test_copies_are_whole_and_apart() -> None:
    theirs, tokens = llama(), torch.randint(3, 50, (2, 9))
    plain = theirs(tokens).logits
    stir(attach_hf(theirs, "fox"))
    expected = theirs(tokens).logits
    twin = copy.deepcopy(theirs)
    buffer = io.BytesIO()
    torch.save(theirs, buffer)
    buffer.seek(0)
    stored = torch.load(buffer, weights_only=False)
    for weight in theirs.model.ordinate.parameters():
        weight.zero_()
    for other in (twin, stored):
        assert_close(other(tokens).logits, expected)
        other.model.ordinate.detach()
        assert_close(other(tokens).logits, plain)
    assert theirs.config._attn_implementation == "ordinate"


@torch.no_grad()
@pytest.mark.parametrize("make", [llama, bert])
def test_detached_it_is_what_it_was(make: object) -> None:
    theirs, tokens = make(), torch.randint(3, 50, (2, 9))  # type: ignore[operator]
    names, before = list(theirs.state_dict()), theirs(tokens)[0]
    attached = attach_hf(theirs, "t5")
    assert (theirs(tokens)[0] - before).abs().max() > 1e-2
    with pytest.raises(InputError, match="has an encoding attached already: call detach"):
        attach_hf(theirs, "t5")
    attached.detach()
    attached.detach()
    assert_close(theirs(tokens)[0], before, rtol=0, atol=0)
    assert sorted(theirs.state_dict()) == sorted(names)
    assert theirs.config._attn_implementation == "sdpa"


@torch.no_grad()
def test_other_models_of_the_same_configuration_are_left_alone() -> None:
    theirs, tokens = llama(), torch.randint(3, 50, (2, 9))
    other = LlamaForCausalLM(theirs.config).eval()
    expected = other(tokens).logits
    attach_hf(theirs, "alibi")
    assert_close(other(tokens).logits, expected, rtol=0, atol=0)


@torch.no_grad()
def test_a_bert_reads_past_the_table_it_had() -> None:
    theirs = bert()
    attached = attach_hf(theirs, "alibi")
    tokens = torch.randint(3, 50, (2, LENGTH + 40))
    assert_close(theirs(tokens).last_hidden_state, ours_as_bert(theirs, attached)(tokens), **rounding)
    assert not any("position_embeddings" in name for name in theirs.state_dict())


@torch.no_grad()
def test_layers_may_differ_and_objects_are_taken_as_they_are() -> None:
    theirs, tokens = llama(), torch.randint(3, 50, (2, 9))
    attached = attach_hf(theirs, ["rope", "none"])
    assert [part.name for part in attached.per_layer] == ["rope", "none"]
    assert_close(theirs(tokens).logits, ours_as_llama(theirs, attached)(tokens), **rounding)
    attached.detach()
    expected = theirs(tokens).logits
    rope = from_hf(theirs.config)
    assert attach_hf(theirs, rope).per_layer == [rope, rope]
    assert_close(theirs(tokens).logits, expected, **rounding)


@torch.no_grad()
def test_lengths_and_seeds_are_those_asked_for() -> None:
    assert attach_hf(llama(), "learned").parts[0].shape.length == LENGTH
    assert attach_hf(llama(), "learned", length=20).parts[0].shape.length == 20
    first, second = (attach_hf(llama(), "shaw+fire", seed=seed).state_dict() for seed in (3, 4))
    assert not torch.equal(first["encodings.0.keys"], second["encodings.0.keys"])
    ours = Transformer(ModelConfig(50, "shaw+fire", dim=32, length=LENGTH), seed=3)  # draws the same
    for name, start in first.items():
        if name != "_extra_state":
            assert_close(ours.state_dict()[name], start, rtol=0, atol=0)


def test_bfloat16_stays() -> None:
    theirs = llama().to(torch.bfloat16)
    attached = attach_hf(theirs, "t5")
    assert {weight.dtype for weight in attached.parameters()} == {torch.bfloat16}
    assert theirs(torch.randint(3, 50, (2, 9))).logits.dtype == torch.bfloat16
