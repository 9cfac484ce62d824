"""The transformer around the encodings."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from ordinate import InputError, ModelConfig, Transformer, combine, encodings, generate, preset, record
from ordinate.core.config import build, digest, to_dict
from ordinate.model import pick_device

TOKENS = torch.randint(0, 11, (3, 14), generator=torch.Generator().manual_seed(0))


def small(encoding: object = "rope", **settings: object) -> Transformer:
    base = dict(vocabulary=11, dim=32, heads=4, layers=2, length=16, dropout=0.0)
    return Transformer(ModelConfig(**(base | {"encoding": encoding} | settings))).eval()  # type: ignore[arg-type]


def test_without_an_encoding_a_bidirectional_model_sees_a_bag_of_tokens() -> None:
    model = small("none", causal=False)
    order = torch.randperm(14)
    assert_close(model(TOKENS)[:, order], model(TOKENS[:, order]), atol=1e-5, rtol=1e-5)
    model = small("sinusoidal", causal=False)
    assert (model(TOKENS)[:, order] - model(TOKENS[:, order])).abs().max() > 1e-3


@pytest.mark.parametrize("norm_place", ["pre", "post", "none"])
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("activation", ["gelu", "relu", "swiglu"])
@pytest.mark.parametrize("residual", [True, False])
def test_every_block_trains_and_decodes(norm_place: str, norm: str, activation: str, residual: bool) -> None:
    model = small(norm_place=norm_place, norm=norm, activation=activation, residual=residual, kv_heads=2, qk_norm=True)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
    model(TOKENS).square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    grown = generate(model, TOKENS[:, :4], 10)
    assert torch.equal(grown[:, 4:], model(grown)[:, 3:-1].argmax(dim=-1))


def test_a_head_width_may_be_given_where_heads_do_not_divide_the_width() -> None:
    """Also one that equals the rounded quotient; it survives being written and read."""
    config = ModelConfig(vocabulary=5, encoding="rope", dim=20, heads=3, head_dim=6)
    assert build(ModelConfig, to_dict(config)) == config and config.head_dim == 6
    assert Transformer(config)(torch.tensor([[1, 2]])).shape == (1, 2, 5)


def test_grouped_queries_equal_repeated_keys() -> None:
    model, full = small(kv_heads=2), small()
    with torch.no_grad():
        for (name, target), source in zip(full.named_parameters(), model.parameters(), strict=True):
            if "attention.inputs" in name:
                q, k, v = source.split((32, 16, 16))
                again = [part.view(2, 8, *part.shape[1:]).repeat_interleave(2, dim=0).flatten(0, 1) for part in (k, v)]
                target.copy_(torch.cat((q, *again)))
            else:
                target.copy_(source)
    assert_close(model(TOKENS), full(TOKENS), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("readout", ["mean", "first", "last", "readout"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_classification_ignores_padding(readout: str, side: str) -> None:
    model = small("sinusoidal", causal=False, readout=readout, classes=3)
    with torch.no_grad():
        model.embedding.weight.mul_(50)
    pad = torch.zeros(3, 5, dtype=torch.long)
    parts = (pad, TOKENS[:, :9]) if side == "left" else (TOKENS[:, :9], pad)
    padding_mask = torch.cat(
        tuple(torch.ones_like(p, dtype=torch.bool) if p is not pad else p.bool() for p in parts), dim=1
    )
    expected = model(TOKENS[:, :9])
    assert expected.shape == (3, 3)
    assert_close(model(torch.cat(parts, dim=1), padding_mask=padding_mask), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("encoding", ["segment+alibi", "conditional(size=1)", "selective_rope"])
def test_the_readout_follows_the_last_real_token(encoding: str) -> None:
    """Of which it takes the segment, and which is its neighbor: padding after it changes nothing."""
    model = small(encoding, causal=False, readout="readout", classes=3)
    padded, padding_mask = torch.nn.functional.pad(TOKENS, (0, 4)), torch.arange(18) < 14
    which = (torch.arange(18) // 5 % 2).masked_fill(~padding_mask, 0)[None]
    given, given_padded = (
        ({}, {}) if "segment" not in encoding else (dict(segments=which[:, :14]), dict(segments=which))
    )
    assert_close(model(padded, padding_mask=padding_mask[None], **given_padded), model(TOKENS, **given))


@pytest.mark.parametrize("encoding", ["learned(beyond=interpolate)", "rope(scaling=dynamic,factor=2)"])
def test_positions_of_padding_do_not_count(encoding: str) -> None:
    """The sequence is as long as its real tokens say, wherever padding is said to stand."""
    model, places = small(encoding, length=8), torch.arange(14)
    padded, far = torch.nn.functional.pad(TOKENS, (0, 3)), torch.cat((places, torch.tensor([40, 41, 42])))
    found = model(padded, positions=far, padding_mask=(torch.arange(17) < 14)[None])[:, :14]
    assert_close(found, model(TOKENS, positions=places))


def test_packed_documents_may_continue_and_may_see_each_other() -> None:
    document_ids = torch.tensor([[0] * 6 + [1] * 8])
    whole = small("rope")(TOKENS[:1])
    seeing = small("rope", document_positions="continue", document_mask=False)
    assert_close(seeing(TOKENS[:1], document_ids=document_ids), whole, atol=1e-5, rtol=1e-5)
    masked = small("rope", document_positions="continue")(TOKENS[:1], document_ids=document_ids)
    assert_close(masked[:, :6], whole[:, :6], atol=1e-5, rtol=1e-5)
    assert (masked[:, 6:] - whole[:, 6:]).abs().max() > 1e-4


def test_a_list_of_encodings_repeats_over_the_layers() -> None:
    model = small(("rope", "none"), layers=5)
    kinds = [type(e).__name__ for e in model.per_layer]
    assert kinds == ["Rope", "NoEncoding", "Rope", "NoEncoding", "Rope"]
    assert model.per_layer[0] is model.per_layer[2]
    shaw = small("shaw", layers=3)
    assert len({id(e) for e in shaw.per_layer}) == 3


def test_encodings_are_embedded_once_and_shared_parts_stored_once() -> None:
    model = small("learned+shaw", layers=3)
    tables = [n for n in model.state_dict() if n.startswith("encodings") and n.endswith("table")]
    assert len(tables) == 1
    given = encodings.create("learned", dim=32, heads=4, length=16)
    by_hand = Transformer(model.config, [combine(given)] * 3)
    assert by_hand.per_layer[0] is given


def test_all_encodings_start_from_the_same_weights() -> None:
    a, b = small("rope"), small("t5")
    b_weights = b.state_dict()
    for name, weight in a.state_dict().items():
        assert torch.equal(weight, b_weights[name]), name


def test_dropout_acts_in_training_alone() -> None:
    model = small(dropout=0.5)
    assert torch.equal(model(TOKENS), model(TOKENS))
    model.train()
    assert not torch.equal(model(TOKENS), model(TOKENS))


def test_sampling_is_repeatable_and_bounded() -> None:
    model = small(tied=True)

    def draw(seed: int, **more: float) -> torch.Tensor:
        source = torch.Generator().manual_seed(seed)
        return generate(model, TOKENS[:, :3], 8, temperature=1.0, generator=source, **more)

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))
    greedy = generate(model, TOKENS[:, :3], 8)
    assert torch.equal(draw(3, top_k=1), greedy)
    assert torch.equal(draw(3, top_p=1e-6), greedy)


def test_generation_with_left_padding_equals_generation_without() -> None:
    for encoding in ("rope", "learned", "alibi", "shaw"):
        model = small(encoding)
        prompt = torch.cat((torch.zeros(3, 2, dtype=torch.long), TOKENS[:, :4]), dim=1)
        padding_mask = torch.arange(6)[None].expand(3, -1) >= 2
        assert torch.equal(
            generate(model, prompt, 6, padding_mask=padding_mask)[:, 2:], generate(model, TOKENS[:, :4], 6)
        )


def test_generation_at_positions_and_segments_of_ones_own() -> None:
    model, segments = small("segment+sinusoidal"), torch.arange(12)[None] % 2
    positions = torch.arange(12) * 3
    found = generate(model, TOKENS[:, :4], 8, positions=positions, segments=segments)
    whole = model(found, positions=positions, segments=segments)
    assert torch.equal(found[:, 4:], whole[:, 3:-1].argmax(dim=-1))
    assert not torch.equal(found, generate(model, TOKENS[:, :4], 8, segments=segments))


def test_generation_ends_a_sequence_with_the_stop_token() -> None:
    model = small("rope")
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.2)
    free = generate(model, TOKENS[:, :4], 20)
    stop = int(free[0, 6])
    found = generate(model, TOKENS[:, :4], 20, stop=stop)
    for row, whole in zip(found, free, strict=True):
        ends = (row[4:] == stop).nonzero()[:, 0].tolist()
        last = 4 + (ends[0] if ends else len(row) - 4)
        assert torch.equal(row[:last], whole[:last])
        assert (row[last:] == stop).all()
    alone = generate(model, TOKENS[:1, :4], 20, stop=stop)
    assert alone.shape[1] <= 7 and alone[0, -1] == stop


def test_real_and_negative_positions_where_an_encoding_reads_them() -> None:
    for name in ("rope", "alibi", "sinusoidal"):
        model = small(name)
        whole = model(TOKENS, positions=torch.arange(14))
        assert_close(model(TOKENS, positions=torch.arange(14).double()).float(), whole, atol=1e-4, rtol=1e-4)
        assert_close(model(TOKENS, positions=torch.arange(14.0)), whole, atol=1e-5, rtol=1e-5)
        halves = model(TOKENS, positions=torch.arange(14) / 2)
        assert not torch.allclose(halves, whole, atol=1e-3)
        below = model(TOKENS, positions=torch.arange(14) - 20)
        assert torch.allclose(below, whole, atol=1e-4) == model.encodings[0].shift_invariant


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: small("rope", dim=20, heads=4), "rope needs an even head width, got 5 \\(dim 20 / heads 4\\)"),
        (lambda: small("rope_2d"), "rope_2d reads positions with 2 axes, but the model's have 1"),
        (lambda: small("cope", causal=False), "cope is defined for causal attention alone"),
        (lambda: small("rope", axes=2), "rope reads positions with 1 axes, but the model's have 2"),
        (lambda: small("rope_2d", axes=2)(TOKENS), "have no default"),
        (lambda: small("learned")(torch.zeros(1, 17).long()), "position 16 is out of range: learned refuses"),
        (lambda: small("segment")(TOKENS, segments=TOKENS), "segment knows segments 0 to 1, found"),
        (lambda: small("segment")(TOKENS), "pass segments="),
        (lambda: small()(TOKENS, segments=TOKENS % 2), "no encoding of this model reads them"),
        (lambda: small()(TOKENS, relation=TOKENS), "relation was given, but no encoding of this model reads it"),
        (lambda: small(("learned", "rope")), "learned changes token embeddings, once"),
        (lambda: generate(small(), TOKENS, 3, stop=99), "stop must be a token"),
        (lambda: generate(small(), TOKENS, 3, positions=TOKENS), "positions have shape"),
        (lambda: generate(small("segment"), TOKENS, 3, segments=TOKENS % 2), "segments of prompt and continuation"),
        (lambda: small("shaw+shaw(farthest=3)"), "shaw and shaw both define weighted_values"),
        (lambda: small(causal=False).cache(1, 2), "only a causal model"),
        (lambda: small()(TOKENS, cache=small().cache(3, 5)), "room for 5 tokens"),
        (lambda: generate(small(readout="mean", classes=2), TOKENS, 3), "this model classifies"),
        (lambda: generate(small(), TOKENS, 3, temperature=1.0), "needs a generator"),
        (lambda: generate(small(), TOKENS[:, :0], 3), "at least one token"),
        (lambda: preset("moden", encoding="rope"), "did you mean modern"),
        (lambda: Transformer(small().config, [encodings.create("alibi", dim=32, heads=2, length=16)] * 2),
         "alibi was made for heads 2, but the model has heads 4"),
        (lambda: small(("rope", "none", "alibi")), "3 encodings for 2 layers"),
        (lambda: small("rope(base=3,base=4)"), "gives a parameter twice"),
        (lambda: small("rope+rope"), "names the same thing twice"),
        (lambda: small(readout="first", classes=2), "first token sees nothing else"),
        (lambda: small()(TOKENS[0]), "tokens need shape"),
        (lambda: small()(TOKENS[:0]), "at least one token"),
        (lambda: small()(TOKENS + 5), "tokens must lie in 0 to 10, found"),
        (lambda: small()(TOKENS, padding_mask=TOKENS), "padding_mask must be true or 1"),
        (lambda: small()(TOKENS, padding_mask=TOKENS * 0), "whole sequence as padding"),
        (lambda: small()(TOKENS, padding_mask=TOKENS[0] > 0), "padding_mask have shape"),
        (lambda: small()(TOKENS, document_ids=TOKENS[:, :3]), "document_ids have shape"),
        (lambda: small("learned", length=14, causal=False, readout="readout")(TOKENS), "for the read-out"),
        (lambda: small("learned", length=10)(TOKENS, padding_mask=TOKENS >= 0), "position 13 is out of range"),
        (lambda: small()(TOKENS, cache=small().cache(2, 20)), "created for 2 sequences, got 3"),
        (lambda: generate(small(), TOKENS, 3, padding_mask=torch.arange(14).expand(3, -1) < 9), "padded on the left"),
        (lambda: generate(small(), TOKENS, 3, padding_mask=TOKENS[:, :3] >= 0), "padding_mask needs the prompt's"),
        (lambda: generate(small(), TOKENS, 3, top_k=2), "temperature 0 is greedy"),
        (lambda: generate(small(), TOKENS, 3, temperature=float("nan")), "must be finite"),
        (lambda: generate(small(classes=20), TOKENS, 3), "more than its 11 tokens"),
        (lambda: Transformer(small().config, [encodings.create("shaw", dim=32, heads=4, length=16)] * 2),
         "its own object"),
        (lambda: combine(encodings.create("rope", dim=32, heads=4, length=9), encodings.create("alibi", dim=8, heads=2,
         length=9)), "different models"),
        (lambda: small("rope(fraction=0.9)"), "leaves 7 channels"),
        (lambda: pick_device("cuda"), "not available on this machine"),
        (lambda: pick_device("gpu"), "unknown device"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_sentence(call: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()  # type: ignore[operator]


def test_a_cache_with_explicit_positions_wants_them_for_all_tokens() -> None:
    model = small("rope")
    cache = model.cache(3, 14)
    model(TOKENS[:, :6], positions=torch.arange(6) + 2, cache=cache)
    with pytest.raises(InputError, match="pass positions for the new ones too"):
        model(TOKENS[:, 6:], cache=cache)
    rest = model(TOKENS[:, 6:], positions=torch.arange(6, 14) + 2, cache=cache)
    assert_close(rest, model(TOKENS, positions=torch.arange(14) + 2)[:, 6:], atol=1e-5, rtol=1e-5)


def test_a_refused_call_leaves_the_cache_as_it_was() -> None:
    model, segments = small("segment+alibi"), TOKENS % 2
    cache = model.cache(3, 14)
    model(TOKENS[:, :6], segments=segments[:, :6], cache=cache)
    with pytest.raises(InputError, match="pass segments"):
        model(TOKENS[:, 6:], cache=cache)
    rest = model(TOKENS[:, 6:], segments=segments[:, 6:], cache=cache)
    assert_close(rest, model(TOKENS, segments=segments)[:, 6:], atol=1e-5, rtol=1e-5)


def test_replaced_modules_and_hooks_are_used_in_generation() -> None:
    for change in ("norm", "hook", "linear"):
        model = small("rope")
        if change == "norm":
            model.norm = torch.nn.Sequential(model.norm, torch.nn.Tanh())
        elif change == "hook":
            model.blocks[0].wide.register_forward_hook(lambda module, inputs, output: output * 3)
        else:
            model.blocks[1].narrow = torch.nn.Sequential(model.blocks[1].narrow, torch.nn.Tanh())
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight) * 0.2)
        grown = generate(model, TOKENS[:, :4], 10)
        assert torch.equal(grown[:, 4:], model(grown)[:, 3:-1].argmax(dim=-1)), change


def test_autocast_keeps_the_residual_stream_in_float32() -> None:
    for bias in (True, False):
        model, kinds = small("rope", bias=bias), []
        model.blocks[0].register_forward_hook(lambda m, i, output, kinds=kinds: kinds.append(output.dtype))
        with torch.autocast("cpu", torch.bfloat16):
            model(TOKENS)
        assert kinds == [torch.float32]


def test_no_encoding_computes_under_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would round what is computed in float32: the sums of gates, biases and angles."""
    hooks = ("embed", "prepare", "features", "rotate", "relative_bias", "bias", "qk_scores", "score_mod")
    seen = set()
    for name in ("sinusoidal", "rope", "fire", "t5", "fox", "path", "cope", "selective_rope"):
        model = small(name, qk_norm=True).train()
        for part in model.parts:
            for hook in hooks:
                if not part.overrides(hook):
                    continue

                def checked(*args: object, own: Any = getattr(part, hook), hook: str = hook, **rest: object) -> object:
                    assert not torch.is_autocast_enabled("cpu")
                    seen.add(hook)
                    return own(*args, **rest)

                monkeypatch.setattr(part, hook, checked)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            model(TOKENS).float().square().mean().backward()
            generate(model, TOKENS, 2)
        assert all(weight.grad.isfinite().all() for weight in model.parameters())
    assert seen == {*hooks}


