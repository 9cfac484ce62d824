"""Sentences of docstrings on a page."""

from ordinate.app.figure_view import plain


def prose(text: str) -> str:
    """Text in Markdown: what stands between backticks is code, all else is escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one has no partner
        return plain(text)
    return "".join(f"`{part}`" if index % 2 and part else plain(part) for index, part in enumerate(parts))
