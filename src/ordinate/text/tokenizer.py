"""A byte-level BPE tokenizer (Sennrich 2016, Radford 2019): learned from text, or taken from another corpus."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.core.errors import InputError
from ordinate.core.extras import optional
from ordinate.store.files import read_bytes

END = "<|endoftext|>"  # every document begins with it
END_ID = 0
SMALLEST = 257  # END and the 256 bytes, so that every text has tokens
LARGEST = 2**20  # beyond, a mistake: no text has so many repeated words
LONGEST_WORD = 256  # bytes of a word that merges are learned from: the time they take grows with its square


def learn(texts: Iterable[str], vocabulary: int) -> str:
    """A tokenizer of at most so many ids, as its file will hold it. The same text gives the same tokenizer.

    Text with too few repeated pairs gives fewer ids; the model's vocabulary is still the requested one. Merges are
    learned from parts of longer words; the tokenizer itself does not cut them.
    """
    tokenizers = optional("tokenizers")
    bytewise, parts = tokenizers.pre_tokenizers.ByteLevel, tokenizers.pre_tokenizers.FixedLength(LONGEST_WORD)
    words = bytewise(add_prefix_space=False)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([words, parts])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[END], initial_alphabet=bytewise.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.pre_tokenizer = words
    return str(tokenizer.to_str(pretty=True))


def load(path: Path) -> Any:
    """A tokenizer that reads all text as text: the words `<|endoftext|>` in a document end nothing."""
    tokenizers = optional("tokenizers")
    try:
        text = read_bytes(path).decode()
    except (OSError, UnicodeError) as error:
        raise InputError(f"the tokenizer {path} cannot be read: {getattr(error, 'strerror', error)}") from error
    try:
        tokenizer = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing more special
        raise InputError(f"{path} is not a tokenizer of the package tokenizers: {error}") from error
    ids = tokenizer.get_vocab()
    if ids.get(END) != END_ID or not ids.keys() >= set(tokenizers.pre_tokenizers.ByteLevel.alphabet()):
        raise InputError(f"{path} is not a tokenizer of bytes with {END} as id {END_ID}: take one of a prepared corpus")
    tokenizer.encode_special_tokens = True
    return tokenizer


def token_bytes(tokenizer: Any, vocabulary: int) -> NDArray[np.int64]:
    """Bytes of UTF-8 of each id; none for special ids and those that no text has."""
    sizes = np.zeros(vocabulary, dtype=np.int64)
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    for token, number in tokenizer.get_vocab().items():
        if token not in special:
            sizes[number] = len(token)  # written with one character for each byte
    return sizes
