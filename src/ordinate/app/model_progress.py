"""Language models under way: how far each is, how fast, and the time left."""

from collections.abc import Sequence

import streamlit as st

from ordinate.app import model_folders
from ordinate.app.figure_view import plain
from ordinate.core.display import duration
from ordinate.lm.stored_models import Points, StoredModel


def show(running: Sequence[StoredModel], models: dict[str, StoredModel]) -> None:
    """A bar for each."""
    for model in running:
        share, words = progress(model, model_folders.points(model, models))
        with st.container(border=True):
            st.markdown(f"**Training**: {plain(model.name)}")
            if share is None:
                st.caption(plain(words))
            else:
                st.progress(share, plain(words))


def progress(model: StoredModel, points: Points) -> tuple[float | None, str]:
    """The share of its steps, none if the last one is not known; and `step 40 of 53, loss 4.804, ...`."""
    losses, speeds = points.get("loss", []), points.get("tokens_per_second", [])
    tokens = losses[-1][0] if losses else 0
    step = tokens // model.config.step_tokens
    end = model.segment.end if model.segment else model.branch.end if model.branch else None
    if model.segment is not None and step < model.segment.begin:  # it goes on after what it had lost
        step = model.segment.begin
    parts = [f"step {step:,}" + (f" of {end:,}" if end else "")]
    if model.branch is None and end:
        parts[0] += ", where a budget branches off"
    parts += [f"loss {losses[-1][1]:.3f}"] if losses else []
    if speeds:
        parts.append(f"{speeds[-1][1]:,.0f} tokens/s")
        if end:
            parts.append(f"about {duration(max(0, end - step) * model.config.step_tokens / speeds[-1][1])} left")
    return (min(1.0, step / end) if end else None), ", ".join(parts)
