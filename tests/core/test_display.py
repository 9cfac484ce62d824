"""What a terminal would obey or hide is escaped."""

import pytest

from ordinate import InputError
from ordinate.core.display import escaped, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rope(base=10000)", None), ("é 日本語 💥", None), ("a\u00a0b\u2009c", None), ("👩\u200d🔬", None), ("", None),
        ("\x1b[31mred", "\\x1b[31mred"), ("a\u202eb", "a\\u202eb"), ("a\nb\tc", "a\\nb\\tc"), ("\udcff", "\\udcff"),
        ("\x9b2J", "\\x9b2J"), ("\u200b", "\\u200b"),
    ],
)  # fmt: skip
def test_letters_that_cannot_be_seen_are_escaped(text: str, shown: str | None) -> None:
    assert printable(text) == (shown is None) and escaped(text) == (text if shown is None else shown)
    assert printable(escaped(text))


def test_no_sentence_carries_them() -> None:
    assert str(InputError("no \x1b[2Jtask\u202e here\nor there")) == "no \\x1b[2Jtask\\u202e here or there"
