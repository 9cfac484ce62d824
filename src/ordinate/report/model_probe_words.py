"""What the probes of a model found: sentences that fit on one screen, and the tables behind them."""

from collections.abc import Iterator, Sequence

from ordinate.probes.head_names import FOCUSED, NamedHead
from ordinate.probes.intervention_costs import Intervention, alike, group_name
from ordinate.probes.model_probe import ModelProbe
from ordinate.report.encoding_probe_words import Line
from ordinate.report.table import Column, Table
from ordinate.statistics.phrases import capital, counted, listed

STEADY = 0.05  # a weight that changes less over the tested lengths is the same
NOTABLE = 0.02  # of a score: a smaller cost is none
MOST_HEADS = 16  # rows of the table on a screen
MOST_NAMED = 8  # heads and parameters in a sentence

_VERBS = {
    "permute": "permuting positions", "shift within": "shifting them within the trained range",
    "shift past": "shifting them past the trained range", "freeze": "freezing them",
    "off": "switching the encoding off",
}  # fmt: skip


def model_lines(probe: ModelProbe) -> list[Line]:
    """What can be said of any model."""
    return [
        *_unlearned(probe),
        ("Does", headline(probe)),
        *_others(probe),
        *_together(probe),
        *_positions(probe),
        ("Position by layer", _layers(probe)),
    ]


def headline(probe: ModelProbe) -> str:
    """`Layer 1 head 2 looks 3 back with weight 0.98 at every tested length; permuting positions costs 0.93, shifting
    them 0.00`."""
    text = capital(head_words(main_head(probe), probe))
    permute, shift = probe.intervention("permute"), shift_of(probe)
    if permute is None:
        return text
    return f"{text}; permuting positions costs {cost_words(permute)}" + (
        f", shifting them {cost_words(shift)}" if shift else ""
    )


def shift_of(probe: ModelProbe) -> Intervention | None:
    """The shift within the trained positions; without one, past them."""
    both = (probe.intervention(name) for name in ("shift within", "shift past"))
    return next((each for each in both if each is not None and each.cost is not None), None)


def main_head(probe: ModelProbe) -> NamedHead:
    """Of the heads that look where the answers stand, or of all if none does, the one whose removal costs most; where
    none costs anything alone, the one that is most fixed on a place."""

    def weight(head: NamedHead) -> tuple[bool, float, float]:
        cost = _cost_of(probe, head, "head removed") or 0.0
        placed = head.role in ("offset", "first", "induction")
        on_target = head.on_target.get(probe.length, 0.0) >= FOCUSED
        return on_target, cost if cost >= NOTABLE else 0.0, placed * head.score.get(probe.length, 0.0)

    return max(probe.heads, key=weight)


def _unlearned(probe: ModelProbe) -> Iterator[Line]:
    if not probe.learned:
        yield "Mind", "the model has not learned what it is scored on: costs say little"


def _together(probe: ModelProbe) -> Iterator[Line]:
    """Heads that look at the same place, removed at once."""
    found = []
    for group in alike(probe.heads):
        removed = probe.intervention(group_name(group), "heads removed")
        if removed is not None:
            found.append(f"the {len(group)} heads that {_plural(role_words(group[0]), 2)} costs {cost_words(removed)}")
    if found:
        yield "Together", f"removing {listed(found)}"


def intervention_words(each: Intervention) -> str:
    """`positions permuted`, `2.3 removed`: one row of a picture."""
    if each.kind == "positions":
        return {
            "permute": "positions permuted", "shift within": "positions shifted", "shift past": "shifted past training",
            "freeze": "positions frozen", "off": "encoding off",
        }[each.name]  # fmt: skip
    number = each.name.replace("layer ", "").replace(" head ", ".")
    if each.kind == "heads removed":
        return f"{each.name.count(',') + 1} alike removed"
    names = {"head removed": f"{number} removed", "head patched": f"{number} made ideal"}
    return names.get(each.kind, f"no {each.name}")


def head_words(head: NamedHead, probe: ModelProbe) -> str:
    """`layer 1 head 2 looks 3 back with weight 0.98 at every tested length`."""
    return f"{head.name} {role_words(head)} {_weight_words(head, probe.length)}"


