"""Language models that differ only in their encoding: sizes, budgets that share a trunk, training, checkpoints."""
