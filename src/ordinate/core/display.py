"""Text that is shown to people: amounts in words, and no control or invisible characters from files."""

from unicodedata import category


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3.5 h`, `4 days`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:,.0f} days"


def storage(size: float) -> str:
    """`512 bytes`, `12.1 MB`, `3.5 GB`."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if round(size) < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"


def counted(number: int, word: str) -> str:
    """`1 file`, `2,400 files`, `0 studies`."""
    many = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{number:,} {word if number == 1 else many}"


def printable(text: str) -> bool:
    """Whether every character is visible."""
    return text.isprintable() or all(map(_visible, text))


def escaped(text: str) -> str:
    """Escape invisible characters as Python does, so that a terminal does not obey them."""
    return text if printable(text) else "".join(c if _visible(c) else c.encode("unicode_escape").decode() for c in text)


def _visible(character: str) -> bool:
    # spaces of all widths are visible to people, and what joins letters is a part of them
    return character.isprintable() or category(character) == "Zs" or character in "\u200c\u200d"
