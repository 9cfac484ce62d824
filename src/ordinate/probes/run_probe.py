"""All probes of a trained run."""

from dataclasses import dataclass

import torch

from ordinate.core.task import Batch
from ordinate.model import Transformer
from ordinate.probes.attention_patterns import HeadPattern, Targets, attention_of, patterns, rows_that_fit
from ordinate.probes.gradient_norms import GradientProbe, gradient_norms
from ordinate.probes.head_names import induction_scores, name_heads, repeated_tokens
from ordinate.probes.hidden_states import StateProbe, probe_state, sequences_to_read, states_of
from ordinate.probes.intervention_costs import band_interventions, head_interventions, position_interventions
from ordinate.probes.interventions import check_head
from ordinate.probes.learned_parameters import LearnedEffect, LearnedParameter, learned_effects, learned_parameters
from ordinate.probes.model_probe import LayerProbe, ModelProbe
from ordinate.probes.trained_run import FEWEST, TrainedRun, check_sequences, open_run
from ordinate.store import Run

SEQUENCES = 128  # that interventions and readers see, unless
TOKENS = 16_384  # they have more tokens together
WATCHED = 32  # whose attention is measured


@dataclass(frozen=True)
class RunProbe(ModelProbe):
    """What a trained run does. Lengths are the tested ones that its encoding can take, `length` the longest of them in
    distribution; a run has learned its task if it reached the bar and kept it."""

    run: str
    task: str
    encoding: str
    seed: int
    sequences: int  # that interventions and readers saw
    gradients: GradientProbe
    untrained_gradients: GradientProbe
    gradient_norms: tuple[tuple[int, float], ...]  # of the whole model by step, as the journal has them
    parameters: tuple[LearnedParameter, ...]
    effects: tuple[LearnedEffect, ...]


def probe_run(stored: Run, sequences: int | None = None, only: tuple[int, int] | None = None) -> RunProbe:
    """Probe a finished run; its folder is only read. `only`: the layer and head to name, remove and patch."""
    if sequences is not None:
        check_sequences(sequences)
    run = open_run(stored)
    sequences = sequences or min(SEQUENCES, max(2 * FEWEST, TOKENS // run.task.width(run.length)))
    if only is not None:
        check_head(run.model, *only)
    attention = {length: tuple(attention_patterns(run, length, sequences)) for length in run.lengths}
    heads = [
        head
        for head in name_heads(attention, run.length, induction(run, sequences))
        if only in (None, (head.layer, head.head))
    ]
    batch = run.examples(run.length, sequences)
    encoding = run.config.model.encoding
    return RunProbe(
        run=run.id, task=run.config.task, seed=run.config.seed, metric=run.task.metric, learned=run.learned,
        length=run.length, lengths=run.lengths, sequences=sequences,
        encoding=encoding if isinstance(encoding, str) else ", ".join(encoding),
        heads=tuple(heads), attention=attention, layers=tuple(layer_probes(run, batch)),
        gradients=gradient_norms(run.model, batch), untrained_gradients=gradient_norms(run.untrained, batch),
        gradient_norms=run.gradient_norms,
        parameters=tuple(learned_parameters(run.untrained, run.model)),
        effects=tuple(learned_effects(run.untrained, run.model, 2 * run.config.model.length)),
        interventions=(
            *position_interventions(run, sequences),
            *head_interventions(run, heads, sequences),
            *band_interventions(run, sequences),
        ),
    )  # fmt: skip


def attention_patterns(run: TrainedRun, length: int, sequences: int) -> list[HeadPattern]:
    """Of every head on sequences of one length, all at the same positions."""
    config, width = run.config.model, run.task.width(length)
    rows = min(WATCHED, sequences, rows_that_fit(config.heads, width))
    batch = run.examples(length, rows, shared=True)
    assert batch.positions is not None
    attend = attention_of(run.model, batch.tokens, batch.positions)
    return patterns(attend, causal=config.causal, targets=Targets.of(run.task, batch.tokens))


def induction(run: TrainedRun, sequences: int) -> list[float] | None:
    """The induction score of every head; none where tokens cannot be repeated: on grids, and where all see all."""
    config = run.config.model
    if not config.causal or config.axes != 1 or run.config.tested != "plain":
        return None
    width = run.task.width(run.length)
    repeated = repeated_tokens(config.vocabulary, width, min(WATCHED, sequences))
    positions = torch.arange(width).view(1, -1, 1)
    attends = [(period, attention_of(run.model, tokens, positions)) for period, tokens in repeated]
    return induction_scores(attends) if attends else None


def layer_probes(run: TrainedRun, batch: Batch) -> list[LayerProbe]:
    """Readers, rank and similarity at every depth, beside the same model untrained."""
    rows = sequences_to_read(len(batch.tokens), batch.tokens.shape[1])

    def probes(model: Transformer) -> list[StateProbe]:
        some = batch.rows(0, rows)
        return [probe_state(states) for states in states_of(model, some.tokens, some.positions)]

    both = zip(probes(run.model), probes(run.untrained), strict=True)
    return [LayerProbe(depth, trained, untrained) for depth, (trained, untrained) in enumerate(both)]
