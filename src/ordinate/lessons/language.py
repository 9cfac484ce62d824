"""Language models: loss by position, what happens past the trained length, and documents packed into one row."""

import argparse
import inspect
import math
from collections.abc import Callable
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ordinate.core.seeds import generator
from ordinate.model import ModelConfig, Transformer
from ordinate.report.chart import Shade
from ordinate.report.lm_comparison_figures import by_position
from ordinate.report.lm_comparison_tables import losses
from ordinate.report.lm_comparison_words import words as comparison_words
from ordinate.studies.lm import study_file
from ordinate.studies.lm.shipped import Shipped
from ordinate.studies.lm.study import study_outcome
from ordinate.teaching.charts import curves, table
from ordinate.teaching.lesson import (
    Evidence,
    Exercise,
    Explore,
    FurtherReading,
    Lesson,
    Picker,
    Predict,
    Prose,
    Revealed,
    Shown,
    Slider,
)

TRAINED, LONG, STEPS, BYTES, RATE = 32, 128, 300, 128, 1e-2
NATS_PER_BIT = math.log(2)


@cache
def text() -> tuple[Int[Tensor, " train"], Int[Tensor, " held"]]:
    """The bytes of a module of Python's library: the last fifth is held out."""
    values = torch.tensor(list(inspect.getsource(argparse).encode("ascii", "replace")))
    cut = len(values) * 4 // 5
    return values[:cut], values[cut:]


def windows(values: Int[Tensor, " n"], count: int, length: int, source: torch.Generator) -> Int[Tensor, "b window"]:
    starts = torch.randint(len(values) - length - 1, (count, 1), generator=source)
    picked: Tensor = values[starts + torch.arange(length + 1)]
    return picked


@cache
def trained(encoding: str) -> Transformer:
    """A small model of bytes after a few seconds of training."""
    config = ModelConfig(BYTES, encoding, dim=32, heads=4, layers=2, length=TRAINED, dropout=0.0)
    model = Transformer(config, seed=0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95))
    source = generator(0, "lesson", "language")
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 20, (STEPS - step) / 90)
        batch = windows(text()[0], 16, TRAINED, source)
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@cache
def bits_by_position(encoding: str) -> Float[Tensor, " n"]:
    """Bits per byte at each position of held-out windows that are four times as long as those of training."""
    batch = windows(text()[1], 400, LONG, generator(0, "lesson", "held out"))
    model = trained(encoding)
    with torch.inference_mode():
        logits = model(batch[:, :-1])
    every = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten(), reduction="none").view(batch[:, 1:].shape)
    found: Tensor = every.mean(dim=0) / NATS_PER_BIT
    return found


def parts(encoding: str) -> tuple[float, float, float]:
    """The first four positions, the rest of the trained ones, and those past them."""
    bits = bits_by_position(encoding)
    return float(bits[:4].mean()), float(bits[4:TRAINED].mean()), float(bits[TRAINED:].mean())


def show_loss(encoding: str, smooth: int) -> Shown:
    bits = bits_by_position(encoding)
    kernel = torch.ones(1, 1, smooth) / smooth
    smoothed = F.conv1d(bits[None, None], kernel)[0, 0]
    drawn = curves(
        "Loss by position", "position", "bits per byte", {"loss": smoothed},
        x=torch.arange(len(smoothed)) + smooth // 2, shade=Shade(0, TRAINED, "trained"),
    )  # fmt: skip
    start, inside, beyond = parts(encoding)
    words = (
        f"`{encoding}`, {STEPS} steps on windows of {TRAINED} bytes: {start:.2f} bits per byte at the first four "
        f"positions, {inside:.2f} on the rest of the trained ones, **{beyond:.2f}** from there to {LONG}. One seed, "
        "a tiny model, trained here."
    )
    return Shown(words, (drawn,))


def answer_context() -> Revealed:
    start, inside, _ = parts("rope")
    words = (
        f"{start:.2f} bits per byte at the first four positions, {inside:.2f} on the rest (`rope`). With nothing "
        f"before it a "
        "byte is hard to guess. So a mean loss over short windows is worse than over long ones even for the same "
        "model: compare losses **of the same tokens**, or by position."
    )
    return Revealed(0 if start > inside else 1, Shown(words))


def answer_longer() -> Revealed:
    names = ("alibi", "sinusoidal")
    rows = [(name, *parts(name)) for name in names]
    ratios = {name: row[3] / row[2] for name, row in zip(names, rows, strict=True)}
    words = (
        f"Past {TRAINED} bytes the loss of `alibi` is {ratios['alibi']:.2f} times that inside, of `sinusoidal` "
        f"{ratios['sinusoidal']:.2f} times. More context helps only a model that can read it; where positions are new, "
        "more context does harm."
    )
    columns = {"encoding": "", "first 4": ".2f", f"to {TRAINED}": ".2f", f"{TRAINED} to {LONG}": ".2f"}
    right = 1 if ratios["sinusoidal"] > 1.05 * ratios["alibi"] else 0 if max(ratios.values()) <= 1 else 2
    return Revealed(right, Shown(words, tables=(table("Bits per byte by position", columns, rows),)))


