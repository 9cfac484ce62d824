"""All comparisons: the user's own and those that come with the program, each as its report would show it."""

import streamlit as st

from ordinate.app import live_view, stores
from ordinate.app.figure_view import plain
from ordinate.core.errors import InputError
from ordinate.store import Store
from ordinate.studies import study_store
from ordinate.studies.study_store import StoredStudy


def page() -> None:
    st.title("Comparisons", anchor=False)
    found, damaged = _all()
    for sentence in damaged:
        st.warning(plain(sentence))
    if not found:
        st.info("There is no comparison yet: start one on the page Compare.")
        return
    wanted = st.query_params.get("study")
    if wanted is not None and wanted not in found:
        st.error(f"No comparison {plain(repr(wanted))} is in this store: choose another one.")
    ids = list(found)
    first = ids.index(wanted) if wanted in found else 0
    # Bound to the address, the choice would be written there by its title instead of its id.
    chosen = st.selectbox("Comparison", ids, first, format_func=lambda name: _title(*found[name]), key="study")
    if chosen is not None:
        st.query_params["study"] = chosen
        live_view.show(*found[chosen], key=f"comparisons-{chosen}")


def _all() -> tuple[dict[str, tuple[Store, StoredStudy]], list[str]]:
    """By id, the newest of the user's first, then the examples; and a sentence for each that cannot be read."""
    found: dict[str, tuple[Store, StoredStudy]] = {}
    damaged = []
    for store in stores.both().values():
        try:
            names = study_store.names(store)
        except InputError as error:
            damaged.append(str(error))
            continue
        for name in reversed(names):
            try:
                found.setdefault(name, (store, study_store.find(store, name)))
            except InputError as error:
                damaged.append(str(error))
    return found, damaged


def _title(store: Store, kept: StoredStudy) -> str:
    study = kept.study
    names = ", ".join(study.encodings)
    kind = "" if store.folder == stores.own().folder else "example"
    seeds = "until settled" if study.seeds == "auto" else f"{study.seeds} seeds"
    tuned = "tuned" if study.rates else "one rate"
    return " · ".join(
        part for part in (kept.title, ", ".join(study.tasks), names, seeds, tuned, study.id[:6], kind) if part
    )
