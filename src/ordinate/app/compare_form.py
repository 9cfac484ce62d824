"""The form of a new comparison: encodings, sizes, seeds and learning rates, with their defaults."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from ordinate import encodings
from ordinate.app.figure_view import plain
from ordinate.app.prose import prose
from ordinate.core.errors import InputError
from ordinate.core.parsing import parse_value, write_value
from ordinate.studies.plan import QUICK_SEEDS, RATES, usual_seeds
from ordinate.training.config import DIM

KEPT = "compare-form"  # in the session: the form as it was left for another page


@dataclass(frozen=True)
class FormValues:
    """The arguments of `ordinate.compare`."""

    task: str
    encodings: list[str]
    seeds: int | Literal["auto"] | None
    rates: Sequence[float] | None
    settings: dict[str, Any]
    quick: bool = False


def restore_form(names: Sequence[str]) -> None:
    """Fill the form as it was left. Another page may use a key of its own way: a value that is no task is none."""
    if st.session_state.get("task", names[0]) not in names:
        del st.session_state["task"]
    for key, value in st.session_state.get(KEPT, {}).items():
        if key not in st.session_state and key not in st.query_params:
            st.session_state[key] = value


def keep_form(task: str) -> None:
    """Remember what the form shows."""
    keys = ("task", *_KEYS, f"encodings-{task}", f"parameters-{task}")
    st.session_state[KEPT] = {key: st.session_state[key] for key in keys if key in st.session_state}


def draw_parameters(task: str) -> str:
    """A field for the parameters of a task that has some; returns the task with them, as commands take it."""
    from ordinate import tasks

    known = tasks.registry.parameters(task)
    if not known:
        return task
    usual = ", ".join(f"{one.name}={write_value(one.default)}" for one in known.values())
    help_text = "\n".join(f"- {plain(one.name)}: {prose(one.help)}" for one in known.values())
    text = st.text_input(
        "Parameters of the task", key=f"parameters-{task}", bind="query-params", placeholder=usual, help=help_text
    )
    return tasks.parse(f"{task}({text})" if text.strip() else task)[0]


def draw_form(name: str, task: str) -> FormValues:
    """Draw the form and return its values. Only what differs from the task's own defaults becomes a setting.

    `name` is the task without, `task` with its parameters."""
    from ordinate import tasks

    _, created = tasks.parse(task)
    usual = encodings.usual(created.axes)
    readable = _readable(created.axes)
    chosen = st.multiselect(
        "Encodings", readable, default=usual, accept_new_options=True, wrap=True, key=f"encodings-{name}",
        bind="query-params", help="Type your own for other parameters, as in learned(rows=64) or rope(base=500000).",
    )  # fmt: skip
    quick = st.toggle("A quick look", key="quick", bind="query-params", help=_HELP["quick"])
    with st.expander("Settings", expanded=any(key in st.query_params for key in _KEYS if key != "quick")):
        settings = _settings(created.most_steps)
        if quick:
            st.caption(f"A quick look has {QUICK_SEEDS} seeds and one learning rate for all.")
            seeds, rates = None, None
        else:
            seeds, rates, fixed = _seeds_and_rates(usual_seeds(1, max(2, len(chosen))))
            settings |= fixed
    return FormValues(task, [str(encoding) for encoding in chosen], seeds, rates, settings, quick)


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


def _settings(steps: int) -> dict[str, Any]:
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
    return found | ({"device": device} if device not in (None, "auto") else {})


def _seeds_and_rates(usual: int) -> tuple[int | Literal["auto"], list[float] | None, dict[str, Any]]:
    """The seeds, the rates to tune over if others than usual, and the one rate if none is tuned."""
    first, second = st.columns(2)
    auto = first.toggle("Seeds until settled", key="auto", bind="query-params", help=_HELP["auto"])
    # Without limits: a field that has some shows a number outside them, and the page goes on with the one before.
    wanted = first.number_input("Seeds", value=usual, step=1, disabled=auto, key="seeds", bind="query-params")
    seeds: int | Literal["auto"] = "auto" if auto else int(wanted)
    tuned = second.toggle("Tune the learning rate", True, key="tuned", bind="query-params", help=_HELP["tuned"])
    if tuned:
        usual_rates = ", ".join(f"{rate:g}" for rate in RATES)
        rates = _numbers(second.text_input("Rates to start with", usual_rates, key="rates", bind="query-params"))
        return seeds, None if rates == list(RATES) else rates, {}
    rate = _numbers(second.text_input("Learning rate", "0.003", key="lr", bind="query-params"))
    if len(rate) != 1:
        raise InputError(f"one learning rate is wanted where none is tuned, got {len(rate)}")
    return seeds, None, {"lr": rate[0]}


_CHOICES: tuple[tuple[str, str, Any, list[Any]], ...] = (
    ("dim", "Width", DIM, [16, 32, 48, 64, 96, 128, 192, 256, 512]),
    ("heads", "Heads", 4, [1, 2, 4, 8, 16]),
    ("layers", "Layers", 2, [1, 2, 3, 4, 6, 8, 12]),
    ("batch", "Batch", 64, [8, 16, 32, 64, 128, 256]),
    ("coverage", "Positions in training", "plain", ["plain", "offset", "randomized"]),
    ("budget", "Train", "learned", ["learned", "fixed"]),
)
_KEYS = (*(key for key, *_ in _CHOICES), "steps", "dropout", "device", "auto", "seeds", "tuned", "lr", "rates", "quick")
_HELP = {
    "quick": f"{QUICK_SEEDS} seeds and one learning rate for all, as with --quick on the command line: its results are "
    "preliminary",
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
