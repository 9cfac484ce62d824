"""Odd codes: binary, decimal, Gray and sines alone, and which of the usual reasons holds."""

from collections.abc import Callable
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.positions import Positions
from ordinate.probes.encoding_effects import Setting, make
from ordinate.probes.encoding_probe import probe_encoding
from ordinate.probes.position_vectors import VectorProbe
from ordinate.studies import study_file
from ordinate.teaching import evidence
from ordinate.teaching.charts import curves, heat, table
from ordinate.teaching.lesson import (
    Evidence,
    Exercise,
    Explore,
    FurtherReading,
    Lesson,
    Picker,
    Predict,
    Prose,
    Revealed,
    Shown,
    Slider,
)

CODES = ("sinusoidal", "sinonly", "gray", "binary", "binary_norm", "decimal", "decimal_norm")
WIDTH = 8


@cache
def code(name: str) -> Float[Tensor, "n d"]:
    """The vectors of positions 0 to 127 in width 8, with the values of the definition."""
    made = make(name, {}, Setting(head_dim=WIDTH, heads=1, length=128, reach=128, token_size=None))
    with torch.no_grad():
        found: Tensor = made.embed(torch.zeros(1, 128, WIDTH), Positions.range(128))[0]
    return found


@cache
def measured(name: str) -> VectorProbe:
    found = probe_encoding(name).vectors
    assert found is not None
    return found


def show_code(name: str, position: int) -> Shown:
    values = code(name)
    around = range(max(0, position - 4), max(0, position - 4) + 9)
    drawn = heat(
        "Codes around the position", "channel", "position", {"": values[list(around)]}, rows=[str(p) for p in around],
        row_height=220,
    )  # fmt: skip
    steps = (values[1:] - values[:-1]).norm(dim=-1)
    chart = curves("Step from each position to the next", "position", "length of the step", {"step": steps})
    written = " ".join(f"{value:g}" for value in values[position].round(decimals=2).tolist())
    words = (
        f"Position **{position}** in width {WIDTH} is `{written}`. From {position} to {position + 1} the code moves by "
        f"{float(steps[position]):.2f}; the largest step, at position {int(steps.argmax())}, is "
        f"{float(steps.max()):.2f}."
    )
    return Shown(words, (drawn, chart), across=2)


def answer_size() -> Revealed:
    names = ("sinusoidal", "binary", "decimal", "decimal_norm")
    found = {name: measured(name).by_definition for name in names}
    right = names.index(max(found, key=lambda name: found[name]))
    rows = [(name, measured(name).by_definition, measured(name).norm_ratio) for name in CODES]
    columns = {"code": "", "by definition": ".1f", "as Ordinate adds it": ".1f"}
    words = (
        f"`{names[right]}`: {max(found.values()):.1f} times. Nearly all of its 64 channels are padding, and the "
        f"digit 0 is "
        "written as a number far from zero. So *the code is bad* and *the code is loud* are two reasons, and a "
        "comparison that does not match sizes cannot tell them apart. The digit codes keep their definition here "
        "unless one gives `size=1`."
    )
    return Revealed(
        right, Shown(words, tables=(table("Size over that of token embeddings, 64 channels", columns, rows),))
    )


def answer_neighbors() -> Revealed:
    binary, gray = (measured(name).largest_step for name in ("binary", "gray"))
    words = (
        f"In `binary` the step at position {binary[0]} is {binary[1]:.1f} times the usual one: 127 and 128 differ in "
        f"eight "
        f"bits. In `gray` every step flips one bit: {gray[1]:.1f} times. If *uneven steps* were why binary codes fail, "
        "Gray codes would do better; that is a prediction, and runs decide it."
    )
    return Revealed(1 if binary[1] > gray[1] else 0, Shown(words))


def show_reasons(reason: str) -> Shown:
    values: dict[str, Callable[[VectorProbe], float]] = {
        "size": lambda probe: probe.by_definition,
        "uneven steps": lambda probe: probe.largest_step[1],
        "a shift is no linear map": lambda probe: probe.shift_residual[1],
        "positions are too close": lambda probe: probe.smallest_distance,
        "a linear reader cannot read the position": lambda probe: probe.position_read,
    }
    rows = sorted(((name, values[reason](measured(name))) for name in CODES), key=lambda row: row[1])
    words = (
        f"If the reason were **{reason}**, trained models would line up in this order (or its reverse). Each reason "
        "gives another order, which is what makes them testable."
    )
    return Shown(words, tables=(table(f"Codes by: {reason}", {"code": "", "value": ".3g"}, rows),))


def stored() -> Shown:
    """The part that was run, else the predictions that were written down before any run."""
    shown = evidence.scores("reasons", "codes on k_back")
    claims = study_file.load("reasons").claims
    texts = "\n".join(f"- {claim.text}" for claim in claims)
    return Shown(f"{shown.sentence}\n\nWhat was predicted, before any run:\n\n{texts}", shown.figures, shown.tables)


