"""The position's binary digits, added to the embeddings."""

from ordinate.encodings._shared.digits import DigitEncoding


class Binary(DigitEncoding):
    """Adds the binary digits of the position, one per channel, most significant first, zero-padded on the left: 7 in
    eight channels is 0 0 0 0 0 1 1 1. By definition the digits are added as they are; size=1 scales them to the token
    embeddings."""

    formula = r"PE_{p,k} = \lfloor p\,/\,2^{D-1-k} \rfloor \bmod 2"
    base = 2