def test_records_nest() -> None:
    model = small("rope")
    with record(model) as outer:
        with record(model) as inner:
            model(TOKENS)
        model(TOKENS)
    assert (len(outer.weights), len(inner.weights)) == (4, 2)


def test_spellings_of_one_encoding_are_one_configuration() -> None:
    plain = small("rope", dropout=0).config
    for spelling in ("rope(base=10000)", ("rope",), ("rope", "rope(factor=1)"), " rope "):
        assert digest(small(spelling, dropout=0.0).config) == digest(plain)
    assert digest(small("rope(base=500000)").config) != digest(plain)


def test_a_part_starts_the_same_wherever_it_stands() -> None:
    alone, beside = small("t5"), small("segment+t5")
    made = encodings.create("t5", dim=32, heads=4, length=16)
    assert torch.equal(alone.encodings[0].table, beside.encodings[1].table)
    assert torch.equal(alone.encodings[0].table, made.table)


def test_shapes_flow_on_the_meta_device() -> None:
    with torch.device("meta"):
        model = small("segment+learned")
        x = torch.zeros(2, 9, dtype=torch.long)
        assert model(x, segments=x, positions=torch.zeros(9, dtype=torch.long)).shape == (2, 9, 11)


def test_a_configuration_made_by_hand_is_as_strict_as_any() -> None:
    """In a process without the tests' own type checks, as a user has it."""
    code = """
import torch
from ordinate import InputError, ModelConfig, Positions, Transformer
settings = dict(norm="LayerNorm", dim="wide", causal="no", readout="cls", dropout="x", encoding=5)
for key, wrong in settings.items():
    try:
        ModelConfig(**({"vocabulary": 4, "encoding": "none"} | {key: wrong}))
    except InputError as error:
        print(error)
try:
    Positions(torch.arange(3))
except InputError as error:
    print(error)
model, x = Transformer(ModelConfig(vocabulary=4, encoding="none")).eval(), torch.zeros(2, 3, dtype=torch.long)
calls = [dict(tokens=[[0, 1]]), dict(document_ids=[[0, 1, 1]]), dict(padding_mask=[[1]]), dict(positions=[0, 1, 2])]
for call in calls:
    try:
        model(**({"tokens": x} | call))
    except InputError as error:
        print(error)
for dtype in (torch.int16, torch.uint8, torch.int32):
    assert torch.equal(model(x.to(dtype)), model(x))
assert ModelConfig(vocabulary=4, encoding="none", dim=64.0, dropout=0).dim == 64
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = ("norm", "dim", "causal", "readout", "dropout", "encoding")
    told = ("tokens", "document_ids", "padding_mask", "positions")
    words = (
        *(f"{name} must be" for name in names),
        "values of shape",
        *(f"{name} must be a tensor" for name in told),
    )
    for line, word in zip(done.stdout.splitlines(), words, strict=True):
        assert word in line


def test_the_best_device_is_found_and_none_is_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for cuda, mps, best in ((True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=cuda: there)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda there=mps: there)
        assert pick_device("auto") == pick_device() == torch.device(best)
        assert pick_device("cpu") == torch.device("cpu")
        if not cuda:
            with pytest.raises(InputError, match="'cuda:1' is not available on this machine: use device=cpu"):
                pick_device("cuda:1")


def spreads(model: Transformer) -> dict[str, tuple[float, int]]:
    """The spread of each starting matrix, and the width of its input."""
    found = {}
    for name, weight in model.named_parameters():
        if weight.dim() == 2 and not name.startswith("encodings."):
            found[name] = (weight.std().item(), weight.shape[1])
    return found


@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
def test_starting_matrices_are_spread_by_their_input_width(activation: str) -> None:
    model = small(vocabulary=200, dim=128, hidden=300, layers=3, kv_heads=2, activation=activation, classes=90)
    found = spreads(model)
    assert {width for _, width in found.values()} == {128, 300}
    for name, (spread, width) in found.items():
        assert spread == pytest.approx(width**-0.5, rel=0.1), name
    assert all(not weight.any() for name, weight in model.named_parameters() if name.endswith("bias"))
    assert all((weight == 1).all() for name, weight in model.named_parameters() if name.endswith("norm.weight"))


def test_a_given_spread_is_that_of_all_matrices_and_smaller_where_they_join_the_stream() -> None:
    found = spreads(small(vocabulary=200, dim=128, layers=8, init_std=0.05, embedding_std=0.3))
    for name, (spread, _) in found.items():
        joins = name.endswith(("output.weight", "narrow.weight"))
        expected = 0.3 if name == "embedding.weight" else 0.05 / 4 if joins else 0.05
        assert spread == pytest.approx(expected, rel=0.1), name
    apart = spreads(small(vocabulary=200, dim=128, embedding_std=0.3))
    assert apart.pop("embedding.weight")[0] == pytest.approx(0.3, rel=0.1)
    assert all(spread == pytest.approx(width**-0.5, rel=0.1) for spread, width in apart.values())


def test_a_readout_starts_like_a_token() -> None:
    model = small(dim=512, readout="readout", classes=3)
    assert model.readout is not None and model.readout.std().item() == pytest.approx(512**-0.5, rel=0.15)


@pytest.mark.parametrize("size", ["tiny", "small", "medium", "large"])
def test_presets_start_as_their_documents_say(size: str) -> None:
    config = preset(size, encoding="learned")
    assert (config.init_std, config.embedding_std, config.token_std) == (0.02, 0.02, 0.02)
    with torch.device("meta"):  # the size of the table follows that of the tokens
        assert Transformer(config).encodings[0].adding.std == 0.02
    few = preset(size, encoding="none", vocabulary=300, layers=1, hidden=512)
    found = spreads(Transformer(few))
    assert found.pop("embedding.weight")[0] == pytest.approx(0.02, rel=0.1)
    for name, (spread, _) in found.items():
        joins = name.endswith(("output.weight", "narrow.weight"))
        assert spread == pytest.approx(0.02 / 2**0.5 if joins else 0.02, rel=0.1), name


@pytest.mark.parametrize("preset_name", ["classic", "modern"])
def test_other_presets_have_no_fixed_spread(preset_name: str) -> None:
    config = preset(preset_name, encoding="none", vocabulary=50, dim=64)
    assert config.init_std is config.embedding_std is None and config.token_std == 1 / 8


@pytest.mark.parametrize("name", ["init_std", "embedding_std"])
@pytest.mark.parametrize("value", [0.0, -0.02])
def test_a_spread_must_be_above_zero(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} must be above 0, got {value:g}"):
        small(**{name: value})
