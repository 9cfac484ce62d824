"""Why order matters: a set of vectors, attention that cannot tell sentences apart, and the causal model that can."""

from collections.abc import Callable
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate import encodings
from ordinate.core.positions import Positions
from ordinate.core.seeds import generator
from ordinate.model import ModelConfig, Transformer
from ordinate.probes.hidden_states import states_of
from ordinate.probes.readers import recovered
from ordinate.report.chart import Chart
from ordinate.teaching import evidence
from ordinate.teaching.charts import curves, heat, table
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
)  # fmt: skip

WORDS = ("King", "and", "Queen", "are", "awesome")
SENTENCES = {"King and Queen are awesome": (0, 1, 2, 3, 4), "Queen and King are awesome": (2, 1, 0, 3, 4)}
SAME = 1e-5  # outputs that differ by less differ by rounding


def embeddings(dim: int) -> Float[Tensor, "words d"]:
    """A random vector for each word, of the size that our models start with."""
    drawn: Tensor = torch.randn(len(WORDS), dim, generator=generator(0, "lesson", "order")) * dim**-0.5
    return drawn


def vectors(sentence: tuple[int, ...], encoding: str, dim: int) -> Float[Tensor, "n d"]:
    """What the first layer gets: the words' vectors, and what the encoding adds to them."""
    made = encodings.create(encoding, dim=dim, heads=1, length=8, token_size=dim**-0.5)
    with torch.no_grad():
        x: Tensor = made.embed(embeddings(dim)[list(sentence)][None], Positions.range(len(sentence)))
    return x[0]


def distance_of_sets(one: Float[Tensor, "n d"], other: Float[Tensor, "n d"]) -> float:
    """The largest distance from a vector of one sentence to the nearest vector of the other: 0 for the same set."""
    apart = torch.cdist(one, other, compute_mode="donot_use_mm_for_euclid_dist")
    return float(torch.maximum(apart.min(dim=0).values.max(), apart.min(dim=1).values.max()))


def show_vectors(encoding: str, dim: int) -> Shown:
    first, second = (vectors(sentence, encoding, dim) for sentence in SENTENCES.values())
    apart = distance_of_sets(first, second)
    verdict = "Both sentences are **the same set of vectors**, in another order"
    if apart > SAME:
        verdict = "The sets **differ**: King as the first word is another vector than King as the third"
    pictures = [
        heat(name, "channel", "", {"": x}, rows=[WORDS[word] for word in sentence], row_height=190)
        for (name, sentence), x in zip(SENTENCES.items(), (first, second), strict=True)
    ]
    words = f"{verdict}. Largest distance from a vector of one sentence to the nearest of the other: **{apart:.3f}**."
    return Shown(words, tuple(pictures), across=2)


@cache
def model_of(encoding: str, layers: int, causal: bool) -> Transformer:
    """A transformer as it is before training."""
    config = ModelConfig(
        vocabulary=len(WORDS), encoding=encoding, dim=32, heads=4, layers=layers, length=8, causal=causal, dropout=0.0
    )
    return Transformer(config, seed=0).eval()


def last_word_differs(encoding: str, layers: int, causal: bool) -> float:
    """By how much the model's state at the last word differs between the two sentences."""
    with torch.inference_mode():
        one, other = (model_of(encoding, layers, causal).states(torch.tensor([ids])) for ids in SENTENCES.values())
    return float((one[0, -1] - other[0, -1]).abs().max())


def answer_bag() -> Revealed:
    found = {name: last_word_differs(name, 2, causal=False) for name in ("none", "sinusoidal")}
    words = (
        f"Without an encoding the states at *awesome* differ by {found['none']:.1e}, which is rounding; with sines and "
        f"cosines added by {found['sinusoidal']:.2f}. Attention without a mask is a weighted mean over a *set*: reorder"
        " "
        "the words and each word keeps its state. However large the model is, it has to give both sentences the "
        "same meaning."
    )
    rows = list(found.items())
    columns = {"encoding": "", "difference at the last word": ".2g"}
    return Revealed(
        0 if found["none"] < SAME else 1, Shown(words, tables=(table("Two layers, no mask", columns, rows),))
    )


def answer_causal() -> Revealed:
    depths = (1, 2, 3)
    rows = [(n, last_word_differs("none", n, False), last_word_differs("none", n, True)) for n in depths]
    sees = [causal > SAME for _, _, causal in rows]
    right = 0 if not any(sees) else 1 if all(sees) else 2
    words = (
        "With a **causal mask** each word is computed from the words before it, and *those* differ: Queen has seen "
        "King in one sentence and nothing in the other. One layer is not enough: the last word still takes a mean over "
        "the same set of keys and values. From the second layer on it reads states that know what came "
        "before them. So the sentence *without positions a transformer cannot tell order* holds for attention without "
        "a mask, and not for the models that write text."
    )
    columns = {"layers": "d", "without a mask": ".2g", "causal": ".2g"}
    title = "Difference at the last word, no encoding"
    return Revealed(right, Shown(words, tables=(table(title, columns, rows),)))


