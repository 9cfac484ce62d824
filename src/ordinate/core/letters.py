"""Control and invisible characters: text read from a file must not send them to a terminal."""

from unicodedata import category


def plain(text: str) -> bool:
    """Whether every character is visible."""
    return text.isprintable() or all(map(_seen, text))


def written_out(text: str) -> str:
    """Escape invisible characters as Python does."""
    return text if plain(text) else "".join(c if _seen(c) else c.encode("unicode_escape").decode() for c in text)


def _seen(letter: str) -> bool:
    # spaces of all widths are printable to people, and what joins letters is a part of them
    return letter.isprintable() or category(letter) == "Zs" or letter in "\u200c\u200d"
