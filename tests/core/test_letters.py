"""What a terminal would obey or hide is written out."""

import pytest

from ordinate import InputError
from ordinate.core.letters import plain, written_out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rope(base=10000)", None), ("é 日本語 💥", None), ("a\u00a0b\u2009c", None), ("👩\u200d🔬", None), ("", None),
        ("\x1b[31mred", "\\x1b[31mred"), ("a\u202eb", "a\\u202eb"), ("a\nb\tc", "a\\nb\\tc"), ("\udcff", "\\udcff"),
        ("\x9b2J", "\\x9b2J"), ("\u200b", "\\u200b"),
    ],
)  # fmt: skip
def test_letters_that_cannot_be_seen_are_written_out(text: str, shown: str | None) -> None:
    assert plain(text) == (shown is None) and written_out(text) == (text if shown is None else shown)
    assert plain(written_out(text))


def test_no_sentence_carries_them() -> None:
    assert str(InputError("no \x1b[2Jtask\u202e here\nor there")) == "no \\x1b[2Jtask\\u202e here or there"
