"""All probes of a trained run."""

from dataclasses import dataclass

import torch

from ordinate.core.task import Batch
from ordinate.model import Transformer
from ordinate.probes.attention_patterns import HeadPattern, attention_of, patterns, rows_that_fit
from ordinate.probes.gradient_norms import gradient_norms
from ordinate.probes.head_names import induction_scores, name_heads, repeated_tokens
from ordinate.probes.hidden_states import StateProbe, probe_state, sequences_to_read, states_of
from ordinate.probes.intervention_costs import band_interventions, head_interventions, position_interventions
from ordinate.probes.interventions import check_head
from ordinate.probes.learned_parameters import learned_effects, learned_parameters
from ordinate.probes.model_probe import LayerProbe, OwnModelProbe
from ordinate.probes.subject import ProbeSubject
from ordinate.probes.trained_run import FEWEST, check_sequences, open_run
from ordinate.store import Run

SEQUENCES = 128  # that interventions and readers see, unless
TOKENS = 16_384  # they have more tokens together
WATCHED = 32  # whose attention is measured
LOGITS = 2**26  # that a backward pass may hold: 256 MB in float32


@dataclass(frozen=True)
class RunProbe(OwnModelProbe):
    """What a trained run does. Lengths are the tested ones that its encoding can take, `length` the longest of them in
    distribution; a run has learned its task if it reached the bar and kept it."""

    run: str
    task: str


def probe_run(stored: Run, sequences: int | None = None, only: tuple[int, int] | None = None) -> RunProbe:
    """Probe a finished run; its folder is only read. `only`: the layer and head to name, remove and patch."""
    if sequences is not None:
        check_sequences(sequences)
    run = open_run(stored)
    return RunProbe(**vars(probe_own_model(run, sequences, only)), run=run.id, task=run.config.task)


def probe_own_model(
    subject: ProbeSubject, sequences: int | None = None, only: tuple[int, int] | None = None
) -> OwnModelProbe:
    """All probes of a model that was trained here."""
    sequences = sequences or min(SEQUENCES, max(2 * FEWEST, TOKENS // subject.width(subject.length)))
    if only is not None:
        check_head(subject.model, *only)
    attention = {length: tuple(attention_patterns(subject, length, sequences)) for length in subject.lengths}
    heads = [
        head
        for head in name_heads(attention, subject.length, induction(subject, sequences))
        if only in (None, (head.layer, head.head))
    ]
    batch = subject.examples(subject.length, sequences)
    some = batch.rows(0, gradient_rows(subject, sequences))
    return OwnModelProbe(
        seed=subject.seed, metric=subject.metric, learned=subject.learned, length=subject.length,
        lengths=subject.lengths, sequences=len(batch.tokens), encoding=subject.encoding,
        heads=tuple(heads), attention=attention, layers=tuple(layer_probes(subject, batch)),
        gradients=gradient_norms(subject.model, some), untrained_gradients=gradient_norms(subject.untrained, some),
        gradient_norms=subject.gradient_norms,
        parameters=tuple(learned_parameters(subject.untrained, subject.model)),
        effects=tuple(learned_effects(subject.untrained, subject.model, 2 * subject.trained_length)),
        interventions=(
            *position_interventions(subject, sequences),
            *head_interventions(subject, heads, sequences),
            *band_interventions(subject, sequences),
        ),
    )  # fmt: skip


def gradient_rows(subject: ProbeSubject, sequences: int) -> int:
    """How many sequences have logits that fit into memory, with their gradients."""
    logits = subject.model.config.classes * subject.width(subject.length)
    return max(1, min(sequences, LOGITS // logits))


def attention_patterns(subject: ProbeSubject, length: int, sequences: int) -> list[HeadPattern]:
    """Of every head on sequences of one length, all at the same positions."""
    config = subject.model.config
    rows = min(WATCHED, sequences, rows_that_fit(config.heads, subject.width(length)))
    batch = subject.examples(length, rows, shared=True)
    assert batch.positions is not None
    attend = attention_of(subject.model, batch.tokens, batch.positions)
    return patterns(attend, causal=config.causal, targets=subject.targets(batch))


def induction(subject: ProbeSubject, sequences: int) -> list[float] | None:
    """The induction score of every head; none where tokens cannot be repeated: on grids, and where all see all."""
    if not subject.repeatable:
        return None
    width = subject.width(subject.length)
    repeated = repeated_tokens(subject.model.config.vocabulary, width, min(WATCHED, sequences))
    positions = torch.arange(width).view(1, -1, 1)
    attends = [(period, attention_of(subject.model, tokens, positions)) for period, tokens in repeated]
    return induction_scores(attends) if attends else None


def layer_probes(subject: ProbeSubject, batch: Batch) -> list[LayerProbe]:
    """Readers, rank and similarity at every depth, beside the same model untrained."""
    rows = sequences_to_read(len(batch.tokens), batch.tokens.shape[1])

    def probes(model: Transformer) -> list[StateProbe]:
        some = batch.rows(0, rows)
        return [probe_state(states) for states in states_of(model, some.tokens, some.positions)]

    both = zip(probes(subject.model), probes(subject.untrained), strict=True)
    return [LayerProbe(depth, trained, untrained) for depth, (trained, untrained) in enumerate(both)]
