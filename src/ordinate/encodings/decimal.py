"""The position's decimal digits, added to the embeddings."""

from ordinate.encodings._shared.digits import DigitEncoding


class Decimal(DigitEncoding):
    """Adds the decimal digits of the position, one per channel, most significant first, zero-padded on the left: 42 in
    eight channels is 0 0 0 0 0 0 4 2. By definition the digits are added as they are; size=1 scales them to the token
    embeddings."""

    formula = r"PE_{p,k} = \lfloor p\,/\,10^{D-1-k} \rfloor \bmod 10"
    base = 10