def stored() -> Shown:
    """Every comparison of the S2 study that comes with the program."""
    name = "s2-language-models"
    outcome = study_outcome(study_file.load(name), "", [Shipped()], f"ordinate study run {name}")
    found = [part for part in outcome.parts if part.found.records]
    if not found:
        return Shown(
            f"**Not run yet:** the study `{name}` has no stored results in this version. `ordinate study run {name}` "
            "trains its models, and `ordinate study report` shows what they say."
        )
    drawn = [figure for part in found if (figure := by_position(part.found)) is not None]
    tables = [losses(part, number, len(found) > 1) for number, part in enumerate(found)]
    return Shown("\n\n".join(comparison_words(outcome)), tuple(drawn), tuple(tables))


def check_bits(bits: Callable[[float, int, int], float]) -> str:
    given = bits(2.0, 1000, 4000)
    right = 2.0 * 1000 / 4000 / NATS_PER_BIT
    if not isinstance(given, int | float):
        return f"bits_per_byte must return a number, got {type(given).__name__}."
    if abs(given - 2.0 / NATS_PER_BIT) < 1e-6:
        return (
            "These are bits per TOKEN. A tokenizer with longer tokens has a larger loss per token and fewer of them: "
            "multiply by tokens / bytes."
        )
    if abs(given - 2.0 * 1000 / 4000) < 1e-6:
        return "These are nats per byte: divide by ln 2 for bits."
    if abs(given - right) > 1e-6:
        return f"2 nats per token, 1,000 tokens, 4,000 bytes are {right:.4f} bits per byte, got {given:.4f}."
    return ""


def check_packed(positions: Callable[[Tensor], Tensor]) -> str:
    given = positions(torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2]))
    right = [0, 1, 2, 0, 1, 0, 1, 2, 3]
    if not isinstance(given, Tensor) or given.shape != (9,):
        return "positions(document_ids) must return one position for each token."
    if given.tolist() == list(range(9)):
        return (
            "The second document begins at position 3: packed, a document gets other positions, and so another loss, "
            "than alone. Positions restart with every document."
        )
    if given.tolist() != right:
        return f"For documents of 3, 2 and 4 tokens the positions are {right}, got {given.tolist()}."
    if positions(torch.tensor([5, 5, 2])).tolist() != [0, 1, 0]:
        return "Document ids are names: they need not begin at 0 nor grow. What counts is where they change."
    return ""


BITS = "import math\n\n\ndef bits_per_byte(nats_per_token, tokens, length_in_bytes):\n    return {result}\n"
PACKED = "import torch\n\n\ndef positions(document_ids):\n    at = torch.arange(len(document_ids))\n    {line}\n"

LESSON = Lesson(
    number=9,
    title="Language models",
    question="How does a model of text show what it knows about positions?",
    goals=(
        "read a loss by position, inside and past the trained length",
        "compare models with other tokenizers by bits per byte",
        "pack documents so that each has the positions that it would have alone",
    ),
    blocks=(
        Prose(
            "A language model guesses the next token from those before it. One number, the mean loss, hides *where* it "
            "guesses well. The models below read bytes of a module of Python's library; each is trained when you first "
            "choose it, which takes a few seconds."
        ),
        Predict(
            "context",
            "Where in a window is the loss higher?",
            ("at its first bytes", "at its last bytes"),
            answer_context,
        ),
        Explore(
            "loss",
            f"Trained on {TRAINED} bytes, read on {LONG}.",
            (
                Picker(
                    "encoding", "Encoding", ("none", "sinusoidal", "learned(rows=128)", "rope", "alibi", "t5"), "rope"
                ),
                Slider("smooth", "Smoothed over", 1, 25, 9, 4),
            ),
            show_loss,
        ),
        Predict(
            "longer",
            "**More context never hurts: the model can ignore it.** Past the trained length, does the loss rise?",
            ("no, for neither", "more for sines and cosines than for ALiBi", "for both alike"),
            answer_longer,
        ),
        Evidence("stored", "What do larger models with several seeds say?", stored),
        Exercise(
            "bits",
            "Write `bits_per_byte(nats_per_token, tokens, length_in_bytes)` for a text of so many tokens and bytes.",
            "bits_per_byte",
            "import math\n\n\ndef bits_per_byte(nats_per_token, tokens, length_in_bytes):\n    ...\n",
            check_bits,
            solution=BITS.format(result="nats_per_token * tokens / length_in_bytes / math.log(2)"),
            wrong=BITS.format(result="nats_per_token / math.log(2)"),
            hint="First nats of the whole text.",
        ),
        Exercise(
            "packed",
            "**Find the bug.** Several documents stand in one row, with a mask between them. A document's loss "
            "depends on what it was packed behind.",
            "positions",
            PACKED.format(line="return at"),
            check_packed,
            solution=PACKED.format(
                line="new = torch.ones_like(at, dtype=torch.bool)\n"
                "    new[1:] = document_ids[1:] != document_ids[:-1]\n"
                "    return at - torch.where(new, at, 0).cummax(dim=0).values"
            ),
            kind="debug",
            hint="From each position, take away where its document begins.",
        ),
    ),
    reading=(
        FurtherReading("Press et al. 2021", "2108.12409", "perplexity against length, and sliding evaluation"),
        FurtherReading("Haviv et al. 2022", "2203.16634", "language models without encodings"),
        FurtherReading("Peng et al. 2023", "2309.00071", "extending a trained model"),
    ),
)
