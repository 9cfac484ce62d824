"""Depth: which of the troubles that are told of deep stacks can be measured, and where they come from."""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from ordinate.core.seeds import generator
from ordinate.core.task import Batch
from ordinate.model import ModelConfig, Transformer, record
from ordinate.probes.gradient_norms import gradient_norms
from ordinate.probes.hidden_states import StateProbe, effective_rank, probe_state, states_of
from ordinate.report.depth.scores import data, extrapolation, norms
from ordinate.report.depth.states import fading, gradients, rank
from ordinate.store.examples import open_examples
from ordinate.studies.depth_runs import depth_runs
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

LENGTH, VOCABULARY, DIM = 24, 32, 32
NORMS = {"before each layer": "pre", "after each layer": "post", "none": "none"}


@cache
def model_of(encoding: str, layers: int, norm: str, residual: bool) -> Transformer:
    """A stack as it is before training."""
    settings = dict(dim=DIM, heads=4, layers=layers, length=LENGTH, dropout=0.0, causal=False)
    config = ModelConfig(VOCABULARY, encoding, norm_place=NORMS[norm], residual=residual, **settings)  # type: ignore[arg-type]
    return Transformer(config, seed=0).eval()


@cache
def tokens() -> Tensor:
    return torch.randint(VOCABULARY, (48, LENGTH), generator=generator(0, "lesson", "depth"))


@cache
def probed(encoding: str, layers: int, norm: str, residual: bool) -> list[StateProbe]:
    """The states at every depth."""
    return [probe_state(state) for state in states_of(model_of(encoding, layers, norm, residual), tokens(), None)]


def show_states(encoding: str, layers: int, norm: str, residual: str) -> Shown:
    found = probed(encoding, layers, norm, residual == "with")
    kinds = {
        "position read from the states": [max(0.0, own.position) for own in found],
        "effective rank / width": [own.effective_rank / min(DIM, LENGTH) for own in found],
        "similarity of tokens": [own.similarity for own in found],
    }
    drawn = curves("What the states hold, by depth", "layer", "share", kinds, look="mean", y_range=(-0.1, 1.05))
    first, last = found[0], found[-1]
    words = (
        f"From the embeddings to layer {layers}: a linear reader finds the position with R² {first.position:.2f} and "
        f"then "
        f"**{last.position:.2f}**; the states span {first.effective_rank:.1f} and then **{last.effective_rank:.1f}** "
        f"of {min(DIM, LENGTH)} directions; two tokens are alike to {first.similarity:.2f} and then "
        f"**{last.similarity:.2f}** (cosine). Before training, one seed."
    )
    return Shown(words, (drawn,))


def answer_fades() -> Revealed:
    kept = probed("sinusoidal", 12, "before each layer", True)
    lost = probed("sinusoidal", 12, "none", False)
    rows = [
        ("norm before, residual", kept[0].position, kept[6].position, kept[12].position),
        ("no norm, no residual", lost[0].position, lost[6].position, lost[12].position),
    ]
    words = (
        f"A stack as it is built today goes from R² {kept[0].position:.2f} at the embeddings to "
        f"**{kept[12].position:.2f}** after 12 layers; without norms and residual connections nothing is left "
        f"({lost[12].position:.2f}). So the claim holds in part, and **before training**: what is added once travels "
        "along the residual stream while every layer adds something of its own. Encodings that act in every layer "
        "(rotations, biases) have nothing to lose on the way."
    )
    columns = {"stack": "", "layer 0": ".2f", "layer 6": ".2f", "layer 12": ".2f"}
    share = kept[12].position / kept[0].position
    right = 0 if share < 0.1 else 1 if share < 0.9 else 2
    return Revealed(right, Shown(words, tables=(table("Position read (R²), sinusoidal, 12 layers", columns, rows),)))


def answer_collapse() -> Revealed:
    ranks = {
        "with": probed("none", 8, "none", True)[-1].effective_rank,
        "without": probed("none", 8, "none", False)[-1].effective_rank,
    }
    words = (
        f"After 8 layers the states span **{ranks['without']:.1f}** directions without residual connections and "
        f"{ranks['with']:.1f} with them, of {LENGTH} tokens in {DIM} channels. Averaging again and again makes all "
        "tokens alike (rank collapse); the residual connection keeps each token's own state."
    )
    return Revealed(0 if ranks["without"] < 0.5 * ranks["with"] else 1, Shown(words))


