"""The protocols of encodings and tasks, with configurations, registries, randomness and errors."""
