"""What probes find in any model, whoever trained it."""

from dataclasses import dataclass

from ordinate.probes.attention_patterns import HeadPattern
from ordinate.probes.gradient_norms import GradientProbe
from ordinate.probes.head_names import NamedHead
from ordinate.probes.hidden_states import StateProbe
from ordinate.probes.intervention_costs import Intervention
from ordinate.probes.learned_parameters import LearnedEffect, LearnedParameter


@dataclass(frozen=True)
class LayerProbe:
    """The hidden states at one depth, 0 for the input of the first layer, with and without training."""

    depth: int
    trained: StateProbe
    untrained: StateProbe


@dataclass(frozen=True)
class ModelProbe:
    """Heads and layers count from 1."""

    metric: str  # of the interventions: accuracy, exact, loss, or nats per token
    learned: bool  # whether the model can do what it is scored on
    length: int  # at which heads are named
    lengths: tuple[int, ...]  # all that were probed
    heads: tuple[NamedHead, ...]
    attention: dict[int, tuple[HeadPattern, ...]]  # by length
    layers: tuple[LayerProbe, ...]
    interventions: tuple[Intervention, ...]

    def intervention(self, name: str, kind: str = "positions") -> Intervention | None:
        """The one of this name, if it was done."""
        return next((each for each in self.interventions if (each.kind, each.name) == (kind, name)), None)


@dataclass(frozen=True)
class OwnModelProbe(ModelProbe):
    """What can be found in a model that was trained here: beside the same model untrained, with its gradients."""

    encoding: str
    seed: int
    sequences: int  # that interventions and readers saw
    gradients: GradientProbe
    untrained_gradients: GradientProbe
    gradient_norms: tuple[tuple[int, float], ...]  # of the whole model by step, as the journal has them
    parameters: tuple[LearnedParameter, ...]
    effects: tuple[LearnedEffect, ...]
