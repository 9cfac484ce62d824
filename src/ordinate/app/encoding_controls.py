"""Choosing an encoding and its parameters. The state is one text, `name(key=value)`, in the URL; pickers and sliders
show it and rewrite it."""

import math
from contextlib import suppress
from typing import Any

import streamlit as st

from ordinate import encodings
from ordinate.app.figure_view import plain
from ordinate.app.prose import prose
from ordinate.core.encoding import FAMILIES
from ordinate.core.errors import InputError
from ordinate.core.parameters import Parameter
from ordinate.core.parsing import parse_choice, parse_value, write_value
from ordinate.probes.encoding_effects import Setting

WIDTH = 164  # of a control, in pixels: two fit side by side in a narrow window
IN_VIEW = 4  # controls; those of other parameters are folded away until they are used
LARGEST = 2**53 - 1  # the largest exact integer in a browser


def pick(slot: str, label: str, *, needed: bool) -> str:
    """The encoding of a slot, as text; may be empty unless `needed`."""
    chosen, written = st.columns([2, 3])
    text: str = written.text_input(
        "With its parameters", key=slot, bind="query-params", help="As commands take it; the controls below change it.",
        placeholder=_usual() if needed else "none",
    )  # fmt: skip
    text = text.strip() or (_usual() if needed else "")
    families = _families(tuple(encodings.names()))
    st.session_state[f"{slot}-pick"] = _name(text) if _name(text) in families else None
    chosen.selectbox(
        label, list(families), index=None, key=f"{slot}-pick", on_change=_picked, args=(slot,),
        format_func=lambda name: f"{families[name]} · {name}", placeholder="choose" if needed else "nothing",
    )  # fmt: skip
    return text


def _picked(slot: str) -> None:
    st.session_state[slot] = st.session_state[f"{slot}-pick"] or ""


@st.cache_data(show_spinner=False)
def _families(names: tuple[str, ...]) -> dict[str, str]:
    """The family of every encoding, in the order in which they are offered."""
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = encodings.registry.get(name).family
        except InputError:  # shown, with its fault, when it is chosen
            found[name] = "broken"
    order: list[str] = [*FAMILIES, *sorted(set(found.values()) - set(FAMILIES))]
    return dict(sorted(found.items(), key=lambda item: (order.index(item[1]), item[0])))


def _usual() -> str:
    """What is shown before anything is chosen."""
    names = encodings.names()
    return next((name for name in names if encodings.registry.get(name).usual), names[0])


def _name(text: str) -> str:
    try:
        choices = parse_choice(text)
    except InputError:
        return ""
    return choices[0].name if len(choices) == 1 else ""


def ask_setting() -> Setting:
    """The model around the encodings, and how far to draw."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        head_dim = _whole("Width per head", "head_width", 1, 64, 32)
        heads = _whole("Heads", "head_count", 1, 16, 4)
        length = _whole("Trained length", "trained_length", 2, 256, 64)
        times = st.slider("Drawn up to", 1, 4, 4, key="times", bind="query-params", width=WIDTH, format="%d x trained")
        seed = _whole("Seed", "drawing_seed", 0, 9999, 0, help="of starting values and of random contents")
        both = st.toggle("Look both ways", key="both_ways", bind="query-params", help="On text: not causal.")
        grid = st.toggle("On a grid", key="on_grid", bind="query-params", help="For encodings of text and images.")
    return Setting(head_dim, heads, length, times * length, both, grid, seed)


def _whole(label: str, key: str, low: int, high: int, value: int, help: str | None = None) -> int:
    return int(st.number_input(label, low, high, value, key=key, bind="query-params", width=WIDTH, help=help))


def ask_parameters(slot: str, name: str, given: dict[str, Any]) -> None:
    """A control for each declared parameter of the encoding."""
    known = encodings.registry.parameters(name)
    if not known:
        st.caption("No parameters.")
        return
    first = [parameter for index, parameter in enumerate(known.values()) if index < IN_VIEW or parameter.name in given]
    _controls(slot, name, first, given)
    if rest := [parameter for parameter in known.values() if parameter not in first]:
        with st.expander(f"{len(rest)} more parameters"):
            _controls(slot, name, rest, given)
    st.button(
        "Reset", key=f"{slot}-reset", on_click=_rewrite, args=(slot, name, {}), disabled=not given,
        icon=":material/restart_alt:", help="All parameters as they are by default.",
    )  # fmt: skip


def _controls(slot: str, name: str, some: list[Parameter], given: dict[str, Any]) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        for parameter in some:
            _control(slot, name, parameter, given.get(parameter.name, parameter.default))


def _control(slot: str, name: str, parameter: Parameter, value: Any) -> None:
    try:
        value = encodings.registry.checked(name, {parameter.name: value})[parameter.name]
    except InputError:  # the page shows the error in place of the pictures
        value = parameter.default
    key, label, kind = f"{slot}-{name}-{parameter.name}", plain(parameter.name), parameter.kind()
    whole, empty = kind == "whole number", _takes_nothing(parameter)
    settings: dict[str, Any] = dict(
        key=key, on_change=_changed, args=(slot, name, parameter), width=WIDTH, help=prose(parameter.help) or None
    )
    st.session_state[key] = value
    if parameter.choices:
        st.selectbox(label, parameter.choices, **settings)
    elif kind == "true or false" and not empty:
        st.toggle(label, **settings)
    elif kind in ("number", "whole number") and _short(parameter) and not empty:
        low, high = ((int if whole else float)(end) for end in (parameter.low or 0, parameter.high or 0))
        st.slider(label, low, high, step=1 if whole else 0.01, **settings)
    elif kind in ("number", "whole number") and (value is None or abs(value) <= LARGEST):
        step, form = (1, None) if whole else (_step(parameter.default), "%g")
        st.number_input(label, value=None, step=step, format=form, placeholder="none", **settings)
    else:
        st.session_state[key] = write_value(value)
        st.text_input(label, **settings)


def _takes_nothing(parameter: Parameter) -> bool:
    try:
        return not parameter.choices and parameter.check("", None) is None
    except InputError:
        return False


def _short(parameter: Parameter) -> bool:
    """Whether both ends are given and near enough for a slider."""
    return parameter.low is not None and parameter.high is not None and parameter.high - parameter.low <= 10


def _step(default: float | None) -> float:
    """About a tenth of the default."""
    return 10.0 ** (math.floor(math.log10(abs(default))) - 1) if default else 0.1


def _changed(slot: str, name: str, parameter: Parameter) -> None:
    """Write a control's new value into the text."""
    value = st.session_state[f"{slot}-{name}-{parameter.name}"]
    if isinstance(value, str) and not parameter.choices:
        value = parse_value(value)
    given = dict(parse_choice(st.session_state[slot].strip() or name)[0].parameters)
    given.pop(parameter.name, None)
    if value is not None or _takes_nothing(parameter):
        given[parameter.name] = value
    _rewrite(slot, name, given)


def _rewrite(slot: str, name: str, given: dict[str, Any]) -> None:
    """Write the shortest text for these parameters. An invalid value is kept, and the page shows its error."""
    text = f"{name}({','.join(f'{key}={write_value(value)}' for key, value in given.items())})" if given else name
    with suppress(InputError):
        text = encodings.canonical(text)
    st.session_state[slot] = text
