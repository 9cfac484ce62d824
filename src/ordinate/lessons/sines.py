"""Sine and cosine: the table of three tokens by hand, what its values are good for, and how large they may be."""

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate import encodings
from ordinate.core.positions import Positions
from ordinate.core.seeds import generator
from ordinate.probes.encoding_effects import Setting, make
from ordinate.probes.position_vectors import probe_vectors, similarity_by_distance, vectors
from ordinate.report.chart import Chart, Series
from ordinate.report.table import Table
from ordinate.teaching import evidence
from ordinate.teaching.charts import curves, floats, look_of, table
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

WORDS = ("Transformers", "are", "awesome")
MOST_COLUMNS = 8  # of a table
VOCABULARY = 16


def sinusoid(count: int, dim: int, base: float = 10_000.0) -> Float[Tensor, "n d"]:
    """The table as the encoding computes it, with the values of its definition."""
    made = encodings.create("sinusoidal", dim=dim, heads=1, length=count, base=base)
    with torch.no_grad():
        added: Tensor = made.embed(torch.zeros(1, count, dim), Positions.range(count))
    return added[0]


def words_table(title: str, values: Float[Tensor, "n d"]) -> Table:
    shown = values[:, :MOST_COLUMNS]
    columns = {"pos": "d", "token": ""} | {f"i={index}": ".3f" for index in range(shown.shape[1])}
    return table(title, columns, [(pos, word, *shown[pos].tolist()) for pos, word in enumerate(WORDS)])


