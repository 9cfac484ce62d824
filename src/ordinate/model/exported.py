"""A transformer as two plain files, model.safetensors and config.json, without what trained it."""

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ordinate.core.config import build, to_dict
from ordinate.core.errors import InputError
from ordinate.model.config import ModelConfig
from ordinate.model.transformer import Transformer
from ordinate.store.files import read_json, write_json

CONFIG, WEIGHTS = "config.json", "model.safetensors"
KIND = "ordinate"  # model_type in config.json


def save_exported(model: Transformer, folder: Path, **about: Any) -> None:
    """Write both files; `about`: further entries of config.json, for people."""
    weights = {name: weight.detach().contiguous().cpu() for name, weight in model.state_dict().items()}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    write_json(folder / CONFIG, {"model_type": KIND, "model": to_dict(model.config), **about})


def load_exported(folder: str | Path) -> Transformer:
    """The transformer that `ordinate lm export --format safetensors` wrote, with its weights, in evaluation mode."""
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        raise InputError(f"{folder} is no folder with a {CONFIG}: name one that `ordinate lm export` wrote")
    content = read_json(folder / CONFIG)
    if not isinstance(content, dict) or content.get("model_type") != KIND or not isinstance(content.get("model"), dict):
        raise InputError(
            f"{folder / CONFIG} is not of `ordinate lm export --format safetensors`: load a transformers model with"
            " from_pretrained, one with an attached encoding with ordinate.load_hf"
        )
    model = Transformer(build(ModelConfig, content["model"]))
    try:
        weights = load_file(folder / WEIGHTS)
        model.load_state_dict(weights)
    except (OSError, SafetensorError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(f"{folder / WEIGHTS} does not hold the weights of this model: {first}") from error
    return model.eval()
