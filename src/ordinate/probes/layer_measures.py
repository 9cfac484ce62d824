"""What a trained model is like at every depth, beside the same model untrained: a few numbers that are stored."""

import math
from dataclasses import dataclass, replace

from ordinate.core.task import Batch
from ordinate.probes.gradient_norms import gradient_norms
from ordinate.probes.hidden_states import StateProbe, probe_state, sequences_to_read, states_of
from ordinate.probes.run_probe import SEQUENCES, attention_patterns
from ordinate.probes.trained_run import TrainedRun, open_run
from ordinate.store import Run


@dataclass(frozen=True)
class DepthMeasures:
    """One model. states: the input of the first layer, then the output of every layer. By layer: gradients, the norm of
    dL/dw for one batch; entropy, the mean over heads and queries of the attention's entropy over log(keys seen), 1 if
    attention is spread evenly and 0 if it is on one key."""

    states: tuple[StateProbe, ...]
    gradients: tuple[float, ...]
    entropy: tuple[float, ...]


@dataclass(frozen=True)
class LayerMeasures:
    """A finished run at its longest tested length in distribution."""

    run: str
    length: int
    sequences: int
    trained: DepthMeasures
    untrained: DepthMeasures


def layer_measures(stored: Run, sequences: int = SEQUENCES) -> LayerMeasures:
    """Measure a finished run; its folder is only read."""
    run = open_run(stored)
    batch = run.examples(run.length, sequences)
    trained, untrained = (_measures(replace(run, model=model), batch) for model in (run.model, run.untrained))
    return LayerMeasures(run.id, run.length, sequences, trained, untrained)


def _measures(run: TrainedRun, batch: Batch) -> DepthMeasures:
    some = batch.rows(0, sequences_to_read(len(batch.tokens), batch.tokens.shape[1]))
    states = tuple(map(probe_state, states_of(run.model, some.tokens, some.positions)))
    return DepthMeasures(states, gradient_norms(run.model, batch).layers, _entropy(run, len(batch.tokens)))


def _entropy(run: TrainedRun, sequences: int) -> tuple[float, ...]:
    """Of every layer, as a share of the largest possible."""
    patterns, width = attention_patterns(run, run.length, sequences), run.task.width(run.length)
    causal = run.config.model.causal
    most = math.lgamma(width + 1) / width if causal else math.log(width)  # the mean of log 1, ..., log n
    layers = sorted({pattern.layer for pattern in patterns})
    by_layer = [[pattern.entropy for pattern in patterns if pattern.layer == layer] for layer in layers]
    return tuple(sum(own) / len(own) / most for own in by_layer)
