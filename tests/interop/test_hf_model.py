"""Our transformer as a transformers model: of which architecture, by which route, and with the same logits."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from ordinate import InputError, ModelConfig, Transformer, load_exported, load_hf, preset
from ordinate.interop.hf_model import as_hf
from ordinate.model.exported import save_exported

SIZES = dict(dim=24, heads=4, layers=2, length=32, vocabulary=50)
MODERN = ["rope", "rope(scaling=yarn,factor=4,original=8)", "rope(pairs=interleaved)", "learned", "alibi", "t5",
          "binary(scale_tokens=true)", "sinusoidal", "fox", "none"]  # fmt: skip


@torch.no_grad()
def made(name: str, encoding: str, **settings: object) -> Transformer:
    """A model with weights as after training."""
    model, source = Transformer(preset(name, SIZES, encoding=encoding, **settings)).eval(), torch.Generator()
    for weight in model.parameters():
        weight.add_(0.2 * torch.randn(weight.shape, generator=source.manual_seed(weight.numel())))
    return model


@torch.no_grad()
def saved(model: Transformer, folder: Path) -> None:
    """Its logits come back from the folder: through transformers alone, or with the encoding attached."""
    theirs = as_hf(model, end=0)
    theirs.save_pretrained(folder)
    attached = hasattr(theirs.config, "ordinate")
    again = load_hf(folder) if attached else AutoModelForCausalLM.from_pretrained(folder)
    tokens = torch.arange(30).view(1, 30)
    torch.testing.assert_close(again(tokens).logits, model(tokens), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("encoding", MODERN)
def test_modern_blocks_are_those_of_qwen3(encoding: str, tmp_path: Path) -> None:
    model = made("modern", encoding)
    theirs = as_hf(model)
    native = encoding.startswith("rope") and "interleaved" not in encoding
    assert type(theirs).__name__ == "Qwen3ForCausalLM" and hasattr(theirs.config, "ordinate") != native
    saved(model, tmp_path)


@pytest.mark.parametrize(("encoding", "native"), [("learned", True), ("learned(beyond=clip)", False), ("alibi", False)])
@pytest.mark.parametrize("tied", [True, False])
def test_classic_blocks_are_those_of_gpt2(encoding: str, native: bool, tied: bool, tmp_path: Path) -> None:
    """Alibi too: BLOOM, which has it, also has a norm on its embeddings."""
    model = made("classic", encoding, tied=tied)
    theirs = as_hf(model)
    assert type(theirs).__name__ == "GPT2LMHeadModel" and hasattr(theirs.config, "ordinate") != native
    saved(model, tmp_path)


def test_without_norms_of_queries_it_is_a_llama(tmp_path: Path) -> None:
    model = made("modern", "rope", qk_norm=False, tied=False, kv_heads=2, head_dim=10, hidden=30)
    assert type(as_hf(model)).__name__ == "LlamaForCausalLM"
    saved(model, tmp_path)


@pytest.mark.parametrize(
    "settings", [dict(norm_place="post"), dict(activation="gelu"), dict(residual=False), dict(causal=False)]
)
def test_blocks_that_transformers_does_not_have_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match="no architecture with exactly these blocks"):
        as_hf(made("modern", "rope", **settings))


def test_other_logits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a route ever not exact, nobody would get the model."""
    monkeypatch.setattr("ordinate.interop.hf_model.to_hf", lambda part: {"rope_type": "default", "rope_theta": 50.0})
    with pytest.raises(InputError, match=r"gives other logits .* it cannot be exported exactly"):
        as_hf(made("modern", "rope"))


def test_two_plain_files_hold_a_transformer(tmp_path: Path) -> None:
    model, tokens = made("modern", "random_fourier+fire"), torch.arange(30).view(1, 30)
    save_exported(model, tmp_path, note="for people")
    assert torch.equal(load_exported(tmp_path)(tokens), model(tokens))
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="does not hold the weights of this model"):
        load_exported(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(InputError, match="load a transformers model with from_pretrained"):
        load_exported(tmp_path)
    with pytest.raises(InputError, match="is no folder with a config"):
        load_exported(tmp_path / "missing")


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    save_exported(made("modern", "learned"), tmp_path)
    config = (tmp_path / "config.json").read_text().replace('"learned"', '"alibi"')
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(InputError, match="does not hold the weights of this model"):
        load_exported(tmp_path)


def test_the_configuration_is_kept_whole(tmp_path: Path) -> None:
    config = ModelConfig(vocabulary=9, encoding=("rope", "none"), dim=12, heads=2, layers=3, kv_heads=1, head_dim=4)
    save_exported(Transformer(config), tmp_path)
    assert load_exported(tmp_path).config == config
