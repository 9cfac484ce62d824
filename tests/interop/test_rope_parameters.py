"""Rotary parameters to and from transformers: the same turns as its own modules, for every type."""

import copy
import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding
from transformers.models.gemma4.modeling_gemma4 import Gemma4TextRotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from ordinate import Encoding, InputError, Positions, encodings, from_hf, to_hf
from ordinate.interop.rope_parameters import INTERLEAVED

LENGTH, WIDTH = 64, 16
many = settings(deadline=None, derandomize=True, max_examples=15)

stretch = dict(factor=4.0, original_max_position_embeddings=16)
lists = dict(short_factor=[1.0 + i / 8 for i in range(8)], long_factor=[2.0 + i for i in range(8)])
TYPES: list[dict[str, Any]] = [
    dict(rope_type="default"),
    dict(rope_type="default", rope_theta=5e5),
    dict(rope_type="linear", factor=3.0),
    dict(rope_type="dynamic", factor=2.0),
    dict(rope_type="yarn", **stretch),
    dict(rope_type="yarn", **stretch, beta_fast=8.0, beta_slow=2.0, truncate=False),
    dict(rope_type="yarn", **stretch, mscale=0.7, mscale_all_dim=0.5),
    dict(rope_type="yarn", **stretch, mscale=0.7),  # alone it counts for nothing
    dict(rope_type="yarn", **stretch, attention_factor=1.5, mscale=0.7, mscale_all_dim=0.5, beta_fast=0),
    dict(rope_type="yarn", factor=None, original_max_position_embeddings=16),
    dict(rope_type="longrope", **stretch, **lists),
    dict(rope_type="longrope", original_max_position_embeddings=16, **lists),
    dict(rope_type="longrope", **stretch, **lists, attention_factor=1.25),
    dict(rope_type="llama3", **stretch, low_freq_factor=1.0, high_freq_factor=3.0),
    dict(rope_type="proportional", partial_rotary_factor=0.5),
    dict(rope_type="proportional", partial_rotary_factor=0.3, factor=2.0),
]


def llama_config(parameters: dict[str, Any]) -> hf.LlamaConfig:
    return hf.LlamaConfig(
        hidden_size=64, num_attention_heads=4, head_dim=WIDTH, max_position_embeddings=LENGTH,
        rope_parameters={"rope_theta": 1e4} | copy.deepcopy(parameters),
    )  # fmt: skip


def turned(encoding: Encoding, x: Tensor, positions: Tensor) -> Tensor:
    return encoding.rotate(x, encoding.prepare(Positions(positions[..., None])), "q")


def test_every_type_of_transformers_is_tried() -> None:
    assert {kind["rope_type"] for kind in TYPES} == {*ROPE_INIT_FUNCTIONS, "default"}


@many
@pytest.mark.parametrize("parameters", TYPES, ids=lambda kind: kind["rope_type"])
@given(st.integers(1, 2 * LENGTH), st.integers(1, 3))
def test_turns_are_those_of_transformers(parameters: dict[str, Any], length: int, batch: int) -> None:
    """Both ways, below and past the trained length: from a configuration, and back into another one."""
    config = llama_config(parameters)
    encoding = from_hf(config)
    x = torch.randn(batch, 4, length, WIDTH)
    positions = torch.arange(length)[None]
    cos, sin = LlamaRotaryEmbedding(config)(x, positions)
    expected, _ = apply_rotary_pos_emb(x, x, cos, sin)
    assert_close(turned(encoding, x, positions), expected, atol=2e-5, rtol=1e-4)

    back = llama_config(to_hf(encoding))
    cos, sin = LlamaRotaryEmbedding(back)(x, positions)
    assert_close(apply_rotary_pos_emb(x, x, cos, sin)[0], expected, atol=2e-5, rtol=1e-4)
    assert from_hf(back).parameters_given.items() >= encoding.parameters_given.items()