def show_gradients(layers: int, norm: str, residual: str) -> Shown:
    model = model_of("sinusoidal", layers, norm, residual == "with")
    targets = torch.randint(VOCABULARY, (8, LENGTH), generator=generator(0, "lesson", "targets"))
    found = gradient_norms(model, Batch(tokens()[:8], targets, None))
    drawn = curves(
        "Gradient by layer", "layer", "log10 of the gradient's norm",
        {"gradient": torch.tensor(found.layers).clamp(min=1e-12).log10()}, x=range(1, layers + 1), look="mean",
    )  # fmt: skip
    ratio = found.layers[0] / found.layers[-1]
    words = (
        f"At the start of training the first layer's gradient is **{ratio:.2g}** times the last one's "
        f"(norm {norm}, {residual} residual connections). 1 would be even; far below, the first layers hardly learn."
    )
    return Shown(words, (drawn,))


def show_attention(layers: int, encoding: str) -> Shown:
    """How even attention is, by layer: 1 if all keys get the same weight."""
    with record(model_of(encoding, layers, "before each layer", True)) as recording, torch.inference_mode():
        model_of(encoding, layers, "before each layer", True)(tokens())
    even = [
        float(torch.special.entr(w).sum(dim=-1).mean() / torch.log(torch.tensor(LENGTH))) for w in recording.weights
    ]
    drawn = curves("Evenness of attention", "layer", "entropy over its maximum", {"entropy": even},
                   x=range(1, layers + 1), look="mean", y_range=(0, 1.05))  # fmt: skip
    words = (
        f"Entropy of attention with `{encoding}`, before training: {even[0]:.2f} of its maximum in the first layer, "
        f"{even[-1]:.2f} in the last. Attention begins nearly even; what makes it peaked is training."
    )
    return Shown(words, (drawn,))


def stored() -> Shown:
    """S1's claims about depth with the verdicts of trained models, as far as these were run."""
    runs = depth_runs(open_examples())
    claims = [claim(runs) for claim in (fading, gradients, data, rank, norms, extrapolation)]
    found = [claim for claim in claims if claim.verdict is not None]
    words = [f"**{claim.title}.** {claim.measure} {claim.verdict}" for claim in found]
    if len(found) < len(claims):
        waiting = "; ".join(claim.title for claim in claims if claim.verdict is None)
        words.append(
            f"**Not run yet** (no stored results in this version): {waiting}. `ordinate study run depth` trains the "
            "models, and `ordinate study probe depth` measures them."
        )
    tables = [own for claim in found for own in claim.tables if own.rows]
    return Shown("\n\n".join(words), tuple(own for claim in found for own in claim.charts), tuple(tables))


def check_rank(rank: Callable[[Tensor], float]) -> str:
    n = 8
    alike = torch.ones(n, 16)
    if abs(float(rank(alike)) - 1) > 0.01:
        return f"If all tokens are alike the states span 1 direction, got {float(rank(alike)):.2f}."
    if abs(float(rank(torch.eye(n))) - n) > 0.01:
        return f"Eight orthogonal tokens span 8 directions, got {float(rank(torch.eye(n))):.2f}."
    nearly = torch.diag(torch.tensor([1.0] + [0.01] * (n - 1)))
    right = effective_rank(nearly)
    given = float(rank(nearly))
    if abs(given - right) > 0.01:
        return (
            f"One strong direction and seven that are a hundredth of it span {right:.2f} directions by this measure, "
            f"got {given:.2f}: small singular values must count little, so take the entropy of their shares."
        )
    return ""


