"""Evaluation of trained language models, past the trained length too."""
