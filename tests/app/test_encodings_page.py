"""The page of encodings: every one of them, its controls, and what is wrong in one sentence."""

import re
import shlex

import pytest
from streamlit.testing.v1 import AppTest

from ordinate import encodings
from ordinate.app.encoding_controls import IN_VIEW
from ordinate.core.parsing import write_value
from ordinate.studies.plan import plan

from .conftest import draw

SMALL = {"head_width": "8", "head_count": "4", "trained_length": "8"}  # fewer numbers, the same pictures


def look(**view: str) -> AppTest:
    return draw("encodings", **SMALL, **view)


def shown(at: AppTest) -> str:
    """All words of the page, without the backslashes that keep them plain."""
    parts = [*at.markdown, *at.caption, *at.subheader, *at.error, *at.info]
    return "\n".join(str(part.value) for part in parts).replace("\\", "")


@pytest.mark.parametrize("name", encodings.names())
def test_every_encoding_has_its_page(name: str) -> None:
    at = look(encoding=name)
    assert not at.exception and not at.error and not at.warning
    assert at.title[0].value == "Encodings" and at.subheader[0].value.replace("\\", "") == name
    assert at.selectbox(key="encoding-pick").value == name
    about = encodings.describe(name)
    words = shown(at)
    assert about["words"].split(". ")[0] in words.replace("\n", " ") and about["extrapolation"] in words
    assert about["formula"] in str([formula.value for formula in at.latex]) or at.latex[0].value
    assert about["paper"] is None or about["paper"]["arxiv"] in words
    code = "\n".join(block.value for block in at.code)
    assert f"encodings.create('{name}', dim=32, heads=4, length=8" in code and f"ordinate show {name}" in code
    for command in re.findall(r"^ordinate compare .*$", code, re.M):  # it works as printed
        _, _, task, _, named = shlex.split(command)
        assert plan(task, named).tasks == (task,)
    assert name in ("graph", "segment") or 1 not in encodings.example(name).axes or "ordinate compare" in code
    assert "\\`" not in "".join(str(part.value) for part in (*at.markdown, *at.caption))
    controls = [*at.selectbox, *at.number_input, *at.slider, *at.toggle, *at.text_input]
    keys = {control.key for control in controls}
    assert {f"encoding-{name}-{parameter['name']}" for parameter in about["parameters"]} <= keys


def test_first_something_usual_is_shown() -> None:
    at = look()
    assert not at.exception and not at.error
    assert encodings.registry.get(at.selectbox(key="encoding-pick").value).usual


def test_the_picker_offers_all_by_family() -> None:
    offered = look().selectbox(key="encoding-pick").options
    assert sorted(label.split(" · ")[1] for label in offered) == encodings.names()
    families = [label.split(" · ")[0] for label in offered]
    assert len(set(families)) == sum(a != b for a, b in zip(families, ["", *families], strict=False))


def test_controls_rewrite_the_text_that_stands_in_the_address() -> None:
    at = look(encoding="rope(base=500000)")
    assert at.number_input(key="encoding-rope-base").value == 500_000
    at.slider(key="encoding-rope-fraction").set_value(0.5).run()
    assert at.query_params["encoding"] == "rope(base=500000,fraction=0.5)"
    at.selectbox(key="encoding-rope-pairs").set_value("interleaved").run()
    at.number_input(key="encoding-rope-base").set_value(None).run()
    assert at.text_input(key="encoding").value == "rope(fraction=0.5,pairs=interleaved)"
    assert "fraction=0.5, pairs='interleaved'" in at.code[0].value
    at.button(key="encoding-reset").click().run()
    assert at.text_input(key="encoding").value == "rope"
    assert at.slider(key="encoding-rope-fraction").value == 1
    at.selectbox(key="encoding-pick").set_value("t5").run()
    assert at.query_params["encoding"] == "t5" and at.subheader[0].value == "t5"
    assert not at.exception and not at.error and not at.warning


def test_lists_and_toggles_are_read() -> None:
    at = look(encoding="abacus")
    at.text_input(key="encoding-abacus-digits").set_value("[3, 12]").run()
    assert at.text_input(key="encoding").value == "abacus(digits=[3,12])"
    at = look(encoding="shaw")
    at.toggle(key="encoding-shaw-values").set_value(False).run()
    assert at.text_input(key="encoding").value == "shaw(values=false)"
    assert not at.exception and not at.error


@pytest.mark.parametrize(
    ("view", "sentence"),
    [
        ({"encoding": "rope(base=0.5)"}, "rope parameter base must be at least 1.01, got 0.5"),
        ({"encoding": "rope(base=abc)"}, "rope parameter base must be a number, got 'abc'"),
        ({"encoding": "rope(factor=4)"}, "rope has factor=4.0, which scaling=none does not read"),
        ({"encoding": "rope(bse=3)"}, "rope has no parameter bse: did you mean base"),
        ({"encoding": "cope(positions=99999999999999999999)"}, "cope parameter positions must be"),
        ({"encoding": "cope", "both_ways": "true"}, "cope is defined for causal attention alone"),
        ({"encoding": "rop"}, "unknown encoding 'rop': did you mean rope"),
        ({"encoding": "../../etc/passwd"}, "cannot read '../../etc/passwd'"),
        ({"encoding": "segment+t5"}, "shows one encoding at a time"),
        ({"encoding": "rope", "beside": "<b>x</b>"}, "cannot read '<b>x</b>'"),
    ],
)
def test_what_is_wrong_is_one_sentence(view: dict[str, str], sentence: str) -> None:
    at = look(**view)
    assert not at.exception
    (error,) = at.error
    assert sentence in error.value.replace("\\", "")


def test_rare_parameters_are_folded_until_they_are_used() -> None:
    known = list(encodings.registry.parameters("rope").values())[IN_VIEW:]
    (rest,) = [part for part in look(encoding="rope").expander if "more parameters" in part.label]
    assert rest.label == f"{len(known)} more parameters"
    used = next(parameter for parameter in known if parameter.default is not None)
    at = look(encoding=f"rope({used.name}={write_value(used.default)})")
    (rest,) = [part for part in at.expander if "more parameters" in part.label]
    assert rest.label == f"{len(known) - 1} more parameters"


def test_two_side_by_side() -> None:
    at = look(encoding="rope", beside="rope(base=100)")
    assert not at.exception and not at.error
    assert [title.value for title in at.subheader] == ["rope", "rope"]
    assert len(at.get("plotly_chart")) == 6
    at.selectbox(key="beside-pick").set_value(None).run()
    assert [title.value for title in at.subheader] == ["rope"] and "beside" not in at.query_params


def test_a_refusal_stands_beside_the_pictures() -> None:
    at = look(encoding="learned")
    assert "learned refuses from position 8 on" in shown(at) and at.get("plotly_chart")
    assert not look(encoding="learned", times="1").info
