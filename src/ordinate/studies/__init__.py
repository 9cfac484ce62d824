"""Comparisons: which runs they need, who does them, and what they come to."""

from ordinate.studies.compare import compare
from ordinate.studies.comparison import Comparison

__all__ = ["Comparison", "compare"]
