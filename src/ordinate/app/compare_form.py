"""The form of a new comparison: encodings, sizes, seeds and learning rates, with their defaults."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from ordinate import encodings
from ordinate.core.errors import InputError
from ordinate.core.parsing import parse_value
from ordinate.studies.plan import RATES, usual_seeds
from ordinate.training.config import DIM

# What comparisons of this kind were published with: one rate for all, 300 steps, whether learned or not.
QUICK_LOOK: dict[str, Any] = {
    "steps": 300, "budget": "fixed", "batch": 64, "dim": 128, "heads": 4, "layers": 2, "dropout": 0.1, "lr": 0.003,
}  # fmt: skip


@dataclass(frozen=True)
class FormValues:
    """The arguments of `ordinate.compare`."""

    task: str
    encodings: list[str]
    seeds: int | Literal["auto"] | None
    rates: Sequence[float] | None
    settings: dict[str, Any]


def draw_form(task: str) -> FormValues:
    """Draw the form and return its values. Only what differs from the task's own defaults becomes a setting."""
    from ordinate import tasks

    created = tasks.create(task)
    usual = encodings.usual(created.axes)
    readable = _readable(created.axes)
    chosen = st.multiselect(
        "Encodings", readable, default=usual, accept_new_options=True, wrap=True, key=f"encodings-{task}",
        bind="query-params", help="Type your own for other parameters, as in learned(rows=64) or rope(base=500000).",
    )  # fmt: skip
    st.button(
        "A quick look: 300 steps, one rate", on_click=_quick_look, icon=":material/bolt:",
        help="300 steps, batch 64, width 128, 4 heads, 2 layers, dropout 0.1, learning rate 0.003 for all",
    )  # fmt: skip
    with st.expander("Settings", expanded=any(key in st.query_params for key in _KEYS)):
        settings, seeds, rates = _settings(created.most_steps, usual_seeds(1, max(2, len(chosen))))
    return FormValues(task, [str(name) for name in chosen], seeds, rates, settings)


def addressed() -> dict[str, str]:
    """The values in the address, read before the form is drawn: drawing removes the unknown ones."""
    return {key: st.query_params[key] for key in ("task", *_KEYS) if key in st.query_params}


def form_shows(key: str, text: str) -> bool:
    """Whether the form shows this value of the address; true for a field that is not drawn."""
    if key not in st.session_state:
        return True
    shown = st.session_state[key]
    with suppress(InputError):
        return text == str(shown) or parse_value(text) == shown
    return False


@st.cache_data(show_spinner=False)
def _readable(axes: int) -> list[str]:
    """The encodings that support this number of axes."""
    return [name for name in encodings.names() if axes in encodings.example(name).axes]


def _quick_look() -> None:
    for key, value in QUICK_LOOK.items():
        st.session_state[key] = value if key != "lr" else f"{value:g}"
    st.session_state["tuned"] = False


def _settings(steps: int, seeds: int) -> tuple[dict[str, Any], int | Literal["auto"] | None, list[float] | None]:
    found: dict[str, Any] = {}
    columns = st.columns(3)
    for index, (key, label, usual, options) in enumerate(_CHOICES):
        pick = columns[index % 3].selectbox
        value = pick(label, options, options.index(usual), key=key, bind="query-params", help=_HELP.get(key))
        found |= {key: value} if value != usual else {}
    given = columns[0].number_input("Steps at most", 1, 1_000_000, steps, key="steps", bind="query-params")
    found |= {"steps": int(given)} if given != steps else {}
    dropout = columns[1].number_input("Dropout", 0.0, 0.9, 0.0, 0.05, key="dropout", bind="query-params")
    found |= {"dropout": float(dropout)} if dropout else {}
    device = columns[2].selectbox("Device", ["auto", *_devices()], key="device", bind="query-params")
    found |= {"device": device} if device not in (None, "auto") else {}
    first, second = st.columns(2)
    auto = first.toggle("Seeds until settled", key="auto", bind="query-params", help=_HELP["auto"])
    wanted = first.number_input("Seeds", 1, 100, seeds, disabled=auto, key="seeds", bind="query-params")
    tuned = second.toggle("Tune the learning rate", True, key="tuned", bind="query-params", help=_HELP["tuned"])
    if tuned:
        usual_rates = ", ".join(f"{rate:g}" for rate in RATES)
        rates = _numbers(second.text_input("Rates to start with", usual_rates, key="rates", bind="query-params"))
        return found, "auto" if auto else int(wanted), None if rates == list(RATES) else rates
    rate = _numbers(second.text_input("Learning rate", "0.003", key="lr", bind="query-params"))
    if len(rate) != 1:
        raise InputError(f"one learning rate is wanted where none is tuned, got {len(rate)}")
    return found | {"lr": rate[0]}, "auto" if auto else int(wanted), None


_CHOICES: tuple[tuple[str, str, Any, list[Any]], ...] = (
    ("dim", "Width", DIM, [16, 32, 48, 64, 96, 128, 192, 256, 512]),
    ("heads", "Heads", 4, [1, 2, 4, 8, 16]),
    ("layers", "Layers", 2, [1, 2, 3, 4, 6, 8, 12]),
    ("batch", "Batch", 64, [8, 16, 32, 64, 128, 256]),
    ("coverage", "Positions in training", "plain", ["plain", "offset", "randomized"]),
    ("budget", "Train", "learned", ["learned", "fixed"]),
)
_KEYS = (*(key for key, *_ in _CHOICES), "steps", "dropout", "device", "auto", "seeds", "tuned", "lr", "rates")
_HELP = {
    "coverage": "plain: 0, 1, 2 …; offset: the same from a random start; randomized: random increasing ids",
    "budget": "learned: until two checks are at the bar, then as long again; fixed: to the end of the steps",
    "auto": "Adds seeds at planned looks until every pair differs significantly, or until more seeds would not help",
    "tuned": "Each encoding gets the rate that is best for it on a pilot seed: without this, a verdict is preliminary",
}


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.replace(";", ",").split(",") if part.strip()]
    except ValueError:
        raise InputError(f"learning rates are numbers with commas between them, got {text!r}") from None


@st.cache_data(show_spinner=False)
def _devices() -> list[str]:
    import torch

    return ["cpu", *(["cuda"] if torch.cuda.is_available() else []), *(["mps"] if torch.mps.is_available() else [])]