def role_words(head: NamedHead) -> str:
    """What a head does, without its score."""
    if head.role == "offset":
        assert head.offset is not None
        known = {0: "looks at itself", 1: "looks at the previous token", -1: "looks at the next token"}
        far = f"looks {abs(head.offset)} {'back' if head.offset > 0 else 'ahead'}"
        return known.get(head.offset, far)
    return {
        "first": "looks at the first token", "induction": "looks at what followed the same token before",
        "uniform": "spreads its attention evenly", "content": "goes by content",
        "by distance": "goes by distance", "mixed": "mixes position and content",
    }[head.role]  # fmt: skip


def _weight_words(head: NamedHead, trained: int) -> str:
    known, scores, longest = head.score[trained], head.score, max(head.score)
    if len(scores) > 1 and max(abs(score - known) for score in scores.values()) <= STEADY:
        text = f"{known:.2f} at every tested length"
    elif longest == trained:
        text = f"{known:.2f} at length {trained}"
    else:
        text = f"{known:.2f} at length {trained} and {scores[longest]:.2f} at {longest}"
    return f"with weight {text}" if head.role in ("offset", "first", "induction") else f"({text})"


def _others(probe: ModelProbe) -> Iterator[Line]:
    """How many heads do the same, and how many do something else."""
    main, groups = main_head(probe), dict[str, list[NamedHead]]()
    for head in probe.heads:
        if head is not main:
            groups.setdefault(role_words(head), []).append(head)
    parts = [
        f"{counted(len(heads), 'head')} {_plural(words, len(heads))} ({_numbers(heads)})"
        for words, heads in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]
    if parts:
        yield "Other heads", "; ".join(parts)


def _numbers(heads: Sequence[NamedHead]) -> str:
    """`1.2, 2.1`: some of many."""
    named = [f"{head.layer}.{head.head}" for head in heads]
    return ", ".join(named[:MOST_NAMED] + ["..."] * (len(named) > MOST_NAMED))


def _plural(words: str, count: int) -> str:
    if count == 1:
        return words
    verb, _, rest = words.partition(" ")
    verbs = {"looks": "look", "spreads": "spread", "goes": "go", "mixes": "mix"}
    return f"{verbs[verb]} {rest}".replace("its attention", "their attention").replace("itself", "themselves")


def cost_words(found: Intervention) -> str:
    return "(impossible)" if found.cost is None else f"{found.cost:.2f}".replace("-0.00", "0.00")


def _positions(probe: ModelProbe) -> Iterator[Line]:
    found = [(verb, each) for name, verb in _VERBS.items() if (each := probe.intervention(name))]
    if found:
        before = found[0][1].before
        text = ", ".join(f"{verb} {cost_words(each)}" for verb, each in found)
        lower = " (lower is better)" if found[0][1].lower_is_better else ""
        yield "What costs what", f"of {probe.metric} {before:.2f}{lower}: {text}"
        if probe.learned:
            yield "Uses positions", _uses(probe)


def _uses(probe: ModelProbe) -> str:
    """What the interventions mean together."""
    used = max((each.cost or 0.0) for name in ("permute", "off") if (each := probe.intervention(name)))
    if used < NOTABLE:
        return "no: without the encoding it scores the same"
    permute, within, past = (probe.intervention(name) for name in ("permute", "shift within", "shift past"))
    if permute is not None and (permute.cost or 0.0) < NOTABLE:
        return "the order of tokens, which the encoding finds without position ids"
    if within is not None and (within.cost or 0.0) >= NOTABLE:
        return "absolute ones: moving all together hurts, even within the trained range"
    if past is None or past.cost is None:
        return "yes; past the trained range the encoding has none"
    if past.cost < NOTABLE:
        return "relative ones: moving all together changes nothing, wherever they go"
    known = "trained ones, whose differences it has learned" if within is not None else "absolute ones"
    return f"{known}: moving all past the trained range hurts"


def _layers(probe: ModelProbe) -> str:
    """Where position can be read best, beside the untrained model."""
    best = max(probe.layers, key=lambda layer: layer.trained.position)
    where = "the input of layer 1" if best.depth == 0 else f"the output of layer {best.depth}"
    last = probe.layers[-1]
    return (
        f"read best from {where} (R² {_r2(best.trained.position)}, untrained {_r2(best.untrained.position)}); at the"
        f" end {_r2(last.trained.position)} of position and {_r2(last.trained.distance)} of distance; effective rank"
        f" {probe.layers[0].trained.effective_rank:.1f} at the start, {last.trained.effective_rank:.1f} at the end"
    )


def _r2(value: float) -> str:
    return f"{max(value, 0.0):.2f}"


