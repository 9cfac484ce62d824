"""Language models in full, one or several side by side: how they trained, and what their evaluations found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from ordinate.app import figure_view, model_folders
from ordinate.app.comparison_view import frame
from ordinate.app.figure_view import plain
from ordinate.app.watch import EVERY
from ordinate.core.errors import InputError
from ordinate.lm.evaluation.config import EvalConfig
from ordinate.lm.evaluation.stored import evaluation_name
from ordinate.lm.stored_models import Points, StoredModel
from ordinate.report.lm_curves import TrainingCurve, by_tokens, group_labels
from ordinate.report.lm_figures import figures
from ordinate.report.lm_page import evaluation_page
from ordinate.report.lm_seed_figures import seed_figures
from ordinate.report.lm_tables import all_tables
from ordinate.report.lm_words import comparison, remarks
from ordinate.report.table import comma_separated
from ordinate.results.lm_evaluation import LanguageModelEvaluation
from ordinate.studies.lm.comparison import EVALUATION

Found = dict[str, LanguageModelEvaluation]  # by the name of the model


def show(chosen: Sequence[StoredModel], models: dict[str, StoredModel]) -> None:
    """Curves, and the evaluation of those that have one."""
    st.subheader("Training", anchor=False)
    grouped, smoothing = _ways(chosen)
    if any(model.state == "running" for model in chosen):
        st.fragment(_growing, run_every=EVERY)([model.name for model in chosen], grouped, smoothing)
    else:
        _curves(chosen, models, grouped, smoothing)
    st.subheader("Evaluation", anchor=False)
    _evaluation(chosen, grouped=grouped)


def _ways(chosen: Sequence[StoredModel]) -> tuple[bool, float]:
    """Whether seeds are drawn together, and the smoothing."""
    several = len({model.group for model in chosen}) < len(chosen)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        smoothing = st.slider(
            "Smoothing", 0.0, 0.95, 0.0, 0.05, key="smoothing", bind="query-params", width=260,
            help="0: as it is. Otherwise each point counts so many times as much as the one after it.",
        )  # fmt: skip
        st.segmented_control(
            "Validation in", ["loss", "bits per byte"], default="loss", required=True, key="measure",
            bind="query-params",
        )  # fmt: skip
        grouped = st.toggle(
            "Group seeds", key="group", bind="query-params", disabled=not several,
            help="One curve for all seeds of the same model: their mean, with every seed behind it.",
        )  # fmt: skip
    return grouped and several, smoothing


def _growing(names: Sequence[str], grouped: bool, smoothing: float) -> None:
    """Redraw the curves of models under way; when one has ended or begun, redraw the page."""
    models, _ = model_folders.models()
    chosen = [models[name] for name in names if name in models]
    if not any(model.state == "running" for model in chosen):
        st.rerun()
    _curves(chosen, models, grouped, smoothing)


def _curves(chosen: Sequence[StoredModel], models: dict[str, StoredModel], grouped: bool, smoothing: float) -> None:
    curves = []
    for model in chosen:
        try:
            points = model_folders.points(model, models)
        except InputError as error:
            st.error(plain(str(error)))
            continue
        running = model.state == "running"
        curves.append(_curve(model, points, under_way=running))
    charts = [by_tokens(curves, metric, grouped=grouped, smoothing=smoothing) for metric in ("loss", _measure())]
    drawn = [chart for chart in charts if chart is not None]
    if not drawn:
        st.caption("No curve yet: the first point is written after ten steps.")
    figure_view.show_rows(drawn, "models")


def _curve(model: StoredModel, points: Points, *, under_way: bool = False) -> TrainingCurve:
    return TrainingCurve(model.name, model.group, model.seedless_name, model.config.encoding, points, under_way)


def _measure() -> str:
    """The metric of validation, in the address."""
    return "bits_per_byte" if st.session_state.get("measure") == "bits per byte" else "valid_loss"


def _evaluation(chosen: Sequence[StoredModel], *, grouped: bool) -> None:
    by_model = {model.name: model_folders.evaluations(model) for model in chosen}
    name = _settings_of(by_model)
    found = {model: own[name] for model, own in by_model.items() if name in own}
    missing = [model for model in chosen if model.name not in found and model.checkpoint is not None]
    if missing:
        _missing(missing, bool(found))
    if not found:
        return
    _words(found, chosen)
    groups: dict[str, list[LanguageModelEvaluation]] = {}
    labels = group_labels([_curve(model, {}) for model in chosen if model.name in found])
    for model in chosen:
        if model.name in found:
            groups.setdefault(labels[model.group], []).append(found[model.name])
    drawn = seed_figures(groups) if grouped else figures(list(found.values()))
    figure_view.show_rows(drawn, "evaluated")
    _tables(list(found.values()))


def _settings_of(by_model: Mapping[str, Found]) -> str:
    """Which evaluation is shown: losses of different settings are of different tokens, and are not put side by side."""
    counts = Counter(name for own in by_model.values() for name in own)
    names = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    if len(names) < 2:
        return names[0] if names else ""
    titles = {
        evaluation_name(EvalConfig()): "as of  lm eval",
        evaluation_name(EVALUATION): "as of  lm compare",
    }  # fmt: skip
    return st.selectbox(
        "Settings of the evaluation", names, key="evaluated", bind="query-params", width=340,
        format_func=lambda name: f"{titles.get(name, name)}: {counts[name]} of {len(by_model)} models",
        help="Other settings score other tokens, so only models that were evaluated with the same are shown together.",
    )  # fmt: skip


def _missing(missing: Sequence[StoredModel], some: bool) -> None:
    names = " ".join(str(model.folder) for model in missing)
    count = len(missing)
    rest = (
        f"{count} more model{'s are' if count > 1 else ' is'}" if some else "These models are" if count > 1 else "It is"
    )
    st.info(
        f"{rest} not evaluated with these settings: this command does it." if some else f"{rest} not evaluated yet."
    )
    st.code(f"ordinate lm eval {names}", language="shell", wrap_lines=True)


def _words(found: Found, chosen: Sequence[StoredModel]) -> None:
    """What was found: of one model all of it, of several the first lines of each and how they compare."""
    evaluations = list(found.values())
    for line in comparison(evaluations):
        st.markdown(f"**{plain(line)}**")
    for name, each in found.items():
        lines = remarks(each)
        if len(found) == 1:
            if len(chosen) > 1:
                st.markdown(f"**{plain(name)}**")
            st.markdown("\n".join(f"- {plain(line)}" for line in lines))
        elif lines:
            with st.expander(f"{plain(name)}: {plain(lines[0])}"):
                st.markdown("\n".join(f"- {plain(line)}" for line in lines))


def _tables(evaluations: Sequence[LanguageModelEvaluation]) -> None:
    for table in all_tables(evaluations):
        with st.expander(plain(table.title)):
            st.dataframe(frame(table), hide_index=True, placeholder="", key=f"evaluated-{table.name}")
            if table.note:
                st.caption(plain(table.note))
            st.download_button(
                "As CSV", partial(comma_separated, table), f"{table.name}.csv", "text/csv",
                key=f"evaluated-csv-{table.name}", on_click="ignore", type="tertiary", icon=":material/download:",
            )  # fmt: skip
    st.download_button(
        "Report (one HTML file)", lambda: evaluation_page(evaluations).encode("utf-8", "backslashreplace"),
        "ordinate-language-models.html", "text/html", key="evaluated-report", on_click="ignore", type="primary",
        icon=":material/download:",
    )  # fmt: skip
