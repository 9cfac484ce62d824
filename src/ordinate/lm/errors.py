"""How training a language model can fail without a mistake of the user."""


class DivergedError(Exception):
    """The loss is NaN or infinite."""


class LostRankError(Exception):
    """Another process of this training has ended, or cannot be reached."""
