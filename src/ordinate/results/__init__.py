"""Results as types: each dataclass is also the schema of what is stored."""