def causal_mean(values: Float[Tensor, "*b n d"]) -> Float[Tensor, "*b n d"]:
    """Attention that looks at all words before alike."""
    counts = torch.arange(1, values.shape[-2] + 1)[:, None]
    means: Tensor = values.cumsum(dim=-2) / counts
    return means


def show_variance(length: int, width: int) -> Shown:
    values = torch.randn(64, length, width, generator=generator(0, "lesson", "variance"))
    measured = causal_mean(values).square().mean(dim=(0, 2))
    at = torch.arange(1, length + 1)
    drawn: Chart = curves(
        "Size of the mean by position", "position n", "variance of the output", {"measured": measured, "1/n": 1 / at},
        x=at,
    )  # fmt: skip
    words = (
        f"The mean of n independent values has 1/n of their variance: {float(measured[0]):.2f} at position 1, "
        f"{float(measured[-1]):.3f} at position {length} (1/n is {1 / length:.3f}). A layer that reads this size reads "
        "where it is: steeply at the beginning, hardly any more where the curve is flat."
    )
    return Shown(words, (drawn,))


@cache
def position_read(layers: int, mask: str) -> tuple[float, ...]:
    """R² of a reader of the position from the squares of the states' channels, by depth, before training."""
    config = ModelConfig(
        vocabulary=64, encoding="none", dim=32, heads=4, layers=layers, length=32, causal=mask == "causal", dropout=0.0
    )
    tokens = torch.randint(64, (64, 32), generator=generator(0, "lesson", "tokens"))
    tested = (torch.arange(64) % 4 == 3)[:, None].expand(64, 32).flatten()
    at = torch.arange(32).repeat(64).log1p()
    states = states_of(Transformer(config, seed=0).eval(), tokens, None)
    return tuple(recovered(state.flatten(0, 1).square(), at, tested) for state in states)


def show_reader(layers: int, mask: str) -> Shown:
    found = position_read(layers, mask)
    drawn = curves("Position read from the states", "depth", "R² of a reader", {"R²": found}, look="mean")
    words = (
        f"An untrained model **without any encoding**, {mask}. A reader of the *sizes* (squares) of a state's "
        "channels, tested on sequences that it was not fitted to, finds the logarithm of the position in the "
        f"embeddings with R² {found[0]:.2f} and after layer {layers} with R² **{found[-1]:.2f}** (1: exactly; 0: not "
        "at all)."
    )
    return Shown(words, (drawn,))


def stored() -> Shown:
    """Two tasks: one for which some trace of positions is enough, and one that needs exact distances."""
    parts = (("s4-long-range", "fair"), ("s4-k-back", "fair"))
    compared = [found.analysis.tasks[0] for part in parts if (found := evidence.finished(*part))]
    if len(compared) < len(parts):
        return evidence.not_run(*parts[0])
    counts = [f"{task.learned['none'][0]} of {task.learned['none'][1]} seeds learned {task.task}" for task in compared]
    words = (
        "Trained on two tasks, without an encoding: **" + "; ".join(counts) + "**. `first_last` asks whether the first "
        "item equals the last, where some trace of the position is enough; `k_back` asks for the item three steps "
        "back, where the exact distance counts. Compare the row *none* of both tables. "
    )
    tables = tuple(evidence.score_table(task) for task in compared)
    return Shown(words + evidence.source(parts[0][0], compared[0]), tables=tables)


def check_mean(function: Callable[[Tensor], Tensor]) -> str:
    values = torch.randn(6, 4, generator=generator(1, "lesson", "check"))
    given = function(values.clone())
    if not isinstance(given, Tensor) or given.shape != values.shape:
        got = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        return f"For values of shape (6, 4) the result must have that shape, got {got}: one output for each word."
    if not torch.allclose(given[0], values[0], atol=1e-5):
        return "The first word sees only itself: its output must be its own value, and it is not."
    later = values.clone()
    later[4] += 1
    if not torch.allclose(function(later)[:4], given[:4], atol=1e-5):
        return "Changing word 5 changed the output of an earlier word: a causal word does not see what comes after it."
    if not torch.allclose(given, causal_mean(values), atol=1e-5):
        return (
            "Row n must be the mean of rows 1 to n: divide the sum over the words that it sees by how many these "
            f"are. The output at the last word should begin with {causal_mean(values)[-1, 0]:.3f}, "
            f"yours begins with {given[-1, 0]:.3f}."
        )
    swapped = values[[2, 1, 0, 3, 4, 5]]
    if not torch.allclose(function(swapped)[3:], given[3:], atol=1e-5):
        return "Swapping words 1 and 3 changed a later output: a mean does not depend on their order."
    return ""


