"""One run in full, or several side by side."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from ordinate.app import figure_view, run_list, why_choice, why_view
from ordinate.app.figure_view import plain
from ordinate.app.pace import tail
from ordinate.app.run_data import RunFacts, machine, read
from ordinate.app.watch import EVERY, freeze_garbage
from ordinate.core.display import duration
from ordinate.core.parsing import write_value
from ordinate.report.run_figures import Against, Drawn, by_length, learning, run_styles
from ordinate.results.run_result import StoredConfig, encoding_name
from ordinate.results.run_summary import RunSummary
from ordinate.store import Run, Store
from ordinate.store.run_table import summarize
from ordinate.studies.plan import PILOT
from ordinate.training import rerun_command


def show(runs: Sequence[Run]) -> None:
    """All that is known of these runs."""
    found = [read(run) for run in runs]
    if len(found) == 1:
        _title(found[0])
        if found[0].result is not None and why_choice.choose("view", bind=True):
            why_view.show_run(found[0].run, "run")
            return
    else:
        _beside(found)
    against, smoothing = _ways()
    if any(facts.state == "running" for facts in found):
        freeze_garbage()
        st.fragment(_growing, run_every=EVERY)(runs, against, smoothing)
    else:
        _pictures(found, against, smoothing)
    _attention(found)
    if len(found) == 1:
        _settings(found[0])
        _take_home(found[0])


def _title(facts: RunFacts) -> None:
    """What it is, how it went, and what went wrong."""
    st.subheader(plain(_name(facts)), anchor=False)
    _troubles(facts)
    result = facts.result
    if result is None:
        return
    row = _row(facts)
    key_numbers = [("State", facts.state), ("Steps", f"{result.steps:,}"), ("Time", duration(result.seconds))]
    if result.bar is not None:
        key_numbers += [("Training", row.training)]
    headline = " ".join(part for part in (_score(row.score), row.word) if part != "-") or "-"
    key_numbers += [("In distribution", _score(row.inside)), (row.headline[:1].upper() + row.headline[1:], headline)]
    key_numbers += [("Parameters", f"{result.parameters:,}")]
    with st.container(horizontal=True, gap="large"):
        for label, value in key_numbers:
            with st.container(width="content", gap=None):
                st.caption(label)
                st.markdown(f"**{plain(value)}**")


def _name(facts: RunFacts) -> str:
    if not facts.config:
        return f"Run {facts.run.id}"
    seed = facts.config["seed"]
    which = "pilot seed" if seed == PILOT else f"seed {seed}"
    return f"{facts.config['task']} with {encoding_name(facts.config)}, {which}"


def _troubles(facts: RunFacts) -> None:
    for problem in facts.problems:
        st.error(plain(problem))
    step = f"step {facts.step:,}" if facts.step else "its first step"
    if facts.state == "failed":
        st.error(f"Failed at {step}: {plain(facts.run.error)}")
        with st.expander("The error in full, and the log", expanded=True):
            st.code(tail(facts.run.folder / "error.txt"), language=None)
            st.code(tail(facts.run.folder / "log.txt"), language=None)
    elif facts.state == "interrupted":
        st.warning(f"Interrupted at {step}: start it again, and it goes on.")


def _row(facts: RunFacts) -> RunSummary:
    if facts.result is not None:
        return summarize(facts.run)
    config, state = facts.config, facts.state
    if config is None:
        return RunSummary(facts.run.id, "", "", None, None, "damaged", facts.step, None, "")
    return RunSummary(
        facts.run.id, config["task"], encoding_name(config), config["seed"], config["lr"], state, facts.step,
        config["steps"], "",
    )  # fmt: skip


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _beside(found: Sequence[RunFacts]) -> None:
    """Results and differing settings of several runs."""
    st.subheader(f"{len(found)} runs side by side", anchor=False)
    labels = _labels(found)
    for facts, label in zip(found, labels, strict=True):
        for problem in facts.problems:
            st.error(f"{plain(label)}: {plain(problem)}")
        if facts.state == "failed":
            st.error(f"{plain(label)} failed: {plain(facts.run.error)}")
    known = [(label, facts.config) for facts, label in zip(found, labels, strict=True) if facts.config]
    settings = {label: rerun_command.flat(config) for label, config in known}
    keys = dict.fromkeys(key for one in settings.values() for key in one)
    different = [key for key in keys if len({write_value(one.get(key)) for one in settings.values()}) > 1]
    summary = run_list.frame([_row(facts) for facts in found])
    summary.insert(0, "name", labels)
    st.dataframe(summary, hide_index=True, key="run-summary", column_config=run_list.config(), placeholder="")
    st.markdown("**Settings that differ**")
    if different:
        columns = {label: [write_value(one.get(key)) for key in different] for label, one in settings.items()}
        st.dataframe(pd.DataFrame({"setting": different} | columns), hide_index=True, key="run-differences")
    else:
        st.caption("None.")


def _labels(found: Sequence[RunFacts]) -> list[str]:
    """A name for each run that no other of them has."""
    tasks = {facts.config["task"] if facts.config else "" for facts in found}
    names = []
    for facts in found:
        name = encoding_name(facts.config) if facts.config else facts.run.id
        seed = facts.config["seed"] if facts.config else None
        parts = [facts.config["task"] if facts.config else ""] * (len(tasks) > 1)
        names.append(" ".join([*parts, name, "pilot" if seed == PILOT else f"seed {seed}"]))
    often = Counter(names)
    return [f"{name} {facts.run.id[:6]}" if often[name] > 1 else name for facts, name in zip(found, names, strict=True)]


def _ways() -> tuple[Against, float]:
    """Controls for the curves: their x axis and smoothing."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        against = st.segmented_control(
            "Curves by", ["step", "seconds"], default="step", required=True, key="by", bind="query-params"
        )
        smoothing = st.slider(
            "Smoothing", 0.0, 0.95, 0.0, 0.05, key="smoothing", bind="query-params", width=260,
            help="0: as it is. Otherwise each point counts so many times as much as the one after it.",
        )  # fmt: skip
    return "seconds" if against == "seconds" else "step", smoothing