OURS: list[dict[str, Any]] = [
    dict(), dict(base=500.0), dict(fraction=0.5), dict(scaling="linear", factor=2.0), dict(scaling="ntk", factor=4.0),
    dict(scaling="ntk", factor=4.0, fraction=0.5), dict(scaling="dynamic", factor=2.0),
    dict(scaling="yarn", factor=4.0), dict(scaling="yarn", factor=4.0, original=16, beta_fast=16.0, truncate=False),
    dict(scaling="yarn", factor=4.0, mscale=1.0, mscale_all_dim=0.5),
    dict(scaling="llama3", factor=8.0, original=32, high=2.0),
    dict(scaling="longrope", factor=2.0, short=(1.0,) * 8, long=(4.0,) * 8),
    dict(scaling="longrope", short=(1.0,) * 8, long=(4.0,) * 8, attention_factor=1.1),
    dict(scaling="proportional", fraction=0.25), dict(scaling="proportional", fraction=0.25, factor=3.0),
]  # fmt: skip


@pytest.mark.parametrize("parameters", OURS, ids=str)
def test_ours_there_and_back(parameters: dict[str, Any]) -> None:
    shape = dict(dim=64, heads=4, length=LENGTH)
    encoding = encodings.create("rope", **shape, **parameters)
    given = to_hf(encoding)
    assert {"rope_type", "rope_theta"} <= set(given)
    back = from_hf(llama_config(given))
    x, positions = torch.randn(2, 4, 90, WIDTH), torch.arange(90)[None]
    assert_close(turned(back, x, positions), turned(encoding, x, positions), atol=2e-5, rtol=1e-4)
    if parameters.get("scaling") != "ntk":  # there it is a larger base
        assert back.parameters_given.items() >= parameters.items()


