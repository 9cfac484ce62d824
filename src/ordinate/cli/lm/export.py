"""`ordinate lm export`: a trained language model as a folder for others."""

import json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ordinate.cli.console import say
from ordinate.cli.lm.request import Data
from ordinate.cli.options import AsJson
from ordinate.core.errors import InputError


def run(
    checkpoint: Annotated[Path, Argument(metavar="CHECKPOINT", help="A checkpoint folder, or a checkpoint in one.")],
    output: Path = Option(..., "--output", "-o", help="The folder to make."),
    format: str = Option("transformers", help="transformers, or safetensors: our own model, without transformers."),
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Export a trained language model: weights, configuration, tokenizer and a model card, with equal logits.

    rope becomes a Qwen3 that transformers alone loads; other encodings are attached to it and load with ordinate.
    """
    from ordinate.lm.export import FORMATS, export
    from ordinate.lm.model_card import LOADING
    from ordinate.lm.trained_model import open_trained

    chosen = next((known for known in FORMATS if known == format), None)
    if chosen is None:
        raise InputError(f"unknown format {format!r}: choose {' or '.join(FORMATS)}")
    trained = open_trained(checkpoint)
    corpus = trained.find_corpus(data)
    loading = export(trained, corpus, output, chosen)
    load = LOADING[loading].format(folder=output)
    if trained.undecayed_remark:
        say(f"! {trained.undecayed_remark}", stderr=True)
    if as_json:
        print(json.dumps({"folder": str(output), "format": chosen, "loading": loading, "load": load}, indent=1))
    else:
        say(f"{trained.name} -> {output}: {', '.join(sorted(path.name for path in output.iterdir()))}", f"load: {load}")
