"""Claims about what is inside deep models: position, gradients, rank and attention by depth."""

import math
from statistics import fmean

from ordinate.report.depth.models import (
    DEPTHS,
    NAMED,
    Answer,
    Runs,
    at_depths,
    block_words,
    by_depth,
    deep,
    label,
    measured,
    over_seeds,
    split,
    verdict,
)
from ordinate.report.table import Column, Table
from ordinate.statistics.phrases import listed
from ordinate.studies.depth_runs import DepthModel

SIGNAL = 0.2  # R^2 of position: below it there is none that could fade
FADED = 0.5  # of the largest R^2 at any depth
SMALL = 0.1  # gradient of the first layer over that of the last, at the start: below it vanishes, above 1 / it explodes
COLLAPSED = 0.2  # effective rank after the last layer, over that of the input
LEAST = 1e-12  # gradient norm that is drawn
EVEN, PEAKED = 0.95, 0.05  # entropy of attention, as a share of the largest possible


def fading(runs: Runs) -> Answer:
    models = measured(runs, deep)
    found: dict[DepthModel, bool] = {}
    rows = []
    for model, own in models.items():
        trained, untrained = (
            over_seeds(own, which, lambda m: [max(0.0, state.position) for state in m.states])
            for which in (True, False)
        )
        peak = max(trained)
        if peak >= SIGNAL:
            found[model] = trained[-1] < FADED * peak
        rows.append((model.encoding, block_words(model), *at_depths(trained), untrained[-1]))
    columns = (*NAMED, *DEPTHS, Column("untrained", "untrained, after 16", ".2f"))
    verdict_text = None
    if models:
        what = (
            "the position of a token can be read less than half as well after the last layer as where it is read best"
        )
        verdict_text = verdict(found, what) if found else "**Nothing to fade**: position is readable at no depth."
        low = [model.encoding for model in models if model not in found and model.usual]
        if low:
            verdict_text += f" With {listed(low)} it is readable (R² of {SIGNAL:g} or more) at no depth."
    chart = by_depth("position", "Position that a linear reader recovers, 16 layers", "R²", models,
                     lambda m: [max(0.0, state.position) for state in m.states])  # fmt: skip
    return Answer(
        "The positional signal fades with depth",
        f"R² of a ridge reader of a token's position from its hidden state, by depth, in models of 16 layers. It fades "
        f"if R² after the last layer is below {FADED:g} of the largest; models in which no depth has {SIGNAL:g} do not "
        "count.",
        verdict_text, (Table("position", "Position by depth", columns, rows),), (chart,) if models else (),
    )  # fmt: skip


def gradients(runs: Runs) -> Answer:
    models = measured(runs, lambda m: m.layers > 1 and m.dataset is None)
    vanish, explode, rows = {}, {}, []
    for model, own in models.items():
        start, end = (over_seeds(own, which, lambda m: m.gradients) for which in (False, True))
        ratio = start[0] / max(start[-1], 1e-300)
        vanish[model], explode[model] = ratio < SMALL, ratio > 1 / SMALL
        rows.append((model.encoding, model.layers, block_words(model), start[0], start[-1], ratio, end[0], end[-1]))
    columns = (
        Column("encoding", "encoding"), Column("layers", "layers"), Column("blocks", "blocks"),
        Column("first", "first layer, start", ".2g"), Column("last", "last layer, start", ".2g"),
        Column("ratio", "first over last", ".2g"), Column("first end", "first layer, end", ".2g"),
        Column("last end", "last layer, end", ".2g"),
    )  # fmt: skip
    text = None
    if models:
        either = {model: vanish[model] or explode[model] for model in models}
        word = "Holds" if all(either.values()) else "Does not hold" if not any(either.values()) else "Holds in part"
        text = f"**{word}**: gradients vanish toward the first layer {split(vanish)}, and explode {split(explode)}."
        usual = [model for model in models if model.usual and either[model]]
        if any(model.usual for model in models):
            text += (
                f" In usual blocks they do{' so for ' + listed([label(m) for m in usual]) if usual else ' neither'}."
            )
    deepest = {model: own for model, own in models.items() if deep(model)}
    chart = by_depth("gradients", "Gradient norm by layer, 16 layers", "log10 of the norm", deepest,
                     lambda m: [math.log10(max(norm, LEAST)) for norm in m.gradients], first=1)  # fmt: skip
    return Answer(
        "Gradients vanish or explode",
        f"Norm of the gradient of the loss by the weights of a layer, for one batch, before training and after. "
        f"Gradients vanish if before training the first layer's norm is below {SMALL:g} of the last's, and explode if "
        f"it is above {1 / SMALL:g} times it.",
        text, (Table("gradients", "Gradient norms", columns, rows),), (chart,) if any(map(deep, models)) else (),
    )  # fmt: skip


def rank(runs: Runs) -> Answer:
    models = measured(runs, deep)
    collapse, even, peaked, rows = {}, {}, {}, []
    for model, own in models.items():
        ranks = over_seeds(own, True, lambda m: [state.effective_rank for state in m.states])
        before = over_seeds(own, False, lambda m: [state.effective_rank for state in m.states])
        entropy = over_seeds(own, True, lambda m: m.entropy)
        late = fmean(entropy[len(entropy) // 2 :])
        collapse[model], even[model], peaked[model] = ranks[-1] < COLLAPSED * ranks[0], late > EVEN, late < PEAKED
        rows.append((model.encoding, block_words(model), *at_depths(ranks), before[-1], entropy[0], late))
    depths = tuple(Column(column.name, column.title, ".1f") for column in DEPTHS)
    columns = (
        *NAMED, *depths, Column("untrained", "untrained, after 16", ".1f"),
        Column("entropy first", "entropy, layer 1", ".2f"), Column("entropy late", "entropy, layers 9 to 16", ".2f"),
    )  # fmt: skip
    text = None
    if models:
        text = verdict(collapse, "rank collapses")
        text += f" In the second half of the layers attention is nearly even {split(even)}"
        text += f", nearly on one key {split(peaked)}."
    chart = by_depth("rank", "Effective rank, 16 layers", "effective rank", models,
                     lambda m: [state.effective_rank for state in m.states])  # fmt: skip
    return Answer(
        "Rank collapses: attention is too uniform or too peaked",
        f"Effective rank of a sequence's hidden states (1: all tokens alike) by depth in models of 16 layers; it "
        f"collapses if after the last layer it is below {COLLAPSED:g} of that of the input. Entropy of attention as a "
        f"share of the largest possible: nearly even above {EVEN:g}, nearly on one key below {PEAKED:g}.",
        text, (Table("rank", "Rank and entropy", columns, rows),), (chart,) if models else (),
    )  # fmt: skip
