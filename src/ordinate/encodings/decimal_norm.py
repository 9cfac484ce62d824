"""The position's decimal digits between -1 and 1, added to the embeddings."""

from jaxtyping import Float
from torch import Tensor

from ordinate.core.positions import Positions
from ordinate.encodings._shared.digits import DigitEncoding


class DecimalNorm(DigitEncoding):
    """Adds the decimal digits of the position, mapped from 0 ... 9 to -1 ... 1, one per channel, most significant
    first; padding on the left is -1 too. By definition the digits are added as they are; size=1 scales them to the
    token embeddings."""

    formula = r"PE_{p,k} = \bigl(\lfloor p\,/\,10^{D-1-k} \rfloor \bmod 10 - 4.5\bigr) / 4.5"
    base = 10

    def table(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        return (super().table(positions) - 4.5) / 4.5
