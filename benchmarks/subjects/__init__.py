"""Encodings of other libraries, and ours, behind one interface: one file per library."""

from importlib import import_module

from benchmarks.contracts import Subject

LIBRARIES = (
    "ours", "rotary_embedding_torch", "x_transformers", "transformers", "positional_encodings", "pope_pytorch",
    "attn_gym",
)  # fmt: skip


def subjects() -> list[Subject]:
    """All of them, library by library."""
    return [subject for name in LIBRARIES for subject in import_module(f"benchmarks.subjects.{name}").SUBJECTS]
