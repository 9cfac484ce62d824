"""Comparisons: which runs they need, who does them, and what they come to."""
