"""What probes say beside a verdict; what reads them loads torch, so it is loaded only where some run was probed."""

from ordinate.results.comparison import Comparison
from ordinate.statistics.types import TaskAnalysis


def probed(comparison: Comparison) -> bool:
    """Whether probes of some of its runs are stored."""
    return any(profile.probe is not None for profile in comparison.profiles)


def task_reason(comparison: Comparison, task: TaskAnalysis) -> str:
    """What is said beside the verdict on a task; empty without probes."""
    if not probed(comparison):
        return ""
    from ordinate.report.why import task_sentence

    return task_sentence(comparison, task)


def reasons_by_task(comparison: Comparison) -> dict[str, str]:
    """One for each task that has probes."""
    said = {task.task: task_reason(comparison, task) for task in comparison.analysis.tasks}
    return {task: sentence for task, sentence in said.items() if sentence}