def check_mask(function: Callable[[Tensor], Tensor]) -> str:
    scores = torch.randn(5, 5, generator=generator(2, "lesson", "check"))
    weights = function(scores.clone())
    if not isinstance(weights, Tensor) or weights.shape != scores.shape:
        return "The function must return attention weights of the shape of the scores, (5, 5)."
    if not torch.allclose(weights.sum(dim=-1), torch.ones(5), atol=1e-5):
        return "Each row of attention weights must sum to 1: apply the mask before the softmax."
    future = weights.triu(1).max()
    if future > 0:
        row = int(weights.triu(1).max(dim=1).values.argmax())
        return (
            f"Word {row + 1} gives weight {float(future):.2f} to a word after it: training would read the answer off "
            "the next token and reach a loss near 0, and generation would fail."
        )
    if (weights[torch.ones_like(weights, dtype=torch.bool).tril()] == 0).any():
        return "A word gives no weight to itself or to a word before it: the mask hides too much."
    return ""


LESSON = Lesson(
    number=1,
    title="Why order matters",
    question="What does a transformer know about the order of words if nobody tells it?",
    goals=(
        "say which transformers cannot tell two orders of the same words apart, and show it",
        "explain how a causal mask lets order in without any encoding, and why that is weak",
        "write causal averaging, and find a mask that shows the future",
    ),
    blocks=(
        Prose(
            "*King and Queen are awesome* and *Queen and King are awesome*: the same five words. A transformer turns "
            "each word into a vector and then lets every word look at the others. Nothing in that needs an order. "
            "**Choose what is added to the vectors** and compare the two sentences."
        ),
        Explore(
            "vectors",
            "Each row is a word, each column a channel.",
            (
                Picker("encoding", "Added to the embeddings", ("none", "sinusoidal", "learned", "binary"), "none"),
                Slider("dim", "Channels", 4, 16, 8, 2),
            ),
            show_vectors,
        ),
        Predict(
            "bag",
            "A transformer without a mask and **without an encoding** reads both sentences. Its state at *awesome* is",
            ("the same for both", "different, because Queen and King swapped places", "different by chance"),
            answer_bag,
        ),
        Predict(
            "causal",
            "Many pages say: **without positions a transformer cannot tell order.** Now each word sees only the words "
            "before it, as in every model that writes text. Can its last word tell the two sentences apart?",
            ("no, at no depth", "yes, with any number of layers", "not with one layer, but with two"),
            answer_causal,
        ),
        Prose(
            "What a causal model can read is how *many* words a word sees. The first word is its own mean; the n-th "
            "takes a mean over n. Means over more vectors are smaller: for independent values "
            r"$\mathrm{Var}\big(\tfrac1n\sum_{j\le n} v_j\big) = \tfrac1n \mathrm{Var}(v)$."
        ),
        Explore(
            "variance",
            "Uniform causal attention over random values.",
            (Slider("length", "Positions", 8, 128, 32, 8), Slider("width", "Channels", 4, 64, 32, 4)),
            show_variance,
        ),
        Explore(
            "reader",
            "How much of the position a reader finds in a model without encoding.",
            (Slider("layers", "Layers", 1, 6, 3), Picker("mask", "Attention", ("causal", "without a mask"), "causal")),
            show_reader,
        ),
        Evidence("trained", "Does that carry a model that is trained?", stored),
        Exercise(
            "mean",
            "Write `causal_mean(values)`: attention that looks at every word up to its own alike. `values` has shape "
            "(n, d), and so has the result.",
            "causal_mean",
            "import torch\n\n\ndef causal_mean(values):\n    ...\n",
            check_mean,
            solution=(
                "import torch\n\n\ndef causal_mean(values):\n    counts = torch.arange(1, len(values) + 1)\n"
                "    return values.cumsum(dim=0) / counts[:, None]\n"
            ),
            wrong="import torch\n\n\ndef causal_mean(values):\n    return values.cumsum(dim=0) / len(values)\n",
            hint="`cumsum` sums what a word sees; how many words is that?",
        ),
        Exercise(
            "mask",
            "**Find the bug.** This model reached a training loss near zero within minutes and writes nonsense.",
            "attention_weights",
            (
                "import torch\n\n\ndef attention_weights(scores):\n    n = len(scores)\n"
                "    visible = torch.ones(n, n, dtype=torch.bool).tril(1)\n"
                '    return scores.masked_fill(~visible, float("-inf")).softmax(dim=-1)\n'
            ),
            check_mask,
            solution=(
                "import torch\n\n\ndef attention_weights(scores):\n    n = len(scores)\n"
                "    visible = torch.ones(n, n, dtype=torch.bool).tril()\n"
                '    return scores.masked_fill(~visible, float("-inf")).softmax(dim=-1)\n'
            ),
            kind="debug",
            hint="Which words does the first one see?",
        ),
    ),
    reading=(
        FurtherReading("Vaswani et al. 2017", "1706.03762", "section 3.5, why an encoding is added at all"),
        FurtherReading("Haviv et al. 2022", "2203.16634", "language models without encodings learn positions"),
        FurtherReading("Kazemnejad et al. 2023", "2305.19466", "what they can do on longer sequences"),
    ),
)
