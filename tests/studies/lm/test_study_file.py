"""Files of studies of language models: what they say, and what is wrong with them."""

from pathlib import Path

import pytest

from ordinate.core.errors import InputError
from ordinate.studies import study_file as task_studies
from ordinate.studies.lm.study_file import is_lm_study, load, names, titles

GOOD = """
title = "Rope"
question = "Does it hold?"
size = "nano"
budget = "1M"
seeds = 5
[[parts]]
name = "one"
encodings = ["rope", "none"]
"""


def _write(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", names())
def test_studies_that_come_with_the_program_can_be_planned(name: str) -> None:
    study = load(name)
    assert study.title and study.question.endswith("?") and titles()[name] == study.question
    for part in study.parts:
        comparison = part.comparison("")
        assert comparison.runs and comparison.seeds >= 5  # fewer claim nothing
        assert len({run.key for run in comparison.runs.values()}) == len(comparison.distinct_runs)


def test_names_are_those_of_one_kind() -> None:
    assert set(names()) == {"s2-language-models", "context-extension", "drop", "masked"}
    assert not set(names()) & set(task_studies.names())
    assert is_lm_study("masked") and not is_lm_study("s4-k-back") and not is_lm_study("missing.toml")


def test_the_example_of_the_documentation_is_a_study(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "studies.md").read_text()
    example = page.partition("## Studies of language models")[2].partition("```toml\n")[2].partition("```")[0]
    study = load(_write(tmp_path, example))
    assert [part.name for part in study.parts] == ["bases", "scalings", "dropped"]
    assert study.parts[0].published[0].above.multiple == 8 and study.parts[0].evaluation.text.tokens == 65_536
    assert study.parts[1].comparison("").names == ("rope", "rope, linear", "rope, yarn")
    assert study.parts[2].comparison("").names == ("rope", "none", "rope, then none from 0.5")
    assert is_lm_study(tmp_path / "own.toml")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"1M"', "1"), "budget of part 'one' must be a text"),
        (('"1M"', '"many"'), "expected a number of tokens"),
        (("seeds = 5", 'seeds = "auto"'), "seeds of part 'one' must be a whole number"),
        (('"none"]', '"none"]\ncolor = 1'), "a part has no key color"),
        (('"none"]', '"nonne"]'), "did you mean"),
        (('"none"]', '"none"]\nsettings = { width = 3 }'), "unknown key width"),
        (('"none"]', '"none"]\nevaluation = { parts = ["sound"] }'), "unknown part 'sound'"),
        (('"none"]', '"none"]\nchanges = [{ encoding = "rope", to = "none", at = 2.0 }]'), "between 0 and 1, got 2.0"),
        (('"none"]', '"none"]\n[[parts.published]]\ntext = "t"\nabove = "fox"\nbelow = "rope"\nvalue = 1.1'),
         "a ratio of fox, which it does not compare"),
        (('"none"]', '"none"]\n[[parts.published]]\ntext = "t"\nabove = "none"\nbelow = "rope"'), "has no value"),
        (("[[parts]]", "[[partes]]"), "no key partes"),
        (('size = "nano"', 'size = "huge"'), "unknown size 'huge'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    text = GOOD.replace(change[0], change[1])
    with pytest.raises(InputError, match=words) as error:
        load(_write(tmp_path, text))
    assert str(error.value).startswith("study own: ") and "\n" not in str(error.value)
