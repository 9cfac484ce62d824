"""The position's binary digits, added to the embeddings."""

from jaxtyping import Float
from torch import Tensor

from ordinate.core.added import Adding, Dropout, ScaleTokens, Size
from ordinate.core.digits import digit_range, digits
from ordinate.core.encoding import Encoding, Shape
from ordinate.core.place import Place


class Binary(Encoding):
    """Adds the position in binary, one digit per channel, most significant first, zeros on the left: 7 in eight
    channels is 0 0 0 0 0 1 1 1. The digits are added as they are, whatever the size of token embeddings, because their
    values are the definition; size=1 matches them."""

    family = "added"
    formula = r"PE_{p,k} = \lfloor p\,/\,2^{D-1-k} \rfloor \bmod 2"

    def __init__(
        self,
        shape: Shape,
        *,
        size: Size = None,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        past, limit = digit_range(shape.dim, 2)
        super().__init__(shape, past=past, limit=limit)
        self.adding = Adding(shape, size, dropout, scale_tokens)
        self.amplitude = self.adding.measured(self.table)

    def table(self, place: Place) -> Float[Tensor, "#b n d"]:
        """Digits at these positions, as defined."""
        return digits(place.positions, self.shape.dim, 2)

    def embed(self, x: Float[Tensor, "b n d"], place: Place) -> Float[Tensor, "b n d"]:
        self.check_range(place)
        return self.adding(x, self.amplitude * self.table(place), self.training)