def check_gray(gray: Callable[[int, int], list[int]]) -> str:
    codes = [list(gray(p, 6)) for p in range(64)]
    if any(len(own) != 6 or set(own) - {0, 1} for own in codes):
        return "gray(position, width) must return a list of `width` zeros and ones."
    if any(codes[0]):
        return "Position 0 is all zeros."
    if len({tuple(own) for own in codes}) < 64:
        return "Two positions share a code: all 64 codes of width 6 must differ."
    flips = [sum(a != b for a, b in zip(codes[p], codes[p + 1], strict=True)) for p in range(63)]
    if max(flips) > 1:
        at = flips.index(max(flips))
        return (
            f"From {at} to {at + 1} your code flips {max(flips)} bits; in a Gray code neighbors differ in exactly one."
        )
    if codes[1] != [0, 0, 0, 0, 0, 1]:
        return "The most significant bit stands first: position 1 in width 6 is 0 0 0 0 0 1."
    return ""


def check_binary(binary: Callable[[int, int], list[int]]) -> str:
    if list(binary(7, 8)) == [1, 1, 1, 0, 0, 0, 0, 0]:
        return (
            "Position 7 in width 8 is 0 0 0 0 0 1 1 1; yours is 1 1 1 0 0 0 0 0. Padded on the right, 7 and 14 and 28 "
            "have the same code."
        )
    if list(binary(7, 8)) != [0, 0, 0, 0, 0, 1, 1, 1]:
        return f"Position 7 in width 8 is 0 0 0 0 0 1 1 1, got {' '.join(map(str, binary(7, 8)))}."
    if len({tuple(binary(p, 8)) for p in range(256)}) < 256:
        return "Two of the first 256 positions share a code."
    return ""


LESSON = Lesson(
    number=6,
    title="Odd codes",
    question="If sines and cosines work for their properties, what do codes without these properties do?",
    goals=(
        "write positions in binary, decimal and Gray code",
        "turn a reason that is usually given into a prediction that can fail",
        "separate what a code says from how loud it says it",
    ),
    blocks=(
        Prose(
            "A position can be written in any code that tells numbers apart: binary digits, decimal digits, sines "
            "without cosines. People explain the success of sine and cosine by boundedness, smooth steps, unique "
            "values, linear shifts. **An odd code that lacks one property and keeps the others tests that reason.**"
        ),
        Explore(
            "code",
            "Choose a code and walk along the positions; try 7, 8, 63 and 99.",
            (Picker("name", "Code", CODES, "binary"), Slider("position", "Position", 0, 120, 7)),
            show_code,
        ),
        Predict(
            "size",
            "With 64 channels and the values of its definition, which code is largest beside token embeddings?",
            ("sinusoidal", "binary", "decimal", "decimal_norm (scaled to lie between -1 and 1)"),
            answer_size,
        ),
        Predict(
            "neighbors",
            "Binary codes are said to fail because **neighbors differ in many bits** (127 and 128). Which code "
            "changes that one property?",
            ("none does", "Gray code"),
            answer_neighbors,
        ),
        Explore(
            "reasons",
            "Each reason as a number that is measured on the code alone.",
            (
                Picker(
                    "reason",
                    "Reason",
                    (
                        "size",
                        "uneven steps",
                        "a shift is no linear map",
                        "positions are too close",
                        "a linear reader cannot read the position",
                    ),
                    "size",
                ),
            ),
            show_reasons,
        ),
        Evidence("stored", "Which reason do trained models follow?", stored),
        Exercise(
            "gray",
            "Write `gray(position, width)`: a list of bits, most significant first, in which neighbors differ in "
            "exactly one bit.",
            "gray",
            "def gray(position, width):\n    ...\n",
            check_gray,
            solution=(
                "def gray(position, width):\n    number = position ^ (position >> 1)\n"
                "    return [(number >> bit) & 1 for bit in reversed(range(width))]\n"
            ),
            wrong=(
                "def gray(position, width):\n    return [(position >> bit) & 1 for bit in reversed(range(width))]\n"
            ),
            hint="position ^ (position >> 1)",
        ),
        Exercise(
            "binary",
            "**Find the bug.** Positions 7, 14 and 28 look alike to this model.",
            "binary",
            (
                "def binary(position, width):\n"
                "    digits = [int(digit) for digit in format(position, 'b')]\n"
                "    return digits + [0] * (width - len(digits))\n"
            ),
            check_binary,
            solution=(
                "def binary(position, width):\n"
                "    digits = [int(digit) for digit in format(position, 'b')]\n"
                "    return [0] * (width - len(digits)) + digits\n"
            ),
            kind="debug",
            hint="On which side do zeros leave a number as it is?",
        ),
    ),
    reading=(
        FurtherReading("Vaswani et al. 2017", "1706.03762", "the reasons that are given there"),
        FurtherReading("Tancik et al. 2020", "2006.10739", "Fourier features: random frequencies do as well"),
        FurtherReading("Kazemnejad et al. 2023", "2305.19466", "reasons tested on length generalization"),
    ),
)
