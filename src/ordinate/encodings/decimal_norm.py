"""The position's decimal digits between -1 and 1, added to the embeddings."""

from jaxtyping import Float
from torch import Tensor

from ordinate.core.positions import Positions
from ordinate.encodings._shared.digits import DigitEncoding


class DecimalNorm(DigitEncoding):
    """Adds the position in decimal with digits from -1 (for 0) to 1 (for 9), one per channel, most significant first;
    the zeros on the left become -1 too. The digits are added as they are, whatever the size of token embeddings,
    because their values are the definition; size=1 matches them."""

    formula = r"PE_{p,k} = \bigl(\lfloor p\,/\,10^{D-1-k} \rfloor \bmod 10 - 4.5\bigr) / 4.5"
    base = 10

    def table(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        return (super().table(positions) - 4.5) / 4.5
