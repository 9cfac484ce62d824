"""Shows a finished comparison: one HTML page, tables in four formats, figures for a paper."""

from ordinate.report.write import FORMATS, format_of, known, pieces, render, write

__all__ = ["FORMATS", "format_of", "known", "pieces", "render", "write"]
