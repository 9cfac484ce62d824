"""Learning a tokenizer."""

import tokenizers

from ordinate.text.tokenizer import LONGEST_WORD, learn

from .made_text import texts


def _learn_plainly(documents: list[str], vocabulary: int) -> str:
    """With the library alone, from whole words."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(documents, trainer)
    return str(made.to_str(pretty=True))


def test_words_of_usual_length_give_the_librarys_tokenizer() -> None:
    documents = [*texts(40), "x" * LONGEST_WORD + " " + "ab" * (LONGEST_WORD // 2 - 1)]
    assert learn(documents, 600) == _learn_plainly(documents, 600)


def test_merges_are_learned_from_parts_of_a_long_word() -> None:
    """Learned whole, it would give ever longer tokens, in a time that grows with the square of its length."""
    word = "ab" * 5000
    made = tokenizers.Tokenizer.from_str(learn([word, word], 400))
    longest = max(len(token) for token in made.get_vocab() if token != "<|endoftext|>")
    assert longest == LONGEST_WORD
    assert made.decode(made.encode(word).ids) == word