def test_the_dictionary_is_written_as_transformers_does() -> None:
    rope = encodings.create("rope", dim=64, heads=4, length=128, base=5e5, scaling="llama3", factor=8, original=32)
    assert to_hf(rope) == dict(
        rope_type="llama3", rope_theta=5e5, factor=8.0, original_max_position_embeddings=32, low_freq_factor=1.0,
        high_freq_factor=4.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("config", "module"),
    [
        (hf.PhiConfig(partial_rotary_factor=0.5), "phi"),
        (hf.GPTNeoXConfig(rotary_pct=0.25), "gpt_neox"),
        (hf.GlmConfig(head_dim=32), "glm"),
        (hf.CohereConfig(), "cohere"),
        (hf.HeliumConfig(head_dim=32), "helium"),
        (
            hf.Phi3Config(
                original_max_position_embeddings=32, max_position_embeddings=64, partial_rotary_factor=0.5,
                pad_token_id=0,
                rope_parameters=dict(rope_type="longrope", short_factor=[1.0] * 24, long_factor=[3.0] * 24),
            ),
            "phi3",
        ),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)  # fmt: skip
def test_parts_of_heads_and_pairs_of_neighbors(config: hf.PreTrainedConfig, module: str) -> None:
    """As the model's own code turns: some turn a part of the head alone, some pair channel 2k with 2k + 1."""
    code = importlib.import_module(f"transformers.models.{module}.modeling_{module}")
    rotary = next(getattr(code, name) for name in dir(code) if name.endswith("RotaryEmbedding"))(config)
    encoding = from_hf(config)
    width = encoding.shape.head_dim
    x, positions = torch.randn(2, encoding.shape.heads, 40, width), torch.arange(40)[None]
    cos, sin = rotary(x, positions)
    part = x[..., : cos.shape[-1]] if module == "phi" else x  # phi cuts the head before it calls
    expected, _ = code.apply_rotary_pos_emb(part, part, cos, sin)
    expected = torch.cat((expected, x[..., expected.shape[-1] :]), dim=-1)
    assert_close(turned(encoding, x, positions), expected, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("config", "rotary"),
    [
        (hf.Gemma3TextConfig(hidden_size=64, num_attention_heads=4, head_dim=16), Gemma3RotaryEmbedding),
        (hf.Gemma4TextConfig(hidden_size=64, num_attention_heads=4, head_dim=16), Gemma4TextRotaryEmbedding),
    ],
    ids=["gemma3", "gemma4"],
)
@pytest.mark.parametrize("layer_type", ["full_attention", "sliding_attention"])
def test_types_of_layers(config: hf.PreTrainedConfig, rotary: Any, layer_type: str) -> None:
    encoding = from_hf(config, layer_type=layer_type)
    x, positions = torch.randn(1, 4, 30, encoding.shape.head_dim), torch.arange(30)[None]
    cos, sin = rotary(config)(x, positions, layer_type=layer_type)
    assert_close(turned(encoding, x, positions), apply_rotary_pos_emb(x, x, cos, sin)[0], atol=2e-5, rtol=1e-4)
    with pytest.raises(InputError, match=r"full_attention.*choose with layer_type="):
        from_hf(config)
    with pytest.raises(InputError, match="has no layer_type 'other'"):
        from_hf(config, layer_type="other")


def test_models_that_pair_neighbors_say_so_in_their_code() -> None:
    """The configuration does not tell; the list here is right as long as the code reads every second channel."""
    models = Path(hf.__file__).parent / "models"
    for name in INTERLEAVED:
        folder = name.removesuffix("_text")
        code = (models / folder / f"modeling_{folder}.py").read_text()
        assert "::2]" in code or "view_as_complex" in code, name


def test_a_layer_type_without_rotation_has_no_encoding() -> None:
    config = hf.Gemma3TextConfig(hidden_size=64, num_attention_heads=4, head_dim=16)
    config.rope_parameters["sliding_attention"] = None
    assert from_hf(config, layer_type="sliding_attention").name == "none"


def refused(parameters: dict[str, Any], sentence: str) -> None:
    config = llama_config(dict(rope_type="default"))
    config.rope_parameters = {"rope_theta": 1e4} | parameters
    with pytest.raises(InputError, match=sentence):
        from_hf(config)


def test_what_ours_cannot_say_is_refused() -> None:
    refused(dict(rope_type="axial"), "rope has no type 'axial'.*it has default, linear")
    refused(dict(rope_type="dynamic", factor=2.0, alpha=1000.0), "rope cannot express alpha")
    refused(dict(rope_type="default", mrope_section=[2, 3, 3]), "rope cannot express mrope_section")
    refused(dict(rope_type="linear"), "type linear need a factor, found none")
    refused(dict(rope_type="linear", factor=0.5), "rope parameter factor must be at least 1, got 0.5")
    with pytest.raises(InputError, match="GPT2Config has no rope_parameters"):
        from_hf(hf.GPT2Config())
    with pytest.raises(InputError, match="from_hf takes a configuration of transformers, got dict"):
        from_hf({"rope_type": "default"})
    with pytest.raises(
        InputError, match="has no layer_type 'full_attention', but rotary parameters that all layers share"
    ):
        from_hf(hf.LlamaConfig(), layer_type="full_attention")
    with pytest.raises(InputError, match="rope cannot express mrope_section"):
        from_hf(
            hf.Qwen2VLTextConfig(rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[16, 24, 24]))
        )


def test_what_theirs_cannot_say_is_refused() -> None:
    shape = dict(dim=64, heads=4, length=64)
    with pytest.raises(InputError, match=r"no parameter for pairs=interleaved.*pairs=halves"):
        to_hf(encodings.create("rope", **shape, pairs="interleaved"))
    with pytest.raises(InputError, match="transformers has no parameters for this alibi: rope alone"):
        to_hf(encodings.create("alibi", **shape))
    with pytest.raises(InputError, match=r"from max_position_embeddings on.*make it with length=32"):
        to_hf(encodings.create("rope", **shape, scaling="dynamic", factor=2, original=32))
