"""Anyone's model: what probes see is what transformers itself returns."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf

from ordinate.core.errors import InputError
from ordinate.interop.local_model import LocalModel
from ordinate.probes.transformers_probe import (
    accuracy,
    open_transformers,
    position_costs,
    probe_transformers,
    random_repeated,
)
from ordinate.report.model_probe_words import model_lines
from ordinate.report.probe_report import page, transformers_report
from ordinate.results.serialize import write

SMALL: dict[str, Any] = dict(vocab_size=50, pad_token_id=0, bos_token_id=1, eos_token_id=2)
LLAMA = dict(
    hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=64,
)  # fmt: skip
CONFIGS: dict[str, Any] = {
    "llama": lambda: hf.LlamaConfig(**SMALL, **LLAMA),
    "gpt2": lambda: hf.GPT2Config(**SMALL, n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "neox": lambda: hf.GPTNeoXConfig(**SMALL, **{k: v for k, v in LLAMA.items() if k != "num_key_value_heads"}),
    "opt": lambda: hf.OPTConfig(
        **SMALL, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64,
        word_embed_proj_dim=32,
    ),
}  # fmt: skip


def saved(name: str, folder: Path) -> Path:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        hf.AutoModelForCausalLM.from_config(CONFIGS[name]()).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", CONFIGS)
def test_attention_is_what_transformers_returns(name: str, tmp_path: Path) -> None:
    model = LocalModel.load(saved(name, tmp_path))
    tokens = torch.randint(3, 50, (2, 12))
    seen: list[torch.Tensor] = []
    model.attention(tokens, lambda layer, weights: seen.append(weights))
    expected = model.run(tokens, output_attentions=True).attentions
    assert len(seen) == len(expected) == 2
    assert all(torch.equal(one, other) for one, other in zip(seen, expected, strict=True))
    assert len(model.states(tokens)) == 3


def test_a_model_is_probed_and_told(tmp_path: Path) -> None:
    subject = open_transformers(saved("llama", tmp_path), sequences=8, length=16)
    probe = probe_transformers(subject)
    assert probe.lengths == (16, 32) and len(probe.heads) == 8 and len(probe.layers) == 3
    json.dumps(write(probe), allow_nan=False)
    assert {each.name: each.cost for each in probe.interventions}["shift within"] == pytest.approx(0.0, abs=0.02)
    lines = dict(model_lines(probe))
    assert "Layer" in lines["Does"] and "permuting positions" in lines["What costs what"]
    shown = page(transformers_report(probe, subject))
    assert "Attention by distance" in shown and "Attention on one example, all heads" in shown


def test_rotary_logits_do_not_change_under_a_shift_and_those_of_a_table_do(tmp_path: Path) -> None:
    tokens = random_repeated(50, 16, 4)
    assert torch.equal(tokens[:, :8], tokens[:, 8:])
    at = torch.arange(16)[None]
    for name, relative in (("llama", True), ("gpt2", False)):
        model = LocalModel.load(saved(name, tmp_path / name))
        plain, moved, mixed = (model.run(tokens, p).logits for p in (at, at + 20, at.flip(1)))
        assert torch.allclose(plain, moved, atol=1e-4) == relative
        assert not torch.allclose(plain, mixed, atol=1e-4)
        assert torch.allclose(plain, model.run(tokens).logits, atol=1e-5), "the default is to count"
        assert {each.name for each in position_costs(model, tokens, 8)} == {"permute", "shift within", "freeze"}
    guesses = model.run(tokens).logits[:, :-1].argmax(dim=-1)
    assert accuracy(model, tokens, at, 8) == pytest.approx((guesses[:, 7:] == tokens[:, 8:]).double().mean().item())


def test_what_cannot_be_probed_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no model of transformers: it has no config\.json"):
        open_transformers(tmp_path / "nothing")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be read as a causal language model"):
        open_transformers(tmp_path)
    folder = saved("llama", tmp_path / "llama")
    with pytest.raises(InputError, match="64 positions, fewer than a length of 65"):
        open_transformers(folder, length=65)
    with pytest.raises(InputError, match="at least 8 tokens, got 3"):
        open_transformers(folder, length=3)
    with pytest.raises(InputError, match="at least 4 sequences"):
        open_transformers(folder, sequences=1)
    with pytest.raises(InputError, match=r"notes\.txt cannot be read"):
        open_transformers(folder, tmp_path / "notes.txt", length=16).tokens(16, 1)
    (tmp_path / "notes.txt").write_text("some words")
    with pytest.raises(InputError, match="no tokenizer"):
        open_transformers(folder, tmp_path / "notes.txt", length=16).tokens(16, 1)


def test_a_text_is_read_by_the_tokenizer_of_the_model(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = saved("llama", tmp_path / "llama")
    words = {f"w{number}": number for number in range(50)}
    own = Tokenizer(models.WordLevel(words, unk_token="w0"))
    own.pre_tokenizer = pre_tokenizers.Whitespace()
    hf.PreTrainedTokenizerFast(tokenizer_object=own).save_pretrained(folder)
    (tmp_path / "text.txt").write_text(" ".join(f"w{number % 47 + 3}" for number in range(300)))
    probe = probe_transformers(open_transformers(folder, tmp_path / "text.txt", sequences=4, length=16))
    assert probe.tokens == "text" and probe.interventions
    with pytest.raises(InputError, match=r"has 18 sequences of 16 tokens, and 40 are needed"):
        open_transformers(folder, tmp_path / "text.txt", length=16).tokens(16, 40)
