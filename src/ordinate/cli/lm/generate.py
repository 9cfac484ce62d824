"""`ordinate lm generate`: text from a trained language model."""

import json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ordinate.cli.console import say
from ordinate.cli.lm.request import Data, Device
from ordinate.cli.options import AsJson
from ordinate.core.errors import InputError


def run(
    checkpoint: Annotated[Path, Argument(metavar="CHECKPOINT", help="A checkpoint folder, or a checkpoint in one.")],
    prompt: str = Option(..., "--prompt", "-p", help="The text to continue; may be empty."),
    tokens: int = Option(64, "--tokens", "-n", help="Tokens to generate, at most: it stops where a document ends."),
    temperature: float = Option(0.0, "--temperature", help="0: always the likeliest token; 1: sample as predicted."),
    seed: int = Option(0, "--seed", help="Seed of the samples."),
    data: Data = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Continue a text with a trained language model."""
    from ordinate.lm.generation import continue_text
    from ordinate.lm.trained_model import open_trained
    from ordinate.model import pick_device

    if not 1 <= tokens <= 1_000_000:
        raise InputError(f"--tokens must be at least 1 and at most a million, got {tokens}")
    trained = open_trained(checkpoint, pick_device(device))
    corpus = trained.find_corpus(data)
    found = continue_text(trained, corpus, prompt, tokens, temperature=temperature, seed=seed)
    if found.past_trained:
        say(f"! {found.past_trained} of the tokens are past the trained length", stderr=True)
    if as_json:
        print(json.dumps({"prompt": prompt, "continuation": found.text, "tokens": found.tokens}, indent=1))
    else:
        say_text(prompt + found.text)


def say_text(text: str) -> None:
    """Print text of many lines: newlines and tabs stay, other control characters are shown, not obeyed."""
    say(*text.split("\n"))
