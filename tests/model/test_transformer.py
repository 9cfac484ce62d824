"""The transformer around the encodings."""

import pytest
import torch
from torch.testing import assert_close

from ordinate import InputError, ModelConfig, Transformer, combine, encodings, generate, preset
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
    keep = torch.cat(tuple(torch.ones_like(p, dtype=torch.bool) if p is not pad else p.bool() for p in parts), dim=1)
    expected = model(TOKENS[:, :9])
    assert expected.shape == (3, 3)
    assert_close(model(torch.cat(parts, dim=1), keep=keep), expected, atol=1e-5, rtol=1e-5)


def test_packed_documents_may_continue_and_may_see_each_other() -> None:
    documents = torch.tensor([[0] * 6 + [1] * 8])
    whole = small("rope")(TOKENS[:1])
    seeing = small("rope", document_positions="continue", document_mask=False)
    assert_close(seeing(TOKENS[:1], documents=documents), whole, atol=1e-5, rtol=1e-5)
    masked = small("rope", document_positions="continue")(TOKENS[:1], documents=documents)
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
    with torch.no_grad():
        model.embedding.weight.mul_(5)

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
        keep = torch.arange(6)[None].expand(3, -1) >= 2
        assert torch.equal(generate(model, prompt, 6, keep=keep)[:, 2:], generate(model, TOKENS[:, :4], 6))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: small("rope", dim=20, heads=4), "rope needs an even head width, got 5 \\(dim 20 / heads 4\\)"),
        (lambda: small("rope_2d"), "rope_2d reads positions with 2 axes, but the model's have 1"),
        (lambda: small("cope", causal=False), "cope is defined for causal attention alone"),
        (lambda: small("rope", axes=2), "rope reads positions with 1 axes, but the model's have 2"),
        (lambda: small("rope_2d", axes=2)(TOKENS), "cannot be guessed"),
        (lambda: small("learned")(torch.zeros(1, 17).long()), "position 16 is out of range: learned refuses"),
        (lambda: small("segment")(TOKENS, segments=TOKENS), "segment knows segments 0 to 1, found"),
        (lambda: small("segment")(TOKENS), "pass segments="),
        (lambda: small("cope+shaw"), "both change scores by content"),
        (lambda: small(causal=False).cache(1, 2), "only a causal model"),
        (lambda: small()(TOKENS, cache=small().cache(3, 5)), "room for 5 tokens"),
        (lambda: generate(small(readout="mean", classes=2), TOKENS, 3), "this model classifies"),
        (lambda: generate(small(), TOKENS, 3, temperature=1.0), "needs a generator"),
        (lambda: generate(small(), TOKENS[:, :0], 3), "at least one token"),
        (lambda: preset("moden", encoding="rope"), "did you mean modern"),
        (lambda: Transformer(small().config, [encodings.create("alibi", dim=32, heads=2, length=16)] * 2),
         "alibi was made for heads 2, but the model has heads 4"),
        (lambda: pick_device("cuda"), "this machine has none"),
        (lambda: pick_device("gpu"), "unknown device"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_sentence(call: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()  # type: ignore[operator]


def test_the_best_device_is_found() -> None:
    assert pick_device("auto").type in ("cpu", "cuda", "mps")
