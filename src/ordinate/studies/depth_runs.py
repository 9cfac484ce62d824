"""The runs of the depth study: what each is, how it ended, and what was measured of it by depth."""

from dataclasses import dataclass

from ordinate.probes.layer_measures import LayerMeasures
from ordinate.probes.records import stored
from ordinate.results.run_result import RunResult
from ordinate.store import Store
from ordinate.studies import study_file
from ordinate.studies.stages import seeds_to_report
from ordinate.studies.study_state import StudyState

STUDY = "depth"


@dataclass(frozen=True)
class DepthModel:
    """One kind of model: all that differs between the runs of the study but for their seeds and rates."""

    encoding: str  # without its parameters
    layers: int
    norm_place: str
    residual: bool
    dataset: int | None  # none: fresh sequences in every step

    @property
    def usual(self) -> bool:
        """Norms before each branch, residuals, and as many sequences as there are steps."""
        return self.norm_place == "pre" and self.residual and self.dataset is None


@dataclass(frozen=True)
class DepthRun:
    """One seed of one model. measures: none if its weights were not kept, and of one that diverged."""

    model: DepthModel
    seed: int
    result: RunResult
    measures: LayerMeasures | None

    @property
    def learned(self) -> bool:
        return not self.result.diverged and self.result.training_end().learned


def depth_runs(store: Store) -> dict[DepthModel, list[DepthRun]]:
    """The finished runs of all models, in the order of the study; a model without any has an empty list."""
    found: dict[DepthModel, dict[str, DepthRun]] = {}
    for part in study_file.load(STUDY).parts:
        state = StudyState(part.study, store)
        seeds = range(1, seeds_to_report(state) + 1)
        for arm in state.arms():
            base = arm.base.model
            model = DepthModel(
                arm.encoding.partition("(")[0], base.layers, base.norm_place, base.residual, arm.base.dataset
            )
            own = found.setdefault(model, {})
            for config in (state.reported_run(arm, seed) for seed in seeds):
                if config.id not in own and (result := state.result(config)):
                    run = store.run(config.id)
                    own[config.id] = DepthRun(model, config.seed, result, stored(LayerMeasures, run))
    return {model: list(runs.values()) for model, runs in found.items()}
