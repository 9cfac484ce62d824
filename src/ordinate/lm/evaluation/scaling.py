"""The scalings of rotation angles that were made for longer contexts, switched on after training."""

from dataclasses import replace

import torch

from ordinate import encodings
from ordinate.core.errors import InputError, nearest
from ordinate.core.parsing import Choice, parse_choice
from ordinate.lm.evaluation.scorer import Scorer
from ordinate.lm.trained_model import TrainedModel
from ordinate.model import Transformer

PARAMETER = "scaling"  # of encodings that have one


def check_scalings(trained: TrainedModel, scalings: tuple[str, ...]) -> None:
    """Refuse scalings that the model's encoding does not have."""
    for kind in scalings:
        scaled(trained, kind, 2.0)


def scaled(trained: TrainedModel, kind: str, factor: float) -> Scorer:
    """The same weights for contexts `factor` times as long. A scaling that follows the current length by itself keeps
    its own factor."""
    config = trained.config.model
    texts = (config.encoding,) if isinstance(config.encoding, str) else config.encoding
    changed = tuple("+".join(_text(choice, kind, factor) for choice in parse_choice(text)) for text in texts)
    if changed == texts:
        having = ", ".join(name for name in encodings.names() if PARAMETER in encodings.registry.parameters(name))
        raise InputError(f"{trained.config.encoding} has no {PARAMETER}, which {having} has: leave --scaling out")
    with torch.device(trained.device):
        model = Transformer(replace(config, encoding=changed), seed=trained.config.seed)
    model.load_state_dict(trained.model.state_dict())
    return Scorer(trained, model.eval(), kind)


def _text(choice: Choice, kind: str, factor: float) -> str:
    parameters = encodings.registry.parameters(choice.name)
    given = dict(choice.parameters)
    if PARAMETER in parameters:
        if kind not in parameters[PARAMETER].choices or kind == parameters[PARAMETER].default:
            known = [name for name in parameters[PARAMETER].choices if name != parameters[PARAMETER].default]
            raise InputError(f"unknown scaling {kind!r}: {nearest(kind, known)}")
        if PARAMETER in given:
            raise InputError(
                f"the model was trained with {PARAMETER}={given[PARAMETER]}: evaluate it without --scaling"
            )
        given |= {PARAMETER: kind}
        if encodings.example(choice.name, **given).cacheable:  # its angles do not follow the current length
            given |= {"factor": factor}
    return encodings.registry.canonical(Choice(choice.name, tuple(sorted(given.items()))))
