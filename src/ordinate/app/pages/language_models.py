"""Language models: those of a folder of checkpoints, finished and under way, and the studies of them."""

import streamlit as st

EMPTY = (
    "No language model is here yet. These commands prepare a text, train two small models that differ in their "
    "encoding, and evaluate them, in about half an hour; this page shows them from their first steps on:"
)
COMMANDS = """ordinate lm prepare
ordinate lm train --size nano --encoding rope --budget 2M
ordinate lm train --size nano --encoding alibi --budget 2M
ordinate lm eval checkpoints/nano_rope_2M_s42 checkpoints/nano_alibi_2M_s42"""


def page() -> None:
    from ordinate.app import model_studies  # imports torch: only when this page is opened

    st.title("Language models", anchor=False)
    view = st.segmented_control(
        "View", ["models", "studies"], default="models", required=True, key="view", bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    if view == "studies":
        model_studies.show()
    else:
        _models()


def _models() -> None:
    from ordinate.app import model_folders, model_list, model_samples, model_settings, model_view, model_why, stores
    from ordinate.app.figure_view import plain

    models, damaged = model_folders.models()
    for name, sentence in damaged.items():
        st.error(f"{plain(name)}: {plain(sentence)}")
    if not models:
        st.info(f"{EMPTY} (They are looked for in {plain(str(stores.checkpoints()))}.)")
        st.code(COMMANDS, language="shell")
        st.markdown("Switch to **studies** above for comparisons that come with the program.")
    _watch()
    if not models:
        return
    chosen = model_list.choose(models)
    if not chosen:
        return
    model_view.show(chosen, models)
    st.subheader("Why", anchor=False)
    model_why.show(chosen)
    st.subheader("Samples", anchor=False)
    model_samples.show(chosen)
    model_settings.show(chosen)


def _watch() -> None:
    """What runs, drawn again from time to time; looks seldom for something to begin while nothing does."""
    from ordinate.app import model_folders, model_progress
    from ordinate.app.running_view import IDLE
    from ordinate.app.watch import EVERY

    def running() -> list[str]:
        return [name for name, model in model_folders.models()[0].items() if model.state == "running"]

    before = running()

    def draw() -> None:
        if running() != before:  # one began or ended
            st.rerun()
        models = model_folders.models()[0]
        model_progress.show([models[name] for name in before], models)

    st.fragment(draw, run_every=EVERY if before else IDLE)()
