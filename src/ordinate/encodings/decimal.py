"""The position's decimal digits, added to the embeddings."""

from ordinate.encodings._shared.digits import DigitEncoding


class Decimal(DigitEncoding):
    """Adds the position in decimal, one digit per channel, most significant first, zeros on the left: 42 in eight
    channels is 0 0 0 0 0 0 4 2. The digits are added as they are, whatever the size of token embeddings, because their
    values are the definition; size=1 matches them."""

    formula = r"PE_{p,k} = \lfloor p\,/\,10^{D-1-k} \rfloor \bmod 10"
    base = 10
