"""The position's binary digits as -1 and 1, added to the embeddings."""

from jaxtyping import Float
from torch import Tensor

from ordinate.core.positions import Positions
from ordinate.encodings._shared.digits import DigitEncoding


class BinaryNorm(DigitEncoding):
    """Adds the binary digits of the position with -1 instead of 0, one per channel, most significant first; padding on
    the left is -1 too. By definition the digits are added as they are; size=1 scales them to the token embeddings."""

    formula = r"PE_{p,k} = 2\,(\lfloor p\,/\,2^{D-1-k} \rfloor \bmod 2) - 1"
    base = 2

    def table(self, positions: Positions) -> Float[Tensor, "#b n d"]:
        return 2 * super().table(positions) - 1
