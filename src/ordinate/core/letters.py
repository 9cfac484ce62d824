"""Letters that a terminal obeys or does not show: a text from somebody's file must not carry them there."""

from unicodedata import category


def plain(text: str) -> bool:
    """Whether all of it can be seen."""
    return text.isprintable() or all(map(_seen, text))


def written_out(text: str) -> str:
    """What cannot be seen is written as Python writes it."""
    return text if plain(text) else "".join(c if _seen(c) else c.encode("unicode_escape").decode() for c in text)


def _seen(letter: str) -> bool:
    # spaces of all widths are printable to people, and what joins letters is a part of them
    return letter.isprintable() or category(letter) == "Zs" or letter in "\u200c\u200d"
