"""Configurations: frozen, strict, hashed by content; and how people write them."""

from dataclasses import FrozenInstanceError

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ordinate import InputError, ModelConfig, Transformer, preset
from ordinate.core.config import DERIVED, build, digest, to_dict
from ordinate.core.parsing import Choice, parse_choice, parse_pairs, parse_value


def test_frozen() -> None:
    config = ModelConfig(vocabulary=4, encoding="none")
    with pytest.raises(FrozenInstanceError):
        config.dim = 3  # type: ignore[misc]


def test_all_problems_are_told_at_once_with_the_nearest_key() -> None:
    with pytest.raises(InputError) as error:
        build(ModelConfig, {"vocabulary": 4, "encodng": "rope", "norm": "batch", "dim": "wide"})
    text = str(error.value)
    for part in ("did you mean encoding", "one of layer, rms", "dim must be a whole number", "encoding is missing"):
        assert part in text


def test_later_layers_win() -> None:
    config = preset("modern", {"dim": 64}, encoding="rope", dim=32, heads=4)
    assert (config.dim, config.norm, config.tied) == (32, "rms", True)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (dict(dim=30, heads=4), "4 heads do not divide dim 30"),
        (dict(heads=4, kv_heads=3), "kv_heads 3 must divide heads 4"),
        (dict(dropout=1.0), "dropout must be"),
        (dict(layers=0), "layers must be at least 1"),
        (dict(tied=True, classes=3), "tied embeddings need classes = vocabulary"),
        (dict(tied=True, readout="mean"), "belong to per-token logits"),
        (dict(encoding=""), "encoding is empty"),
    ],
)
def test_impossible_models_are_refused_in_one_sentence(settings: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ModelConfig(**({"vocabulary": 7, "encoding": "none"} | settings))


@pytest.mark.parametrize("hidden", [None, 7, 512, 513])
def test_a_width_reads_back_as_a_number(hidden: int | None) -> None:
    """A width equal to the default gives the same model: equal configurations with equal digests."""
    default = ModelConfig(vocabulary=4, encoding="none", dim=128)
    config = default if hidden is None else ModelConfig(vocabulary=4, encoding="none", dim=128, hidden=hidden)
    assert config.hidden == (hidden or 512)
    assert (digest(config) == digest(default)) == (config == default) == (hidden in (None, 512))
    assert (config.kv_heads, config.head_dim, config.classes) == (4, 32, 4)
    assert Transformer(config).blocks[0].wide.out_features == config.hidden


@pytest.mark.parametrize(("dim", "heads", "head_dim"), [(20, 3, 6), (20, 3, 7), (24, 3, 8)])
def test_a_head_width_is_kept_whether_or_not_heads_divide_dim(dim: int, heads: int, head_dim: int) -> None:
    config = ModelConfig(vocabulary=4, encoding="none", dim=dim, heads=heads, head_dim=head_dim)
    assert config.head_dim == head_dim and build(ModelConfig, to_dict(config)) == config
    assert Transformer(config)(torch.zeros(1, 2, dtype=torch.long)).shape == (1, 2, 4)


@pytest.mark.parametrize("name", ["kv_heads", "head_dim", "hidden", "classes"])
def test_none_means_the_derived_number(name: str) -> None:
    default = ModelConfig(vocabulary=4, encoding="none", dim=128)
    assert build(ModelConfig, {"vocabulary": 4, "encoding": "none", name: None}) == default
    assert getattr(default, name) > 0
    with pytest.raises(InputError, match=f"{name} must be at least 1"):
        ModelConfig(vocabulary=4, encoding="none", dim=128, **{name: 0})
    with pytest.raises(InputError, match=f"{name} has more than 63 bits"):
        ModelConfig(vocabulary=4, encoding="none", dim=128, **{name: DERIVED - 1})


def test_digest_depends_on_content_alone() -> None:
    a = build(ModelConfig, {"vocabulary": 4, "encoding": "rope"})
    b = build(ModelConfig, {"encoding": "rope", "vocabulary": 4.0, "dim": 128})
    assert digest(a) == digest(b)
    assert digest(a) != digest(build(ModelConfig, {"vocabulary": 5, "encoding": "rope"}))
    assert build(ModelConfig, to_dict(a)) == a


@given(st.one_of(st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)))
def test_values_survive_being_written(value: object) -> None:
    assert parse_value(str(value)) == value


def test_pairs_nest_and_complain() -> None:
    assert parse_pairs(["lr=3e-3", "model.dim=64", "model.encoding=rope"]) == {
        "lr": 3e-3,
        "model": {"dim": 64, "encoding": "rope"},
    }
    with pytest.raises(InputError, match="expected key=value"):
        parse_pairs(["lr"])
    with pytest.raises(InputError, match="already given"):
        parse_pairs(["model=3", "model.dim=4"])


def test_choices_as_people_write_them() -> None:
    assert parse_choice("rope") == (Choice("rope"),)
    assert parse_choice(" segment + rope( scaling=yarn , factor=4 ) ") == (
        Choice("segment"),
        Choice("rope", (("factor", 4), ("scaling", "yarn"))),
    )
    assert parse_choice("rope(short=[1,2.5])")[0].parameters == (("short", (1, 2.5)),)
    for bad in ("", "rope(", "rope(base)", "+rope", "rope)("):
        with pytest.raises(InputError, match="cannot read"):
            parse_choice(bad)
