"""The position's binary digits as -1 and 1, added to the embeddings."""

from jaxtyping import Float
from torch import Tensor

from ordinate.core.positions import Positions
from ordinate.encodings._shared.digits import DigitEncoding


class BinaryNorm(DigitEncoding):
    """Adds the position in binary with -1 in place of 0, one digit per channel, most significant first; the zeros on
    the left become -1 too. The digits are added as they are, whatever the size of token embeddings, because their
    values are the definition; size=1 matches them."""

    formula = r"PE_{p,k} = 2\,(\lfloor p\,/\,2^{D-1-k} \rfloor \bmod 2) - 1"
    base = 2

    def table(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        return 2 * super().table(positions) - 1
