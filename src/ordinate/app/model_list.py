"""The language models of a folder as a table: filtered, sorted, and chosen by their rows, all of it in the address."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from ordinate.app import model_folders, stores
from ordinate.app.figure_view import plain
from ordinate.core.display import counted
from ordinate.lm.stored_models import StoredModel
from ordinate.report.chart import short
from ordinate.report.lm_tables import reach_words

TABLE = "models-table"
MOST = 12  # side by side
USUAL = 6  # shown where none is chosen
_NUMBER = st.column_config.NumberColumn
_COLUMNS: dict[str, Any] = {
    "tokens": _NUMBER(format="compact", help="Trained on."),
    "validation loss": _NUMBER(format="%.4f", help="Nats per token at the trained length."),
    "bits per byte": _NUMBER(format="%.4f", help="Comparable between vocabularies."),
    "reach": st.column_config.TextColumn(
        help="The longest context at which the loss is no worse than at the trained length; after `ordinate lm eval`."
    ),
    "state": st.column_config.TextColumn(help="trunk: trained at a constant rate, for budgets to branch from."),
}


def choose(models: dict[str, StoredModel]) -> list[StoredModel]:
    """Draw the table; returns the models to show, those in the address or else the newest."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Find", key="named", bind="query-params", icon=":material/search:", placeholder="rope, or a part of a name",
        )  # fmt: skip
        trunks = st.toggle("Trunks", key="trunks", bind="query-params", help="Also those that budgets branched from.")
    words = (text or "").lower().split()
    parents = {model.parent for model in models.values()}
    listed = [
        model
        for model in sorted(models.values(), key=_changed, reverse=True)
        if all(word in f"{model.name} {model.config.encoding}".lower() for word in words)
        and (trunks or model.branch is not None or model.state == "running" or model.name not in parents)
    ]
    chosen = _chosen(models, listed)
    names = [model.name for model in listed]
    ticked = [names.index(model.name) for model in chosen if model.name in names]
    st.session_state[TABLE] = {"selection": {"rows": ticked, "columns": [], "cells": []}}
    st.dataframe(
        pd.DataFrame([_cells(model) for model in listed]), hide_index=True, key=TABLE, selection_mode="multi-row",
        on_select=partial(_ticked, names, [model.name for model in chosen]), column_config=_COLUMNS, placeholder="",
        height=min(len(listed) + 1, 9) * 35 + 3,
    )  # fmt: skip
    hidden = len(models) - len(listed)
    st.caption(
        f"{counted(len(listed), 'model')}{f', {hidden} not listed' if hidden else ''}. Tick rows to see them below, "
        f"at most {MOST} at once."
    )
    return chosen[:MOST]


def _changed(model: StoredModel) -> tuple[bool, float]:
    """Those under way first, then the newest."""
    path = model.folder / "metrics.jsonl"
    return model.state == "running", path.stat().st_mtime if path.exists() else 0.0


def _chosen(models: dict[str, StoredModel], listed: Sequence[StoredModel]) -> list[StoredModel]:
    if "model" not in st.query_params:
        alike = [model for model in listed if model.config.size == listed[0].config.size]
        return alike[:USUAL]
    wanted = list(dict.fromkeys(part for part in st.query_params["model"].split(",") if part))
    for name in wanted:
        if name not in models:
            st.error(f"No model {plain(short(name))} is in {plain(str(stores.checkpoints()))}: tick one above.")
    return [models[name] for name in wanted if name in models]


def _ticked(names: Sequence[str], before: Sequence[str]) -> None:
    """Models that are chosen but filtered away stay; new ones come last."""
    rows = [names[index] for index in st.session_state[TABLE]["selection"]["rows"] if index < len(names)]
    stay = [name for name in before if name in rows or name not in names]
    st.query_params["model"] = ",".join([*stay, *(name for name in rows if name not in stay)])


def _cells(model: StoredModel) -> dict[str, Any]:
    result, found = model.result, model_folders.evaluations(model)
    reach = next((reach_words(own) for each in found.values() if (own := each.reach()) is not None), None)
    steps = model.branch.end if model.branch is not None else model.segment.end if model.segment else None
    return {
        "model": model.name,
        "encoding": model.config.encoding,
        "seed": model.config.seed,
        "length": model.config.model.length,
        "tokens": result.tokens if result else None if steps is None else steps * model.config.step_tokens,
        "state": model.state,
        "validation loss": result.valid_loss if result else None,
        "bits per byte": result.bits_per_byte if result else None,
        "reach": reach,
    }
