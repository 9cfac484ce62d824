"""Continuing a text with a trained language model."""

from dataclasses import dataclass

import torch

from ordinate.core.errors import InputError
from ordinate.core.seeds import generator
from ordinate.lm.trained_model import TrainedModel
from ordinate.model import generate
from ordinate.text.corpus import Corpus
from ordinate.text.tokenizer import END_ID


@dataclass(frozen=True)
class Continuation:
    """What a model wrote after a prompt."""

    text: str
    tokens: list[int]
    past_trained: int  # how many tokens, prompt and continuation, stand past the trained length


def continue_text(
    trained: TrainedModel, corpus: Corpus, prompt: str, count: int, *, temperature: float = 0.0, seed: int = 0
) -> Continuation:
    """Continue a document that begins with the prompt; it ends where the model begins another.

    Temperature 0 always takes the likeliest token; otherwise tokens are sampled, the same for the same seed.
    """
    start = corpus.encode(prompt)
    limit = min(part.max_positions for part in trained.model.parts)
    if len(start) + count - 1 > limit:  # the last token is not read
        raise InputError(
            f"the prompt has {len(start)} tokens and {count} more were asked for, but {trained.config.encoding} reads"
            f" {limit} at most: ask for fewer tokens"
        )
    source = generator(seed, "generate", device=trained.device) if temperature > 0 else None
    inputs = torch.tensor([start], device=trained.device)
    whole = generate(trained.model, inputs, count, temperature=temperature, generator=source, stop=END_ID)
    written = [token for token in whole[0, len(start) :].tolist() if token != END_ID]
    past = max(0, len(start) + len(written) - trained.config.model.length)
    return Continuation(corpus.decode(written), written, past)
