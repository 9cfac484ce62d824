"""No encoding."""

from ordinate.core.encoding import Encoding, Paper, Shape


class NoEncoding(Encoding):
    """Adds nothing. A bidirectional model then sees a bag of tokens; a causal model can infer positions from the mask,
    because earlier tokens attend to fewer others."""

    family = "none"
    usual = True
    formula = r"x_p \mapsto x_p"
    paper = Paper(
        "The Impact of Positional Encoding on Length Generalization in Transformers",
        ("Amirhossein Kazemnejad", "Inkit Padhi", "Karthikeyan Natesan Ramamurthy", "Payel Das", "Siva Reddy"),
        2023,
        "2305.19466",
    )

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, shift_invariant=True, axes=(1, 2, 3), real_positions=True)
