"""What a study has found so far: its scores, the alarms that scores alone cannot show, and whether it is settled."""

from collections.abc import Iterator

from ordinate.statistics.analyse import analyse
from ordinate.statistics.analysis import Alarm, Analysis, TaskAnalysis
from ordinate.statistics.looks import no_difference
from ordinate.statistics.observation import Observation
from ordinate.studies.state import Arm, State

LARGE = 5.0  # times the token embeddings: an added table of this size may decide by its size alone


def analysis(state: State, seeds: int) -> Analysis:
    """All statistics over the reported runs of so many seeds."""
    return analyse(
        observations(state, seeds),
        alpha=state.looks.alpha,
        planned=_planned(state),
        alarms=alarms(state, seeds),
        preliminary=state.study.relaxed,
    )


def observations(state: State, seeds: int) -> list[Observation]:
    """Every score of the reported runs."""
    return [item for arm in state.arms() for seed in range(1, seeds + 1) for item in _observed(state, arm, seed)]


def _planned(state: State) -> dict[str, list[str]]:
    return {name: [e for task, e, _ in state.study.bases if task == name] for name in state.study.tasks}


def alarms(state: State, seeds: int) -> dict[str, list[Alarm]]:
    """By task, what scores alone cannot show."""
    arms, found = state.arms(), {task: list[Alarm]() for task in state.study.tasks}
    for name, told in found.items():
        runs = [state.config(arm, seed, arm.rate) for arm in arms if arm.task == name for seed in range(1, seeds + 1)]
        done = sum(state.result(config) is not None for config in runs)
        if done < len(runs):
            told.append(Alarm("unfinished", f"{done} of {len(runs)} runs are there: what follows is not the whole"))
    for arm in arms:
        found[arm.task].extend(_alarms(state, arm, seeds))
    return found


def _observed(state: State, arm: Arm, seed: int) -> Iterator[Observation]:
    result = state.result(state.config(arm, seed, arm.rate))
    if result is None:
        return
    family, diverged = state.task(arm.base).family, result["status"] == "diverged"
    for row in result["evaluation"]:
        yield Observation(
            task=arm.task, encoding=arm.encoding, seed=seed, split=row["split"], length=row["length"],
            score=row["score"], chance=row["chance"], floor=row["floor"], sequences=row["sequences"],
            bar=result["bar"], direction=result["direction"], diverged=diverged, family=family, hash=row["hash"],
            seen=row["seen"],
        )  # fmt: skip


def _alarms(state: State, arm: Arm, seeds: int) -> Iterator[Alarm]:
    sweep = arm.sweep
    if sweep and sweep.at_edge and sweep.tied:
        side = "largest" if sweep.chosen == sweep.points[-1].rate else "smallest"
        text = f"{arm.encoding}: the best learning rate ({sweep.chosen:g}) is the {side} that was tried"
        yield Alarm("grid edge", text)
    if sweep and not sweep.tied:
        yield Alarm("grid edge", f"{arm.encoding}: no learning rate led to a score on the pilot seed")
    configs = [state.config(arm, seed, arm.rate) for seed in range(1, seeds + 1)]
    first = next((found for config in configs if (found := state.result(config))), None)
    size, change = (first["norms"].get(k) or 0.0 for k in ("embedding_norm", "encoding_norm")) if first else (0.0, 0.0)
    if change > LARGE * size:
        yield Alarm(
            "sizes",
            f"{arm.encoding} adds values {change / size:.0f} times as large as the token embeddings, so its result may "
            "be one of size: embedding_std sets theirs",
        )
    pilots = [state.pilot(arm, point.rate) for point in sweep.points] if sweep else []
    for name, members in (("learning rates", pilots), ("runs", configs)):
        broken = [state.failed[config.id] for config in members if config.id in state.failed]
        if broken:
            yield Alarm("failed", f"{arm.encoding}: {len(broken)} of {len(members)} {name} failed: {broken[0]}")


def settled(task: TaskAnalysis) -> bool:
    """Whether each pair of encodings is told apart, or told to be alike, on the headline range."""
    fits = {frozenset((pair.better, pair.worse)): pair for pair in task.fit_pairs}
    for pair in task.ranges[task.headline].pairs:
        alike = task.direction == "higher" and pair.difference is not None and no_difference(pair.difference)
        if pair.claim or alike or pair.remark == "both at the floor":
            continue
        # Two that have too few scores in common: fit rates tell them apart, or both fare alike in every seed.
        fit = fits.get(frozenset((pair.better, pair.worse)))
        same = fit is not None and fit.difference is not None and fit.difference.minimum == fit.difference.maximum == 0
        if fit is None or pair.seeds > 1 or not (fit.claim or same):
            return False
    return True