def head_lines(probe: ModelProbe) -> list[Line]:
    """All numbers of a probe that names one head."""
    (head,) = probe.heads
    lines = [("Does", capital(head_words(head, probe)))]
    for length, patterns in probe.attention.items():
        pattern = next(each for each in patterns if (each.layer, each.head) == (head.layer, head.head))
        on_target = "" if pattern.on_target is None else f", target {pattern.on_target:.2f}"
        nearest = max(pattern.by_distance)
        far = pattern.by_distance.index(nearest) + pattern.first_distance
        lines.append((
            f"At length {length}",
            f"itself {pattern.at(0):.2f}, previous {pattern.at(1):.2f}, {far} back {nearest:.2f}, first"
            f" {pattern.on_first:.2f}{on_target}; entropy {pattern.entropy:.2f}; content {pattern.content:.2f}",
        ))  # fmt: skip
    for kind, words in (("head removed", "Removing it"), ("head patched", "Ideal pattern")):
        if found := probe.intervention(head.name, kind):
            lines.append((words, f"costs {cost_words(found)} of {found.before:.2f}"))
    return lines


def model_tables(probe: ModelProbe) -> list[Table]:
    """Heads and layers, with every number that the sentences use."""
    return [_head_table(probe), _layer_table(probe)]


def _head_table(probe: ModelProbe) -> Table:
    longest = max(probe.lengths)
    columns = [Column("head", "head"), Column("does", "does"), Column("weight", f"at {probe.length}", ".2f")]
    columns += [Column("longest", f"at {longest}", ".2f")] * (longest > probe.length)
    columns += [Column("entropy", "entropy", ".2f"), Column("content", "content", ".2f")]
    targeted = any(head.on_target for head in probe.heads)
    columns += [Column("target", "on target", ".2f")] * targeted
    tried = any(each.kind == "head removed" for each in probe.interventions)
    columns += [Column("removed", "removing costs", ".2f"), Column("patched", "ideal pattern costs", ".2f")] * tried
    patterns = {(each.layer, each.head): each for each in probe.attention[probe.length]}
    rows = []
    for head in _most_important(probe):
        pattern = patterns[head.layer, head.head]
        row: list[str | float | None] = [f"{head.layer}.{head.head}", role_words(head), head.score[probe.length]]
        row += [head.score.get(longest)] * (longest > probe.length)
        row += [pattern.entropy, pattern.content]
        row += [head.on_target.get(probe.length)] * targeted
        row += [_cost_of(probe, head, kind) for kind in ("head removed", "head patched")] * tried
        rows.append(tuple(row))
    note = "2.3: layer 2, head 3. Content: the share of attention that other tokens at the same positions move."
    return Table("heads", "Heads", tuple(columns), rows, note=note)


def _cost_of(probe: ModelProbe, head: NamedHead, kind: str) -> float | None:
    found = probe.intervention(head.name, kind)
    return None if found is None or found.cost is None else round(found.cost, 6) + 0.0


def _most_important(probe: ModelProbe) -> Sequence[NamedHead]:
    """In the order of their removal's cost where there are many."""
    if len(probe.heads) <= MOST_HEADS:
        return probe.heads
    return sorted(probe.heads, key=lambda head: -(_cost_of(probe, head, "head removed") or 0.0))[:MOST_HEADS]


def _layer_table(probe: ModelProbe) -> Table:
    columns = (
        Column("depth", "after layer"),
        Column("position", "position R²", ".2f"), Column("position_untrained", "untrained", ".2f"),
        Column("exact", "exact", ".2f"),
        Column("distance", "distance R²", ".2f"), Column("distance_untrained", "untrained", ".2f"),
        Column("rank", "effective rank", ".1f"), Column("rank_untrained", "untrained", ".1f"),
        Column("similarity", "similarity", ".2f"), Column("similarity_untrained", "untrained", ".2f"),
    )  # fmt: skip
    rows = [
        (
            layer.depth, layer.trained.position, layer.untrained.position, layer.trained.position_exact,
            layer.trained.distance, layer.untrained.distance, layer.trained.effective_rank,
            layer.untrained.effective_rank, layer.trained.similarity, layer.untrained.similarity,
        )
        for layer in probe.layers
    ]  # fmt: skip
    note = "0: the input of layer 1. R²: of linear readers, on sequences they were not fitted to."
    return Table("layers", "Hidden states by layer", columns, rows, note=note)
