"""Scalings that are switched on after training."""

from collections.abc import Callable

import pytest
import torch

from ordinate.core.errors import InputError
from ordinate.lm.evaluation.config import EvalConfig, InductionConfig, PasskeyConfig, ProblemConfig, TextConfig
from ordinate.lm.evaluation.evaluate import evaluate
from ordinate.lm.evaluation.scaling import scaled
from ordinate.lm.trained_model import TrainedModel
from ordinate.model import Transformer
from ordinate.text.corpus import Corpus

SMALL = EvalConfig(
    text=TextConfig(tokens=256, targets=64, contexts=(1, 2, 4), more_contexts=()),
    problems=ProblemConfig(kinds=("copy", "passkey"), shots=(0,), count=2),
    passkey=PasskeyConfig(contexts=(4,), depths=(0.5,), symbols=1, count=2),
    induction=InductionConfig((0.5,), 2),
)


@pytest.mark.parametrize("kind", ["linear", "ntk", "dynamic", "yarn"])
def test_a_scaled_model_has_the_same_weights_under_other_angles(
    untrained: Callable[..., TrainedModel], kind: str
) -> None:
    trained = untrained()
    own = scaled(trained, kind, 4.0)
    factor = "" if kind == "dynamic" else ",factor=4"
    wanted = Transformer(
        trained.config.model.__class__(**vars(trained.config.model) | {"encoding": f"rope(scaling={kind}{factor})"})
    )
    wanted.load_state_dict(trained.model.state_dict())
    tokens = torch.arange(40)[None]
    with torch.no_grad():
        assert torch.equal(own.model(tokens), wanted.eval()(tokens))
        assert not torch.equal(own.model(tokens), trained.model(tokens))


def test_scalings_are_rows_of_their_own_past_the_trained_length(
    untrained: Callable[..., TrainedModel], long_corpus: Corpus
) -> None:
    stages: list[str] = []
    config = EvalConfig(**vars(SMALL) | {"scaling": ("yarn", "ntk")})
    found = evaluate(untrained(), long_corpus, config, stages.append)
    assert len(stages) == config.stages
    for kind in ("yarn", "ntk"):
        rows = [row for row in found.contexts if row.scaling == kind]
        assert {row.context for row in rows} == {32, 64}
        assert {row.protocol for row in rows} == {"same targets", "key tokens"}
        assert found.reach(kind) is not None
    plain = evaluate(untrained(), long_corpus, SMALL)
    assert [row for row in found.contexts if not row.scaling] == list(plain.contexts)


def test_encodings_without_scalings_and_unknown_ones_are_refused(untrained: Callable[..., TrainedModel]) -> None:
    with pytest.raises(InputError, match="alibi has no scaling, which rope has"):
        scaled(untrained("alibi"), "yarn", 2.0)
    with pytest.raises(InputError, match="did you mean yarn"):
        scaled(untrained(), "yern", 2.0)
    with pytest.raises(InputError, match="was trained with scaling=linear"):
        scaled(untrained("rope(scaling=linear,factor=2)"), "yarn", 2.0)
