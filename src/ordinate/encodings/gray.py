"""The position's Gray code, added to the embeddings."""

from jaxtyping import Float
from torch import Tensor

from ordinate.core.added import Adding, Dropout, ScaleTokens, Size
from ordinate.core.digits import digit_range, digits
from ordinate.core.encoding import Encoding, Shape
from ordinate.core.place import Place


class Gray(Encoding):
    """Adds the reflected Gray code of the position, one digit per channel, most significant first: as binary digits,
    but neighbouring positions differ in exactly one of them."""

    family = "added"
    formula = r"PE_{p,k} = \lfloor g\,/\,2^{D-1-k} \rfloor \bmod 2,\quad g = p \oplus \lfloor p/2 \rfloor"

    def __init__(
        self,
        shape: Shape,
        *,
        size: Size = 1.0,
        scale_tokens: ScaleTokens = False,
        dropout: Dropout = 0.0,
    ) -> None:
        past, limit = digit_range(shape.dim, 2)
        super().__init__(shape, past=past, limit=limit)
        self.adding = Adding(shape, size, dropout, scale_tokens)
        self.amplitude = self.adding.measured(self.table)

    def table(self, place: Place) -> Float[Tensor, "#b n d"]:
        """Digits of the code at these positions, as defined."""
        code = place.positions ^ (place.positions >> 1)
        return digits(code, self.shape.dim, 2)

    def embed(self, x: Float[Tensor, "b n d"], place: Place) -> Float[Tensor, "b n d"]:
        self.check_range(place)
        return self.adding(x, self.amplitude * self.table(place), self.training)
