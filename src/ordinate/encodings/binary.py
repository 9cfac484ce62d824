"""The position's binary digits, added to the embeddings."""

from ordinate.encodings._shared.digits import DigitEncoding


class Binary(DigitEncoding):
    """Adds the position in binary, one digit per channel, most significant first, zeros on the left: 7 in eight
    channels is 0 0 0 0 0 1 1 1. The digits are added as they are, whatever the size of token embeddings, because their
    values are the definition; size=1 matches them."""

    formula = r"PE_{p,k} = \lfloor p\,/\,2^{D-1-k} \rfloor \bmod 2"
    base = 2
