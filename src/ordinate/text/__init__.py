"""Text for language models: sources, a tokenizer, shards of tokens, and the order in which training reads them."""

from ordinate.text.corpus import Corpus, open_corpus, sample
from ordinate.text.order import permuted
from ordinate.text.prepare import prepare
from ordinate.text.request import request

__all__ = ["Corpus", "open_corpus", "permuted", "prepare", "request", "sample"]
