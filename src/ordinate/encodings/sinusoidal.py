"""Sines and cosines of the position, added to the embeddings."""

from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding, Paper, Shape
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Adding, Dropout, ScaleTokens, Size
from ordinate.encodings._shared.sines import Base, Exponent, Layout, sinusoid


class Sinusoidal(Encoding):
    """Adds fixed sines and cosines of the position, from high to low frequency, to every token embedding. Positions a
    fixed distance apart are related by one linear map, whatever the position."""

    family = "added"
    usual = True
    formula = r"PE_{p,2k} = \sin(p\,b^{-2k/D}),\quad PE_{p,2k+1} = \cos(p\,b^{-2k/D})"
    paper = Paper(
        "Attention Is All You Need",
        ("Ashish Vaswani", "Noam Shazeer", "Niki Parmar", "Jakob Uszkoreit", "Llion Jones", "Aidan N. Gomez",
         "Lukasz Kaiser", "Illia Polosukhin"),
        2017, "1706.03762",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        base: Base = 10_000.0,
        layout: Layout = "interleaved",
        exponent: Exponent = "paper",
        size: Size = 1.0,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__(shape, real_positions=True)
        self.base, self.layout, self.exponent = base, layout, exponent
        self.adding = Adding(shape, size, dropout, scale_tokens)
        self.amplitude = self.adding.factor(0.5)  # sin² + cos² = 1, so their mean is 1/2

    def table(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        """Sines and cosines at these positions, as defined."""
        return sinusoid(positions.values, self.shape.dim, base=self.base, layout=self.layout, exponent=self.exponent)

    def embed(self, x: Float[Tensor, "b n d"], positions: Positions) -> Float[Tensor, "b n d"]:
        return self.adding(x, self.amplitude * self.table(positions), self.training)
