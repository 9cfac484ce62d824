"""Language models that differ in their encoding alone: sizes, budgets that share a trunk, training, checkpoints."""
