"""Comparisons and studies of language models: runs of `lm train`, each followed by an evaluation."""
