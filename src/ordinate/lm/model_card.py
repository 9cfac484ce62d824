"""The README of an exported language model: what it is, what it was trained on, what it scores, how to load it."""

from typing import Literal

from ordinate.lm.checkpoint_folder import result_of
from ordinate.lm.trained_model import TrainedModel
from ordinate.text.corpus import Corpus
from ordinate.text.tokenizer import END

Loading = Literal["transformers", "attached", "safetensors"]  # by transformers alone, with an encoding, or by ours
LOADING: dict[Loading, str] = {
    "transformers": 'AutoModelForCausalLM.from_pretrained("{folder}")',
    "attached": 'ordinate.load_hf("{folder}")',
    "safetensors": 'ordinate.load_exported("{folder}")',
}
_GENERATE = """tokenizer = AutoTokenizer.from_pretrained("{folder}")
prompt = tokenizer("The", return_tensors="pt")
print(tokenizer.decode(model.generate(**prompt, max_new_tokens=32)[0]))
"""
_CODE: dict[Loading, str] = {
    "transformers": "from transformers import AutoModelForCausalLM, AutoTokenizer\n\nmodel = {load}\n" + _GENERATE,
    "attached": "import ordinate  # or AutoModelForCausalLM with trust_remote_code=True, which needs it too\n"
    "from transformers import AutoTokenizer\n\nmodel = {load}\n" + _GENERATE,
    "safetensors": "import ordinate\nimport torch\nfrom tokenizers import Tokenizer\n\nmodel = {load}\n"
    'tokenizer = Tokenizer.from_file("{folder}/tokenizer.json")\n'
    'prompt = torch.tensor([[0, *tokenizer.encode("The").ids]])  # 0 begins every text\n'
    "print(tokenizer.decode(ordinate.generate(model, prompt, 32)[0].tolist()))\n",
}


def model_card(trained: TrainedModel, corpus: Corpus, loading: Loading, folder: str) -> str:
    """Markdown, with the metadata that the Hugging Face Hub reads at the top."""
    library = "ordinate" if loading == "safetensors" else "transformers"
    table = "\n".join(f"| {name} | {value} |" for name, value in _facts(trained, corpus).items())
    remark = trained.undecayed_remark
    warning = f"\n**Not finished:** {remark}.\n" if remark else ""
    code = _CODE[loading].format(load=LOADING[loading].format(folder=folder), folder=folder)
    return f"""---
library_name: {library}
pipeline_tag: text-generation
tags: [positional-encoding, ordinate]
---

# {trained.name}

A language model trained with Ordinate to compare positional encodings. It is a research model of its size, not a
product: it continues text like that which it was trained on, and was neither filtered nor aligned.

|  |  |
|---|---|
{table}
{warning}
## Load it

```python
{code}```
"""


def _facts(trained: TrainedModel, corpus: Corpus) -> dict[str, str]:
    config, model = trained.config, trained.config.model
    parameters = sum(weight.numel() for weight in trained.model.parameters())
    blocks = [f"{model.norm} norm", model.activation, *["QK-norm"] * model.qk_norm]
    packing = f"{model.document_positions}+{'masked' if model.document_mask else 'unmasked'}"
    mix = f", with a share of {config.mix:g} algorithmic problems" if config.mix else ""
    result = result_of(trained.path.parent) if trained.decayed else None
    return {
        "positional encoding": f"`{config.encoding}`",
        "size": f"{config.size}: width {model.dim}, {model.layers} layers, {model.heads} heads",
        "parameters": f"{parameters:,}",
        "blocks": ", ".join([*blocks, "tied embeddings" if model.tied else "embeddings not tied"]),
        "trained length": f"{model.length:,} tokens",
        "vocabulary": f"{model.vocabulary:,} tokens; `{END}` begins every document",
        "trained on": f"{trained.tokens:,} tokens of `{corpus.manifest.recipe.source}`, packed {packing}{mix}",
        "corpus fingerprint": f"`{corpus.fingerprint}`",
        "checkpoint": f"`{trained.name}`, step {trained.step:,}, seed {config.seed}, sha256 `{trained.sha256}`",
        "validation loss": "not measured at this step"
        if result is None
        else f"{result.valid_loss:.4f} nats per token, {result.bits_per_byte:.4f} bits per byte",
    }
