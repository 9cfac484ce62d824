"""Arguments of a wrong type are one sentence too. Without the tests' own checks of types, which would come first."""

import os
import subprocess
import sys

CALLS = """
import torch
from ordinate import InputError, ModelConfig, Transformer, encodings, generate

tokens = torch.zeros(2, 5, dtype=torch.long)
model = Transformer(ModelConfig(vocabulary=9, encoding="rope", dim=16, heads=2, layers=1, length=8))
shape = dict(dim=16, heads=2, length=8)
make = encodings.create
calls = [
    (lambda: generate("model", tokens, 1), "generate takes a Transformer, got str"),
    (lambda: generate(model, tokens.tolist(), 1), "prompt must be a tensor of shape [b, n], got list"),
    (lambda: generate(model, tokens, 1.5), "count must be a whole number, got 1.5"),
    (lambda: generate(model, tokens, True), "count must be a whole number, got True"),
    (lambda: generate(model, tokens, 1, padding_mask=[1]), "padding_mask must be a tensor of the prompt's shape,"),
    (lambda: generate(model, tokens, 1, segments=[1]), "segments must be a tensor of shape [b, n + count], or None,"),
    (lambda: generate(model, tokens, 1, positions=[1]), "positions must be a tensor of numbers, got list"),
    (lambda: generate(model, tokens, 1, temperature="a"), "temperature must be a number, got 'a'"),
    (lambda: generate(model, tokens, 1, temperature=1, top_k=2.5), "top_k must be a whole number, or None, got 2.5"),
    (lambda: generate(model, tokens, 1, temperature=1, top_p="x"), "top_p must be a number, or None, got 'x'"),
    (lambda: generate(model, tokens, 1, temperature=1, generator=3), "generator must be a torch.Generator, or None,"),
    (lambda: generate(model, tokens, 1, stop="x"), "stop must be a token, or None, got 'x'"),
    (lambda: make("rope", **shape, token_size="x"), "token_size must be a number above 0, or None, got 'x'"),
    (lambda: make("rope", **shape, token_size=float("nan")), "token_size must be a number above 0, or None, got nan"),
    (lambda: make("rope", **shape, causal="yes"), "causal must be True or False, got 'yes'"),
    (lambda: make("rope", **shape | {"dim": 16.0}), "dim must be a whole number of at least 1 and at most"),
    (lambda: make(3, **shape), "an encoding is named by a text, such as 'rope', got 3"),
]
for call, words in calls:
    try:
        print("accepted, but not:", words, call())
    except InputError as error:
        if not str(error).startswith(words):
            print(f"not {words!r}, but {error}")
    except Exception as error:
        print(f"not {words!r}, but {type(error).__name__}: {error}")
print("end")
"""


def test_wrong_types_are_one_sentence() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    done = subprocess.run([sys.executable, "-c", CALLS], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("end\n", 0), done.stdout + done.stderr
