"""A trained language model as a folder for others: weights, configuration, tokenizer and a model card."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from ordinate.core.errors import InputError
from ordinate.core.extras import optional
from ordinate.interop.hf_model import as_hf
from ordinate.interop.installed import transformers
from ordinate.interop.reload import quiet
from ordinate.lm.model_card import Loading, model_card
from ordinate.lm.trained_model import TrainedModel
from ordinate.model.exported import save_exported
from ordinate.text.corpus import Corpus
from ordinate.text.manifest import TOKENIZER
from ordinate.text.tokenizer import END, END_ID
from ordinate.text.tokenizer import load as load_tokenizer

Format = Literal["transformers", "safetensors"]
FORMATS: tuple[Format, ...] = ("transformers", "safetensors")

# With this file in the folder, transformers loads an attached encoding by itself: trust_remote_code=True runs it.
_MODULE = '''"""Loads this model with its positional encoding. It needs the package ordinate."""

import ordinate
from transformers import {base}


class Ordinate{base}({base}):
    @classmethod
    def from_pretrained(cls, folder, *args, config=None, **settings):
        return ordinate.load_hf(folder, **settings)
'''


def export(trained: TrainedModel, corpus: Corpus, folder: Path, form: Format = "transformers") -> Loading:
    """Write the folder, as a whole or not at all. Returns how the model in it is loaded."""
    with _whole(folder) as place:
        if form == "safetensors":
            loading: Loading = "safetensors"
            save_exported(trained.model, place, encoding=trained.config.encoding, corpus=corpus.fingerprint)
            shutil.copyfile(corpus.folder / TOKENIZER, place / TOKENIZER)
        else:
            loading = _save_transformers(trained, corpus, place)
        (place / "README.md").write_text(model_card(trained, corpus, loading, folder.name), encoding="utf-8")
    return loading


def _save_transformers(trained: TrainedModel, corpus: Corpus, place: Path) -> Loading:
    hf, model = transformers(), as_hf(trained.model, end=END_ID)
    kind, attached = type(model).__name__, hasattr(model.config, "ordinate")
    if attached:
        (place / "modeling_ordinate.py").write_text(_MODULE.format(base=kind), encoding="utf-8")
        model.config.auto_map = {"AutoModelForCausalLM": f"modeling_ordinate.Ordinate{kind}"}
    with quiet(hf):
        model.save_pretrained(place)
        _tokenizer(hf, corpus).save_pretrained(place)
    return "attached" if attached else "transformers"


def _tokenizer(hf: Any, corpus: Corpus) -> Any:
    """The corpus' own, which puts `<|endoftext|>` before every text: documents began with it in training."""
    tokenizer = load_tokenizer(corpus.folder / TOKENIZER)
    template = optional("tokenizers").processors.TemplateProcessing
    tokenizer.post_processor = template(single=f"{END} $A", special_tokens=[(END, END_ID)])
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END)


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """A folder beside this one, which becomes it once all is written."""
    if folder.is_symlink() or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
        raise InputError(f"{folder} exists already: name a new folder with -o")
    if not folder.parent.is_dir():
        raise InputError(f"{folder} cannot be written: there is no folder {folder.parent}")
    try:
        place = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from error
    try:
        yield place
        place.chmod(0o755)  # made for its owner alone, as are some files of the libraries
        for file in place.iterdir():
            file.chmod(0o644)
        os.replace(place, folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
