"""The position's Gray code, added to the embeddings."""

from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Shape
from ordinate.core.positions import Positions
from ordinate.encodings._shared.additive import Dropout, ScaleTokens, Size
from ordinate.encodings._shared.digits import DigitEncoding, digits


class Gray(DigitEncoding):
    """Adds the reflected Gray code of the position, one bit per channel, most significant first: like binary, but
    neighboring positions differ in exactly one bit."""

    formula = r"PE_{p,k} = \lfloor g\,/\,2^{D-1-k} \rfloor \bmod 2,\quad g = p \oplus \lfloor p/2 \rfloor"
    base = 2

    def __init__(
        self,
        shape: Shape,
        *,
        size: Size = 1.0,  # no definition to keep: matched
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__(shape, size=size, scale_tokens=scale_tokens, dropout=dropout)

    def table(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        """Digits of the code at these positions, as defined."""
        code = positions.values ^ (positions.values >> 1)
        return digits(code, self.shape.dim, self.base)