def check_block(block: Callable[..., Tensor]) -> str:
    x = torch.randn(4, 8, generator=generator(7, "lesson", "check")) * 3 + 1

    def norm(values: Tensor) -> Tensor:
        return torch.nn.functional.layer_norm(values, (8,))

    silent = block(x, norm, torch.zeros_like)
    if not torch.allclose(silent, x, atol=1e-5):
        return (
            "A layer that says nothing (f = 0) must leave x as it is. Here x is replaced by its normed copy, so its "
            "size is lost in every layer and the stack forgets: the sum belongs to x itself."
        )
    given = block(x, norm, lambda values: 2 * values)
    if not torch.allclose(given, x + 2 * norm(x), atol=1e-5):
        return "The layer must read the normed x, and its output is added to x: x + f(norm(x))."
    return ""


RANK = """import torch


def effective_rank(states):
    values = torch.linalg.svdvals(states)
    {line}
"""
BLOCK = "def block(x, norm, f):\n    {first}\n    return {second}\n"

LESSON = Lesson(
    number=8,
    title="Depth",
    question="What goes wrong when attention is stacked deep, and does the position get lost?",
    goals=(
        "measure what the states of each layer hold: position, rank, similarity",
        "name the part of the stack that prevents each trouble",
        "tell a trouble of positions from a trouble of depth",
    ),
    blocks=(
        Prose(
            "Of deep stacks it is said: the positional signal **fades**, gradients **vanish**, attention becomes **too "
            "even or too peaked**, all tokens become **alike**. Each can be measured at every layer. Here on stacks "
            "before training, with one seed; what training does is under *Stored runs*."
        ),
        Predict(
            "fades",
            "**The positional signal fades with depth.** In a stack of 12 layers as it is built today (norm before "
            "each layer, residual connections), can a linear reader still find the position at the end?",
            ("no, it has faded to nothing", "in part", "as well as at the beginning"),
            answer_fades,
        ),
        Explore(
            "states",
            "Build a stack.",
            (
                Picker("encoding", "Encoding", ("sinusoidal", "learned", "rope", "alibi", "none"), "sinusoidal"),
                Slider("layers", "Layers", 1, 12, 6),
                Picker("norm", "Norm", tuple(NORMS), "before each layer"),
                Picker("residual", "Residual connections", ("with", "without"), "with"),
            ),
            show_states,
        ),
        Predict(
            "collapse",
            "Attention averages. Without residual connections, after 8 layers, do the tokens span",
            ("less than half as many directions", "about as many directions"),
            answer_collapse,
        ),
        Explore(
            "gradients",
            "Gradients of a batch at the start.",
            (
                Slider("layers", "Layers", 2, 16, 8),
                Picker("norm", "Norm", tuple(NORMS), "before each layer"),
                Picker("residual", "Residual connections", ("with", "without"), "with"),
            ),
            show_gradients,
        ),
        Explore(
            "attention",
            "How even attention is.",
            (
                Slider("layers", "Layers", 1, 12, 6),
                Picker("encoding", "Encoding", ("none", "sinusoidal", "rope", "alibi"), "none"),
            ),
            show_attention,
        ),
        Evidence("stored", "What do trained models of several depths say?", stored),
        Exercise(
            "rank",
            "Write `effective_rank(states)` for states [n, d]: exp of the entropy of the singular values' shares.",
            "effective_rank",
            "import torch\n\n\ndef effective_rank(states):\n    ...\n",
            check_rank,
            solution=RANK.format(
                line="share = values / values.sum()\n    return torch.special.entr(share).sum().exp()"
            ),
            wrong=RANK.format(line="return (values > 1e-6).sum()"),
            hint="torch.special.entr(share) is -share * log(share), and 0 at 0.",
        ),
        Exercise(
            "block",
            "**Find the bug.** This stack trains at 2 layers and not at 16. f is attention or the feed-forward layer.",
            "block",
            BLOCK.format(first="x = norm(x)", second="x + f(x)"),
            check_block,
            solution=BLOCK.format(first="normed = norm(x)", second="x + f(normed)"),
            kind="debug",
            hint="What comes out if f returns zeros?",
        ),
    ),
    reading=(
        FurtherReading("Dong et al. 2021", "2103.03404", "attention without residual connections loses rank"),
        FurtherReading("Xiong et al. 2020", "2002.04745", "where the norm stands, and gradients at the start"),
        FurtherReading("Roy and Vetterli's measure in practice: Noci et al. 2022", "2206.03126", "signal propagation"),
    ),
)