def channel_chart(channel: int, dim: int, base: float) -> Chart:
    """One channel as a function of the position, with the three tokens on it."""
    fine = torch.linspace(0, 15, 121)
    rate = base ** (-2 * (channel // 2) / dim)
    wave, name = (torch.cos, "cos") if channel % 2 else (torch.sin, "sin")
    tokens = Series("tokens", (0.0, 1.0, 2.0), floats(wave(torch.arange(3) * rate)), look_of(1), "points")
    drawn = Series("wave", floats(fine), floats(wave(fine * rate)), look_of(0), "curve")
    slower = "p" if rate == 1 else f"p/{1 / rate:.4g}"
    return Chart(f"channel-{channel}", f"i={channel}: {name}({slower})", "p", "", (drawn, tokens), y_range=(-1.1, 1.1))


def show_walk(dim: str, base: int) -> Shown:
    width = int(dim)
    tokens = torch.randn(len(WORDS), width, generator=generator(0, "lesson", "sines"))
    added = sinusoid(len(WORDS), width, base)
    largest = float((added - (tokens + added - tokens)).abs().max())
    tables = (
        words_table("Before: the embeddings", tokens),
        words_table("What is added", added),
        words_table("After: their sum", tokens + added),
    )
    words = (
        f"Position 0 adds 0 to every sine channel and 1 to every cosine channel. The last pair turns once in "
        f"{2 * math.pi * base ** ((width - 2) / width):,.0f} positions. "
    )
    words += f"The tables show the first {MOST_COLUMNS} channels." if width > MOST_COLUMNS else ""
    assert largest < 1e-5  # the third table is the sum of the first two
    figures = tuple(channel_chart(channel, width, base) for channel in range(width))
    return Shown(words, figures, tables, across=4)


def answer_unique() -> Revealed:
    setting = Setting(head_dim=16, heads=1, length=2048, reach=2048, token_size=None)
    encoding = make("sinusoidal", {}, setting)
    found = probe_vectors(encoding, encoding, setting)
    assert found is not None
    words = (
        f"Every value lies between {found.trained.lowest:.2f} and {found.trained.highest:.2f}. Among 2,048 positions "
        f"the two nearest vectors, those of positions {found.nearest[0]} and {found.nearest[1]}, are "
        f"{found.smallest_distance:.3f} apart (in units of a vector's length). Each channel repeats; all of them "
        "together do not."
    )
    return Revealed(1 if found.smallest_distance > 1e-3 else 0, Shown(words))


def shift_error(name: str, shift: int, dim: int = 16) -> float:
    """The relative error of the best single matrix that turns PE(p) into PE(p + shift), over 400 positions."""
    encoding = make(name, {}, Setting(head_dim=dim, heads=1, length=500, reach=500, token_size=None))
    values = vectors(encoding, 400 + shift)
    start, end = values[:400], values[shift:]
    found = torch.linalg.lstsq(start, end, driver="gelsd").solution
    return float((start @ found - end).norm() / end.norm())


def show_shift(shift: int, pair: int) -> Shown:
    rate = 10_000 ** (-2 * pair / 16)
    at = torch.arange(8) * rate
    turn = torch.linspace(0, 2 * math.pi, 121)
    series = (
        Series("circle", floats(turn.cos()), floats(turn.sin()), look_of(6), "reference"),
        Series("p", floats(at.cos()), floats(at.sin()), look_of(0), "points", label="p = 0 to 7"),
        Series(
            "shifted", floats((at + shift * rate).cos()), floats((at + shift * rate).sin()), look_of(1), "rings",
            label=f"p + {shift}",
        ),
    )  # fmt: skip
    drawn = Chart("shift", "One pair of channels", "cosine channel", "sine channel", series, y_range=(-1.15, 1.15))
    rows = [(name, shift_error(name, shift)) for name in ("sinusoidal", "sinonly", "binary")]
    columns = {"encoding": "", "error of the best single matrix": ".2g"}
    words = (
        f"A shift by {shift} turns this pair by {math.degrees(shift * rate) % 360:.1f} degrees, **wherever** it "
        "starts: a rotation whose angle depends on the shift alone. So one matrix maps PE(p) to PE(p + shift) for "
        "all p, and a layer can learn *three back* once for all positions."
    )
    return Shown(words, (drawn,), (table(f"Shift by {shift}", columns, rows),))


def answer_sinonly() -> Revealed:
    with_cosine, without = shift_error("sinusoidal", 3), shift_error("sinonly", 3)
    words = (
        f"The best matrix for 400 positions has a relative error of {with_cosine:.1e} with sines and cosines, and of "
        f"{without:.2f} with sines alone. sin(p + r) = sin p cos r + cos p sin r needs cos p, and "
        "without the cosine channel nobody has it. Whether a *trained* model suffers from that is another question: "
        "see the lesson on odd codes."
    )
    return Revealed(0 if without > 0.01 > with_cosine else 1, Shown(words))


def answer_similarity() -> Revealed:
    setting = Setting(head_dim=64, heads=1, length=128, reach=128, token_size=None)
    found = similarity_by_distance(vectors(make("sinusoidal", {}, setting), 128))
    rises = sum(after > before + 1e-6 for before, after in pairwise(found))
    drawn = curves("Similarity by distance", "distance", "cosine of PE(p) and PE(p + r)", {"similarity": found})
    words = (
        f"It falls from 1 to {found[10]:.2f} at distance 10, and then it waves: from one distance to the next it "
        f"**rises** {rises} times out of {len(found) - 1}. Near positions are alike; beyond that, less alike does not "
        "mean farther."
    )
    return Revealed(1 if rises else 0, Shown(words, (drawn,)))


def show_size(size: float, dim: int) -> Shown:
    """How well each token can still be told from the sum, by the nearest of all token embeddings."""
    tokens = torch.randn(VOCABULARY, dim, generator=generator(0, "lesson", "sizes")) * dim**-0.5
    table_ = sinusoid(128, dim)
    scaled = table_ * (size * tokens.square().mean().sqrt() / table_.square().mean().sqrt())
    total = tokens[:, None] + scaled
    nearest = torch.cdist(total.flatten(0, 1), tokens).argmin(dim=-1).view(VOCABULARY, -1)
    right = float((nearest == torch.arange(VOCABULARY)[:, None]).float().mean())
    share = float(tokens.square().mean() / (tokens.square().mean() + scaled.square().mean()))
    defined = float(table_.square().mean().sqrt() / tokens.square().mean().sqrt())
    by_position = (nearest == torch.arange(VOCABULARY)[:, None]).float().mean(dim=0)
    drawn = curves(
        "Tokens recognized by position", "position", "share of tokens recognized", {"tokens": by_position},
        y_range=(0, 1.05),
    )  # fmt: skip
    words = (
        f"The encoding is {size:g} times the tokens' size: **{100 * share:.0f} %** of the sum's energy is the token's, "
        f"and the nearest of the {VOCABULARY} embeddings is the right one in **{100 * right:.0f} %** of cases (chance "
        f"{100 / VOCABULARY:.0f} %). The textbook's values beside embeddings that start at 1/√{dim} are "
        f"**{defined:.1f}** times their size."
    )
    return Shown(words, (drawn,))


def stored_sizes() -> Shown:
    shown = evidence.scores("embedding-scale", "sinusoidal")
    plain = evidence.scores("s4-k-back", "fair", ("sinusoidal",), picture=False)
    if shown.tables:
        return shown
    return Shown(
        f"{shown.sentence} What is stored is the matched size: in the comparison below `sinusoidal` adds values of "
        "the tokens' own size, which Ordinate does unless told otherwise (`sinusoidal(size=none)` keeps the values of "
        "the textbook).",
        tables=plain.tables,
    )


def check_sinusoid(function: Callable[[int, int], Tensor]) -> str:
    given = function(6, 8)
    if not isinstance(given, Tensor) or given.shape != (6, 8):
        return "sinusoid(6, 8) must be a tensor of shape (6, 8): a row for each position, a column for each channel."
    right = sinusoid(6, 8)
    if not torch.allclose(given[0, 0::2], torch.zeros(4), atol=1e-5):
        return "At position 0 the even channels are sin(0) = 0; yours are not."
    if not torch.allclose(given[0, 1::2], torch.ones(4), atol=1e-5):
        return "At position 0 the odd channels are cos(0) = 1; yours are not: sine and cosine take turns."
    if not torch.allclose(given[:, :2], right[:, :2], atol=1e-4):
        return "Channels 0 and 1 are sin(p) and cos(p): their frequency is base**0 = 1."
    if not torch.allclose(given[:, 2:4], right[:, 2:4], atol=1e-4):
        angle = math.asin(max(-1.0, min(1.0, float(given[1, 2]))))
        return (
            "Channels 2 and 3 share one frequency, base**(-2/8) = 0.1, as they are one pair; yours turns "
            f"by {angle:.3g} per position in channel 2. The exponent counts pairs: 2k/dim for k = channel // 2."
        )
    if not torch.allclose(given, right, atol=1e-4):
        worst = int((given - right).abs().max(dim=0).values.argmax())
        return f"Channel {worst} differs from the definition."
    return ""


def check_scale(add: Callable[[Tensor, Tensor], Tensor]) -> str:
    tokens = torch.randn(512, 64, generator=generator(3, "lesson", "check")) * 64**-0.5
    positions = sinusoid(512, 64)
    total = add(tokens.clone(), positions.clone())
    if not isinstance(total, Tensor) or total.shape != tokens.shape:
        return "The function must return a tensor of the shape of the embeddings."
    added = total - tokens
    if added.abs().max() < 1e-6:
        return "Nothing is added any more: the positions are lost."
    flat = added.flatten() @ positions.flatten() / (added.norm() * positions.norm())
    if flat < 0.99:
        return "What is added is no longer the encoding, or the embeddings were changed too: scale the positions alone."
    ratio = float(added.square().mean().sqrt() / tokens.square().mean().sqrt())
    if not 0.5 <= ratio <= 2:
        return (
            f"What is added is {ratio:.1f} times the size of the tokens (root mean square): the first layer sees "
            "positions with a little noise that used to be words. Bring both to about the same size."
        )
    return ""


BUGGY = '''def add_positions(embeddings, positions):
    """Embeddings start with a standard deviation of 1/sqrt(64), positions are sines and cosines."""
    return embeddings + positions
'''

LESSON = Lesson(
    number=2,
    title="Sine and cosine",
    question="Why would anybody add sines and cosines of the position to a word?",
    goals=(
        "fill in the table of an encoded sentence by hand",
        "say which properties sines and cosines have, and which are only said of them",
        "notice an encoding that drowns the words, and mend it",
    ),
    blocks=(
        Prose(
            "The position `pos` of a token runs over the sentence, the channel `i` over its vector. Channels come in "
            "pairs k = 0, 1, 2, ... with one frequency each:\n\n"
            r"$$PE_{pos,2k} = \sin(pos\, b^{-2k/D}),\quad PE_{pos,2k+1} = \cos(pos\, b^{-2k/D})$$"
            "\n\nTake *Transformers are awesome*: three tokens. With D = 4 there are two pairs, with frequencies 1 and "
            "1/100 for b = 10,000. Work out the row of *are* before you look: sin 1, cos 1, sin 0.01, cos 0.01."
        ),
        Explore(
            "walk",
            "The table before and after, and a graph of every channel; the points are our three tokens.",
            (
                Picker("dim", "Channels D", ("4", "8", "16"), "4"),
                Slider("base", "Base b", 100, 10_000, 10_000, 100),
            ),
            show_walk,
        ),
        Predict(
            "unique",
            "Sines and cosines repeat. With 16 channels, do two of the first 2,048 positions share a vector?",
            ("yes, some do", "no, all are different"),
            answer_unique,
        ),
        Explore(
            "shift",
            "Move the shift, and look at slower pairs.",
            (Slider("shift", "Shift", 1, 32, 3), Slider("pair", "Pair k", 0, 7, 0)),
            show_shift,
        ),
        Predict(
            "sinonly",
            "Leave out the cosines: sines alone, on all channels. Does one linear map still shift every position by 3?",
            ("no", "yes, sines hold the same information"),
            answer_sinonly,
        ),
        Predict(
            "similarity",
            "It is often said that the similarity of two encoded positions **decays with their distance**. Does it?",
            ("yes, it falls all the way", "no, it falls and then waves"),
            answer_similarity,
        ),
        Prose(
            "**How large may it be?** What is added shares the channels with the word. In the first paper embeddings "
            "are multiplied by √D before the sines are added; many copies leave that out."
        ),
        Explore(
            "size",
            "Sines and cosines of another size beside the same tokens.",
            (Slider("size", "Times the tokens' size", 0.0, 10.0, 1.0, 0.5), Slider("dim", "Channels", 16, 128, 64, 16)),
            show_size,
        ),
        Evidence("sizes", "What does the size do to a model that is trained?", stored_sizes),
        Exercise(
            "table",
            "Write `sinusoid(count, dim, base=10000.0)`: the table for positions 0 to count - 1, sines in the even "
            "channels and cosines in the odd ones.",
            "sinusoid",
            "import torch\n\n\ndef sinusoid(count, dim, base=10000.0):\n    ...\n",
            check_sinusoid,
            solution=(
                "import torch\n\n\ndef sinusoid(count, dim, base=10000.0):\n"
                "    pairs = torch.arange(0, dim, 2)\n"
                "    angles = torch.arange(count)[:, None] * base ** (-pairs / dim)\n"
                "    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)\n"
            ),
            wrong=(
                "import torch\n\n\ndef sinusoid(count, dim, base=10000.0):\n"
                "    angles = torch.arange(count)[:, None] * base ** (-torch.arange(dim) / dim)\n"
                "    even = torch.arange(dim) % 2 == 0\n"
                "    return torch.where(even, angles.sin(), angles.cos())\n"
            ),
            hint="Both channels of a pair have the same angle.",
        ),
        Exercise(
            "drowned",
            "**Find the bug.** The first layer of this model hardly sees the words.",
            "add_positions",
            BUGGY,
            check_scale,
            solution=(
                "def add_positions(embeddings, positions):\n"
                "    size = embeddings.square().mean().sqrt() / positions.square().mean().sqrt()\n"
                "    return embeddings + size * positions\n"
            ),
            kind="debug",
            hint="Print the root mean square of both.",
        ),
    ),
    reading=(
        FurtherReading("Vaswani et al. 2017", "1706.03762", "section 3.5 and its claim about shifts"),
        FurtherReading("Tancik et al. 2020", "2006.10739", "why networks read a coordinate better from sines"),
        FurtherReading("Su et al. 2021", "2104.09864", "the same rotation, applied to queries and keys"),
    ),
)
