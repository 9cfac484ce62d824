"""Claims about what deep models learn: with few sequences, by the place of norms, and past the trained length."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from ordinate.report.chart import Chart, Line, Series
from ordinate.report.colors import styles
from ordinate.report.depth.models import PLACES, Answer, Runs, verdict
from ordinate.report.table import Column, Table
from ordinate.statistics.phrases import called, capital, listed
from ordinate.studies.depth_runs import DepthModel, DepthRun


def prefers_near(name: str) -> bool:
    """Whether scores fall with distance before any training."""
    import torch

    from ordinate import encodings
    from ordinate.core.parsing import parse_choice

    (chosen,) = parse_choice(name)
    encoding = encodings.create(chosen.name, dim=64, heads=4, length=32, **dict(chosen.parameters))
    bias = encoding.relative_bias(torch.arange(32))
    return bias is not None and bool((bias.diff(dim=-1) < 0).all())


def data(runs: Runs) -> Answer:
    sizes: list[int | None] = [250, 1000, 4000, None]
    depths = (1, 4)
    plain = {m: own for m, own in runs.items() if own and m.norm_place == "pre" and m.residual and m.layers in depths}
    rows, needed = [], dict[tuple[int, str], float]()
    for layers in depths:
        for name in dict.fromkeys(m.encoding for m in plain):
            cells: list[list[DepthRun]] = [plain.get(DepthModel(name, layers, "pre", True, size), []) for size in sizes]
            if not any(cells[:-1]):
                continue
            enough = [size for size, own in zip(sizes, cells, strict=True) if own and most_learned(own)]
            needed[layers, name] = math.inf if not enough else math.inf if enough[0] is None else float(enough[0])
            fresh_alone = bool(enough) and enough[0] is None
            text = "fresh ones alone" if fresh_alone else "-" if not enough else f"{enough[0]:,}"
            rows.append((name, layers, *(None if not own else fmean(map(score, own)) for own in cells), text))
    columns = (
        Column("encoding", "encoding"), Column("layers", "layers"),
        *(Column(str(size), "fresh" if size is None else f"{size:,} sequences", ".2f") for size in sizes),
        Column("needed", "enough"),
    )  # fmt: skip
    text = ""
    if needed:
        near = sorted({name for _, name in needed if prefers_near(name)})
        local = {layers: min((needed[at, name] for at, name in needed if at == layers and name in near), default=None)
                 for layers in depths}  # fmt: skip
        helped = [
            layers for layers, own in local.items()
            if own is not None
            and all(own < value for (at, name), value in needed.items() if at == layers and name not in near)
        ]  # fmt: skip
        best = min(needed.values())
        with_little = sorted({name for (_, name), value in needed.items() if value == best})
        word = "Holds" if len(helped) == len(depths) else "Holds in part" if helped else "Does not hold"
        text = f"**{word}**: with encodings that prefer near tokens before training ({listed(near)}), "
        text += "fewer sequences are enough than with any other" if helped else "no fewer sequences are enough"
        if 0 < len(helped) < len(depths):
            text += f" at {listed([f'{layers} layers' for layers in helped])}"
        if math.isfinite(best):
            text += f"; {best:,.0f} sequences are enough with {listed(with_little)}"
    series, looks = [], styles(list(dict.fromkeys(str(row[0]) for row in rows)))
    for row in rows:
        if row[1] == 4:
            x = tuple(math.log2(size) for size in sizes if size)
            values = tuple(value for value in row[2:5])
            series.append(Series(str(row[0]), x, values, looks[str(row[0])], "mean", str(row[0])))  # type: ignore[arg-type]
    title = "Accuracy by training sequences, 4 layers"
    chart = Chart("data", title, "log2 of the sequences", "accuracy", tuple(series),
                  lines=(Line(0.95, "bar"),), y_range=(0.0, 1.03))  # fmt: skip
    return Answer(
        "There is no locality bias, so little data hurts",
        "Accuracy in distribution after training on a fixed set of sequences, without dropout, and on fresh sequences "
        "in every step. A number of sequences is enough if most seeds learn the task from it. Were locality what is "
        "missing, encodings that prefer near tokens before training would need the fewest.",
        f"{text}." if text else None, (Table("data", "Accuracy by training sequences", columns, rows),),
        (chart,) if series else (),
    )  # fmt: skip


def score(run: DepthRun) -> float:
    """In distribution; a run that diverged has the floor."""
    row = run.result.in_distribution
    return row.floor if row.score is None else row.score


def beyond(run: DepthRun) -> float | None:
    return run.result.headline.score


def most_learned(own: Sequence[DepthRun]) -> bool:
    return 2 * sum(run.learned for run in own) > len(own)


def norms(runs: Runs) -> Answer:
    varied = {m.encoding for m in runs if m.norm_place != "pre"}
    fresh = {m: own for m, own in runs.items() if own and m.dataset is None and m.encoding in varied}
    kinds = {(m.layers, m.residual, m.encoding) for m in fresh}
    matters: dict[tuple[int, bool, str], bool] = {}
    rows = []
    for layers, residual, name in sorted(kinds, key=lambda kind: (kind[2], kind[0], not kind[1])):
        cells = [fresh.get(DepthModel(name, layers, place, residual, None), []) for place in PLACES]
        if all(cells):
            learned = [most_learned(own) for own in cells]
            matters[layers, residual, name] = len(set(learned)) > 1
        rows.append((name, layers, "yes" if residual else "no", *map(seeds_words, cells)))
    columns = (
        Column("encoding", "encoding"), Column("layers", "layers"), Column("residual", "residuals"),
        *(Column(place, capital(words)) for place, words in PLACES.items()),
    )  # fmt: skip
    text = None
    if matters:
        where = [kind for kind, yes in matters.items() if yes]
        word = "Holds" if len(where) == len(matters) else "Holds in part" if where else "Does not hold"
        text = (
            f"**{word}**: whether most seeds learn the task depends on the place of norms in {len(where)} of "
            f"{len(matters)} cases"
        )
        parts = dict[str, list[str]]()
        for layers, residual, name in where:
            kind = f"{layers} layer{'s' * (layers > 1)} {'with' if residual else 'without'} residuals"
            parts.setdefault(kind, []).append(name)
        text += f": {'; '.join(f'{kind} ({listed(names)})' for kind, names in parts.items())}." if parts else "."
        alone = [m for m, own in fresh.items() if not m.residual and m.layers == 16 and most_learned(own)]
        if any(not m.residual and m.layers == 16 for m in fresh):
            text += f" Without residuals, {'no' if not alone else len(alone)} model of 16 layers learns it."
    return Answer(
        "Where norms stand matters",
        "Seeds that learned the task, mean accuracy in distribution, and the median step at which they learned it, by "
        "the place of norms.",
        text, (Table("norms", "Place of norms", columns, rows),),
    )  # fmt: skip


def seeds_words(own: Sequence[DepthRun]) -> str:
    """`3 of 3, 1.00, step 108`."""
    if not own:
        return "-"
    steps = sorted(run.result.learned_at for run in own if run.learned and run.result.learned_at)
    parts = [f"{sum(run.learned for run in own)} of {len(own)}", f"{fmean(map(score, own)):.2f}"]
    parts += [f"step {steps[len(steps) // 2]:,}"] if steps else []
    gone = sum(run.result.diverged for run in own)
    return ", ".join(parts + [f"{gone} diverged"] * bool(gone))


def extrapolation(runs: Runs) -> Answer:
    models = {m: own for m, own in runs.items() if own and m.usual}
    fails, rows = dict[DepthModel, bool](), []
    for model, own in models.items():
        learned = [run for run in own if run.learned]
        twice = [value for run in learned if (value := beyond(run)) is not None]
        four = [value for run in learned if (value := run.result.row("ood", 128).score) is not None]
        if twice:
            bar = own[0].result.bar or 1.0
            fails[model] = fmean(twice) < bar
        mean = [fmean(values) if values else None for values in (twice, four)]
        rows.append((model.encoding, model.layers, f"{len(learned)} of {len(own)}", fmean(map(score, own)), *mean))
    columns = (
        Column("encoding", "encoding"), Column("layers", "layers"), Column("learned", "learned"),
        Column("inside", "at 32", ".2f"), Column("twice", "at 64", ".2f"), Column("four", "at 128", ".2f"),
    )  # fmt: skip
    text = None
    if fails:
        text = verdict(fails, "the mean score at twice the trained length is below the bar (0.95)")
        deeper = deeper_words(models)
        text += f" {deeper}" if deeper else ""
    return Answer(
        "Nothing extrapolates past the trained length",
        "Score at two and four times the longest trained length, over the seeds that learned the task (usual blocks). "
        "Were the claim right, all would end below the bar.",
        text, (Table("extrapolation", "Scores past the trained length", columns, rows),),
    )  # fmt: skip


def deeper_words(models: Mapping[DepthModel, list[DepthRun]]) -> str:
    """What more layers do to the score at twice the length, where the encoding learned it at both depths."""
    better, worse = list[str](), list[str]()
    for name in dict.fromkeys(m.encoding for m in models):
        means = {
            m.layers: fmean(values) for m, own in models.items() if m.encoding == name
            if (values := [v for run in own if run.learned and (v := beyond(run)) is not None])
        }  # fmt: skip
        if 1 in means and 16 in means:
            change = means[16] - means[1]
            (better if change > 0.02 else worse if change < -0.02 else []).append(f"{called(name)} ({change:+.2f})")
    parts = [f"{verb} it for {listed(names)}" for verb, names in (("raises", better), ("lowers", worse)) if names]
    return f"Going from 1 to 16 layers {' and '.join(parts)}." if parts else ""
