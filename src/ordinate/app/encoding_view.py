"""One encoding in a column: description, formula, facts, controls, pictures, and code to create it."""

import inspect
import re
import shlex
from contextlib import suppress
from typing import Any

import streamlit as st

from ordinate import encodings, tasks
from ordinate.app import figure_view, why_choice, why_view
from ordinate.app.encoding_controls import ask_parameters
from ordinate.app.figure_view import plain
from ordinate.app.prose import prose
from ordinate.core.encoding import EXTRAPOLATION, FAMILIES, Encoding, Paper
from ordinate.core.errors import InputError, plugin_errors
from ordinate.core.parsing import Choice, parse_choice
from ordinate.probes.encoding_effects import Setting, make
from ordinate.report.encoding_figures import EncodingFigures, encoding_figures

ACTS = {
    "token embeddings": ("embed",),
    "queries and keys": ("rotate",),
    "scores, by position": ("bias", "relative_bias"),
    "scores, by position and content": ("qk_scores", "score_mod"),
    "values": ("weighted_values",),
}
READS = {
    "segments": "the segment of each token",
    "tokens": "the token at each position",
    "neighbors": "the embeddings of other tokens",
    "relation": "a relation of every pair of tokens, given to the model",
}
BASELINE = "none"  # what a first comparison is made with
AXES = {1: "on a line", 2: "on a grid", 3: "in a volume"}


def show(slot: str, text: str, setting: Setting, *, wide: bool) -> None:
    """The encoding of a slot, or one sentence on what is wrong with it."""
    try:
        choices = parse_choice(text)
        if len(choices) != 1:
            raise InputError(f"this page shows one encoding at a time, {text!r} names {len(choices)}")
        name, given = choices[0].name, dict(choices[0].parameters)
        about = encodings.registry.get(name)
    except InputError as error:
        st.error(plain(str(error)))
        return
    left, right = st.columns([2, 3], gap="medium") if wide else (st.container(), st.container())
    with left:
        _words(name, about)
        st.markdown("**Parameters**")
        ask_parameters(slot, name, given)
        facts = st.container()
    try:
        with plugin_errors(f"{name} cannot be made"):
            encoding = make(name, given, setting)
        with facts:
            _facts(about, encoding)
        with right:
            if why_choice.choose(f"{slot}-view", first="Pictures"):
                why_view.show_encoding(text, slot)
            else:
                _pictures(slot, _drawn(text, setting))
        with left if wide else right:
            _lines(name, given, encoding)
    except InputError as error:
        right.error(plain(str(error)))


def _words(name: str, about: type[Encoding]) -> None:
    st.subheader(plain(name), anchor=False)
    for paragraph in inspect.cleandoc(about.__doc__ or "").split("\n\n"):
        st.markdown(prose(" ".join(paragraph.split())))
    if about.formula:
        st.latex(about.formula)


@st.cache_data(max_entries=100, show_spinner=False)
def _drawn(text: str, setting: Setting) -> EncodingFigures:
    with plugin_errors(f"{text} cannot be drawn"):
        return encoding_figures(text, setting)


def _facts(about: type[Encoding], encoding: Encoding) -> None:
    axes = " or ".join(AXES.get(count, f"with {count} axes") for count in encoding.axes)
    acts = [what for what, hooks in ACTS.items() if encoding.overrides(*hooks)]
    traits = ["only distances count" if encoding.shift_invariant else "absolute positions count"]
    traits += ["causal models only"] * encoding.causal_only
    count = sum(weight.numel() for weight in encoding.parameters())
    found = {
        "Family": f"{about.family}: {FAMILIES[about.family]}" if about.family in FAMILIES else about.family,
        "Changes": ", ".join(acts) or "nothing",
        "Past the trained length": f"{encoding.extrapolation}: {EXTRAPOLATION[encoding.extrapolation]}",
        "Reads": ", ".join([f"positions {axes}", *(READS.get(what, what) for what in encoding.extra_inputs)]),
        "Trained": (f"{count:,} numbers" + ", in every layer" * encoding.per_layer) if count else "nothing",
        "Traits": ", ".join(traits),
    }
    lines = [f"- **{title}:** {prose(words)}" for title, words in found.items()]
    for reason in dict.fromkeys(encoding.skip_contracts.values()):
        tests = ", ".join(test for test, why in encoding.skip_contracts.items() if why == reason)
        lines.append(f"- **Exempt from the tests {plain(tests)}:** {prose(reason)}")
    if about.paper is not None:
        lines.append(f"- **Paper:** {_paper(about.paper)}")
    st.markdown("\n".join(lines))


def _paper(paper: Paper) -> str:
    """Authors, title, year, and where to read it."""
    authors = paper.authors[0] + " et al." * (len(paper.authors) > 2)
    authors = " and ".join(paper.authors) if len(paper.authors) == 2 else authors
    words = plain(f"{authors}: {paper.title}" + f", {paper.venue}" * bool(paper.venue) + f" ({paper.year})")
    if re.fullmatch(r"[A-Za-z0-9./-]+", paper.arxiv):
        words += f", [arXiv:{paper.arxiv}](https://arxiv.org/abs/{paper.arxiv})"
    return words


def _pictures(slot: str, drawn: EncodingFigures) -> None:
    for remark in drawn.remarks:
        st.caption(prose(remark))
    if drawn.refusal:
        st.info(f"Past the range: {plain(drawn.refusal)}", icon=":material/block:")
    for number, figure in enumerate(drawn.figures):
        figure_view.show(figure, f"{slot}-picture-{number}")


def _lines(name: str, given: dict[str, Any], encoding: Encoding) -> None:
    """The same encoding in Python and on the command line."""
    shape = encoding.shape
    words = [f"dim={shape.dim}, heads={shape.heads}, length={shape.length}"]
    words += ["causal=False"] * (not shape.causal) + [f"axes={shape.axes}"] * (shape.axes > 1)
    words += ["token_size=1.0"] * encoding.overrides("embed")
    words += [f"{key}={value!r}" for key, value in encodings.registry.checked(name, given).items()]
    st.markdown("**In Python and on the command line**")
    st.code(f"from ordinate import encodings\n\nencodings.create({name!r}, {', '.join(words)})", wrap_lines=True)
    commands = [f"ordinate show {shlex.quote(name)}"]
    written = encodings.registry.canonical(Choice(name, tuple(given.items())))
    if compare := comparison_command(written, shape.axes):
        commands.append(compare)
    st.code("\n".join(commands), language="bash", wrap_lines=True)


@st.cache_data(max_entries=500, show_spinner=False)
def comparison_command(written: str, axes: int) -> str | None:
    """A comparison of this encoding with the usual baseline, on a task about distances; none if no task takes it, as
    none gives segments or a relation of tokens."""
    from ordinate.studies.plan import plan

    if {"relation", "segments"} & set(encodings.example(written.partition("(")[0]).extra_inputs):
        return None
    others = sorted((name for name in encodings.usual(axes) if name != written), key=lambda name: name != BASELINE)
    found = [name for name in tasks.names() if tasks.create(name).axes == axes]
    for task in sorted(found, key=lambda name: (tasks.registry.get(name).family != "distance", name)):
        with suppress(InputError):
            plan(task, [written, *others[:1]], try_models=False)
            return f"ordinate compare {task} -e {shlex.quote(','.join([written, *others[:1]]))}"
    return None
