"""Which documents are for validation: decided by their text alone, so that no copy of one is ever trained on."""

from collections.abc import Iterable
from hashlib import blake2b

from ordinate.core.errors import InputError
from ordinate.text.manifest import Split

HASHES = 2**63  # a document's hash is below this


def split_of(text: str, valid_below: int) -> Split:
    """The same text is on the same side, whatever file it comes in and however often."""
    return "valid" if text_hash(text) < valid_below else "train"


def text_hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def valid_below(texts: Iterable[str], share: float) -> int:
    """The hash below which this share of documents lies, and one document at least.

    Reads until there is one, which is soon; all of it where the text is short, and the document with the smallest hash
    is then the one.
    """
    bound, smallest, seen = int(share * HASHES), HASHES, 0
    for text in texts:
        seen += 1
        smallest = min(smallest, text_hash(text))
        if smallest < bound:
            return bound
    if not seen:
        raise InputError("the source holds no text: every document is empty")
    return smallest + 1
