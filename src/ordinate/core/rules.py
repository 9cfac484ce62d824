"""Which rules of a fair comparison results were made by."""

RULES = 2  # 1: one length a batch, fixed budgets, starting weights of 0.02, sizes as defined
