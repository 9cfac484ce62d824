"""Protocols, configurations, randomness and the mathematics that encodings share."""