def _growing(runs: Sequence[Run], against: Against, smoothing: float) -> None:
    """Redraw the curves of running runs; when all have ended, redraw the page."""
    found = [read(run) for run in runs]
    if not any(facts.state == "running" for facts in found):
        st.rerun()
    for facts, label in zip(found, _labels(found), strict=True):
        if facts.state == "running":
            steps = facts.config["steps"] if facts.config else 0
            left = f", at most {duration(facts.pace * max(0, steps - facts.step))} left" if facts.pace else ""
            st.progress(min(1.0, facts.step / max(1, steps)), f"{plain(label)}: step {facts.step:,} of {steps:,}{left}")
    _pictures(found, against, smoothing)


def _pictures(found: Sequence[RunFacts], against: Against, smoothing: float) -> None:
    """Learning curves, and scores by length of each task."""
    drawn = _drawn(found)
    charts = [chart for metric in ("accuracy", "loss") if (chart := learning(drawn, metric, against, smoothing))]
    for task in dict.fromkeys(run.task for run in drawn):
        if chart := by_length([run for run in drawn if run.task == task], alone=len(drawn) == 1):
            charts.append(chart)
    if not charts:
        st.caption("No curve yet: a run writes its first point with its first step.")
    figure_view.show_rows(charts, "run")


def _drawn(found: Sequence[RunFacts]) -> list[Drawn]:
    known = [(run, config, label) for run, label in zip(found, _labels(found), strict=True) if (config := run.config)]
    drawn = []
    for (run, config, label), style in zip(known, run_styles([encoding_name(c) for _, c, _ in known]), strict=True):
        trained = (min(lengths), max(lengths)) if (lengths := config["train_lengths"]) else None
        drawn.append(Drawn(label, style, config["task"], run.points, run.pace, run.result, trained))
    return drawn


def _attention(found: Sequence[RunFacts]) -> None:
    kept = {
        label: figure_view.KeptAttention(path, facts.config["task"] if facts.config else "")
        for facts, label in zip(found, _labels(found), strict=True)
        if (path := facts.run.folder / "attention.safetensors").exists()
    }
    figure_view.choose_attention(kept, "run", what="Run", bind="query-params")


def _settings(facts: RunFacts) -> None:
    """Every setting with what is usual, the environment, and the log."""
    if not facts.config:
        return
    st.markdown("**Settings**")
    usual, command = _usual_and_command(facts.run.id, facts.config)
    settings = rerun_command.flat(facts.config)
    table = pd.DataFrame({"setting": list(settings), "value": [write_value(value) for value in settings.values()]})
    if usual is None:
        st.caption("What is usual for this task is not known here: this program has no such task or encoding.")
    else:
        table["usual"] = [write_value(usual.get(key)) for key in settings]
        table["differs"] = [settings[key] != usual.get(key) for key in settings]
        table = table.sort_values("differs", ascending=False, kind="stable")
        count = int(table["differs"].sum())
        st.caption(f"{count or 'None'} of {len(table)} settings differ{'s' * (count == 1)} from what is usual.")
    st.dataframe(table, hide_index=True, height=250, key="run-settings")
    with st.expander("Where it was made, and its log"):
        rows = [(key, str(value)) for key, value in machine(facts.run).items()]
        st.dataframe(pd.DataFrame(rows, columns=["", "value"]), hide_index=True, key="run-environment")
        st.code(tail(facts.run.folder / "log.txt"), language=None)
    st.caption("The command that makes this run again:" if command else "No command of this program makes it again.")
    if command:
        st.code(command + Store(facts.run.folder.parent).option, language="shell", wrap_lines=True)


@st.cache_data(max_entries=64, show_spinner=False)
def _usual_and_command(run_id: str, _config: StoredConfig) -> tuple[dict[str, Any] | None, str | None]:
    return rerun_command.usual(_config), rerun_command.command(_config)


def _take_home(facts: RunFacts) -> None:
    with st.container(horizontal=True):
        for name, kind in (("result.json", "application/json"), ("metrics.jsonl", "application/x-ndjson")):
            path = facts.run.folder / name
            if path.exists():
                st.download_button(
                    name, path.read_bytes, f"{facts.run.id}-{name}", kind, key=f"run-{name}", on_click="ignore",
                    icon=":material/download:",
                )  # fmt: skip
