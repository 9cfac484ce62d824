"""A comparison while it runs: curves that grow and a table of its runs; and its results once it has ended.

Where the comparison stands, and the way to stop it, are on top of every page: see `running_view`."""

import pandas as pd
import streamlit as st

from ordinate.app import comparison_view, figure_view, jobs
from ordinate.app.figure_view import plain
from ordinate.app.pace import tail
from ordinate.app.watch import EVERY, Snapshot, Watched, freeze_garbage
from ordinate.report.chart import Line
from ordinate.report.colors import styles
from ordinate.report.curves import bar_line, metric_title
from ordinate.report.live_curves import live_chart
from ordinate.results.comparison import Comparison
from ordinate.store import Store
from ordinate.studies.collect import collect_stored
from ordinate.studies.driver import driver
from ordinate.studies.study_store import StoredStudy

COLUMNS = ("task", "encoding", "seed", "rate", "state", "progress", "step", "validation", "seconds", "run")


def show(store: Store, kept: StoredStudy, key: str, *, beside: int = 2) -> None:
    """Curves if it is under way; otherwise the results, and a way to go on if it was stopped."""
    if driver(kept.folder) is not None:
        _live(store, kept, key)
        return
    comparison = gathered(store, kept)
    unfinished = [run for run in comparison.runs if run.state not in ("finished", "diverged")]
    if unfinished and store.folder.exists():
        _unfinished(store, kept, len(unfinished), key)
    comparison_view.show(comparison, key, beside=beside, store=store)


def gathered(store: Store, kept: StoredStudy) -> Comparison:
    """All that is known of a study; read again when a run of it, its name or its note has changed."""
    return _gathered(str(kept.folder), (stamp(store), kept.title, kept.note), store, kept)


@st.cache_data(max_entries=16, show_spinner="Reading the runs")
def _gathered(folder: str, changed: tuple[float, str, str], _store: Store, _kept: StoredStudy) -> Comparison:
    return collect_stored(_store, _kept)


def stamp(store: Store) -> float:
    """When anything in the store changed last: a run that is done makes a new file in its folder."""
    try:
        return max([store.folder.stat().st_mtime, *(f.stat().st_mtime for f in store.folder.iterdir() if f.is_dir())])
    except (OSError, ValueError):
        return 0.0


def _unfinished(store: Store, kept: StoredStudy, missing: int, key: str) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        still = "1 run of this comparison is" if missing == 1 else f"{missing} runs of this comparison are"
        st.markdown(f"**Not finished**: {still} still to be done.")
        if st.button("Go on", key=f"{key}-resume", icon=":material/play_arrow:", type="primary"):
            jobs.resume(store, kept)
            st.rerun()
    if said := tail(kept.folder / "log.txt"):
        with st.expander("What its process said"):
            st.code(said, language=None)


def watched(store: Store, kept: StoredStudy) -> Watched:
    """What was read of a comparison under way, in whatever tab."""
    return _watched(str(kept.folder), store, kept)


@st.cache_resource(max_entries=8, show_spinner=False)
def _watched(folder: str, _store: Store, _kept: StoredStudy) -> Watched:
    freeze_garbage()
    return Watched(_kept.study, _store)


@st.fragment(run_every=EVERY)
def _live(store: Store, kept: StoredStudy, key: str) -> None:
    if driver(kept.folder) is None:  # it has ended: redraw the whole page with the results
        st.rerun()
    look = watched(store, kept).recent()
    with st.container(border=True):
        st.markdown(f"**{plain(kept.title or ', '.join(kept.study.tasks))}**, {_counted(look)}")
        _curves(kept, look, key)
        _runs(look, key)


def _counted(look: Snapshot) -> str:
    done = look.count("done") + look.count("diverged")
    return f"{look.stage}: {done} of {len(look.runs)} runs done, {len(look.under_way)} under way"


def _curves(kept: StoredStudy, look: Snapshot, key: str) -> None:
    """Validation score and training loss of each task, side by side; from the start, with bar, chance and zero."""
    looks, order = styles(kept.study.encodings), kept.study.encodings
    under_way, losses_now = look.running(look.curves), look.running(look.losses)
    for name in kept.study.tasks:
        base = next(base for task, _, base in kept.study.bases if task == name)
        task = base.make_task()
        share = task.metric != "loss"
        chance = Line(task.chance(base.train_lengths[-1]), "chance")
        charts = [
            live_chart(
                name, [c for c in curves if c.task == name], [c for c in now if c.task == name], looks, order=order,
                metric=metric, lines=lines, pilot=look.pilot, share=whole, steps=max(run.of for run in look.drawn),
            )
            for curves, now, metric, lines, whole in (
                (look.curves, under_way, f"validation {metric_title(task.metric, task.direction)}",
                 (*bar_line(task.bar if share else None), chance, *([Line(0.0, "0")] * share)), share),
                (look.losses, losses_now, "training loss", (), False),
            )
        ]  # fmt: skip
        for column, chart in zip(st.columns(2), charts, strict=True):
            with column:
                figure_view.show(chart, f"{key}-live-{chart.name}", download=False)


def _runs(look: Snapshot, key: str) -> None:
    order = {"running": 0, "failed": 1, "damaged": 2, "diverged": 3, "interrupted": 4, "waiting": 5, "done": 6}
    rows = sorted(look.runs, key=lambda run: order.get(run.state, 9))
    table = pd.DataFrame(rows)
    table["progress"] = 100 * table["step"] / table["of"].clip(lower=1)
    st.dataframe(
        table, hide_index=True, height=240, placeholder="", key=f"{key}-live-runs", column_order=COLUMNS,
        column_config={
            "progress": st.column_config.ProgressColumn("progress", min_value=0, max_value=100, format="%.0f %%"),
            "validation": st.column_config.NumberColumn(format="%.3f"),
            "seconds": st.column_config.NumberColumn(format="%.0f"),
            "rate": st.column_config.NumberColumn(format="%g"),
        },
    )  # fmt: skip
