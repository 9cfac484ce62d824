"""From adding to turning: RoPE from the properties one wants, biases by distance, and positions by content."""

from collections.abc import Callable
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate import encodings
from ordinate.core.positions import Positions
from ordinate.core.seeds import generator
from ordinate.probes.encoding_effects import Setting
from ordinate.probes.encoding_probe import probe_encoding
from ordinate.report.encoding_figures import encoding_figures
from ordinate.teaching import evidence
from ordinate.teaching.charts import Numbers, curves
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

DIM = 32


def turned(x: Float[Tensor, "n e"], positions: Tensor, base: float = 10_000.0) -> Float[Tensor, "n e"]:
    """Vectors as RoPE turns them at these positions."""
    made = encodings.create("rope", dim=x.shape[1], heads=1, length=256, base=base)
    state = made.prepare(Positions(positions.view(1, -1, 1)))
    out: Tensor = made.rotate(x[None, None], state, "k")[0, 0]
    return out


def contents(count: int, name: str) -> Float[Tensor, "n e"]:
    drawn = torch.randn(count, DIM, generator=generator(0, "lesson", name))
    unit: Tensor = drawn / drawn.norm(dim=-1, keepdim=True)
    return unit


def by_distance(q: Tensor, k: Tensor, count: int, start: int, base: float) -> Float[Tensor, " r"]:
    """The score of one query, at the last position, with one key at every distance before it."""
    last = start + count - 1
    query = turned(q[None], torch.tensor([last]), base)
    keys = turned(k.expand(count, -1), last - torch.arange(count), base)
    return keys @ query[0]


def show_rope(base: int, start: int) -> Shown:
    q, k = contents(2, "pair")
    keys = {"key = query": q, "another key": k}
    drawn = {name: by_distance(q, key, 128, start, base) for name, key in keys.items()}
    first = {name: by_distance(q, key, 128, 0, base) for name, key in keys.items()}
    moved = max(float((drawn[name] - first[name]).abs().max()) for name in drawn)
    chart = curves("Score by distance", "distance", "score", drawn)
    words = (
        f"Both tokens moved by {start} positions: the scores change by {moved:.1g}, which is rounding. **Only the "
        f"distance counts**, and no position had to be added to a word. The slowest pair turns once in "
        f"{2 * torch.pi * base ** ((DIM - 2) / DIM):,.0f} positions."
    )
    return Shown(words, (chart,))


def answer_decay() -> Revealed:
    found = probe_encoding("rope", Setting(head_dim=32, heads=4, length=64, reach=256)).scores
    assert found is not None and found.equal.mean_ends and found.random.std_ends
    mean = [value for value in found.equal.mean if value is not None]
    rises = sum(after > before for before, after in pairwise(mean))
    q = contents(1, "peak")[0]
    key = turned(q[None], torch.tensor([40]))[0]  # turned ahead: at distance 40 it is the query
    peak = by_distance(q, key, 128, 0, 10_000.0)
    near, far = found.equal.mean_ends
    spread_near, spread_far = found.random.std_ends
    words = (
        f"For **equal** contents the mean score falls from {near:.2f} (near) to {far:.2f} (far), in waves: it rises "
        f"from one distance to the next {rises} times out of {len(mean) - 1}. For **independent** contents nothing "
        f"decays: the scores' spread is {spread_near:.2f} near and {spread_far:.2f} far. And a key can be chosen "
        f"whose score is highest at any distance one likes; this one peaks at **{int(peak.argmax())}**. RoPE does "
        "not forget what is far; it *can* look anywhere."
    )
    drawn: dict[str, Numbers] = {}
    drawn |= {"equal contents, mean": [value / mean[0] for value in mean[:128]], "a key made for distance 40": peak}
    chart = curves("Scores under RoPE", "distance", "score over the largest", drawn)
    return Revealed(1 if rises else 0, Shown(words, (chart,)))


def show_family(encoding: str) -> Shown:
    made = encoding_figures(encoding, Setting(head_dim=16, heads=4, length=32, reach=128))
    about = encodings.describe(encoding)
    words = f"`{encoding}` ({about['family']}): {about['words']} Past the trained length: *{about['extrapolation']}*."
    return Shown(" ".join([words, *made.remarks]), made.figures[:1])


def stored() -> Shown:
    recall, pattern = evidence.scores("s4-k-back", "fair"), evidence.scores("s4-shift", "fair", picture=False)
    words = f"{recall.sentence} On shifted patterns the order is another one: {pattern.sentence}"
    return Shown(words, recall.figures, (*recall.tables, *pattern.tables))


def check_rotate(rotate: Callable[[Tensor, Tensor], Tensor]) -> str:
    x = torch.randn(10, 8, generator=generator(5, "lesson", "check"))
    at = torch.arange(10)
    given = rotate(x.clone(), at)
    if not isinstance(given, Tensor) or given.shape != x.shape:
        return "rotate(x, positions) must return a tensor of the shape of x, (10, 8)."
    if not torch.allclose(given[0], x[0], atol=1e-5):
        return "At position 0 nothing turns: the first row must stay as it is."
    before, after = float(x[3].norm()), float(given[3].norm())
    if abs(before - after) > 1e-3:
        return (
            f"A rotation keeps lengths: row 3 had length {before:.3f} and has {after:.3f}. One of the two sines needs "
            "a minus: (x cos - y sin, x sin + y cos)."
        )
    same = x[:1].expand(10, -1)
    one, other = rotate(same, at), rotate(same, at + 7)
    scores, moved = one @ one.T, other @ other.T
    if not torch.allclose(scores, moved, atol=1e-3):
        return "Moving all tokens by 7 positions changed their scores: the angle must be proportional to the position."
    if torch.allclose(scores, scores[0, 0].expand_as(scores), atol=1e-3):
        return "All distances have the same score: nothing turns."
    turns, expected = sorted(_angles(rotate)), sorted(2 * [10_000 ** (-2 * k / 8) for k in range(4)])
    if any(abs(one - other) > 0.1 * other for one, other in zip(turns, expected, strict=True)):
        told = " and ".join(", ".join(f"{angle:.3g}" for angle in angles) for angles in (expected[::2], turns[::2]))
        return f"From position 0 to 1 the four pairs must turn by the first of these, yours turn by the second: {told}."
    return ""


def _angles(rotate: Callable[[Tensor, Tensor], Tensor]) -> list[float]:
    """By how much each channel turns from position 0 to position 1."""
    after = rotate(torch.eye(8, dtype=torch.float64), torch.ones(8, dtype=torch.long)).double()
    aside = (after - torch.diag(after.diagonal())).norm(dim=1)
    angles: list[float] = torch.atan2(aside, after.diagonal()).tolist()
    return angles


def check_cache(decode: Callable[[Tensor, Tensor, Callable[[Tensor, int], Tensor]], Tensor]) -> str:
    q, k = torch.randn(2, 6, DIM, generator=generator(6, "lesson", "check"))

    def rotate(x: Tensor, position: int) -> Tensor:
        return turned(x[None], torch.tensor([position]))[0]

    given = decode(q, k, rotate)
    at = torch.arange(6)
    right = (turned(q, at) @ turned(k, at).T).tril()
    if not isinstance(given, Tensor) or given.shape != (6, 6):
        return "decode must return the scores as a 6 x 6 tensor: a row for each step."
    if not torch.allclose(given.tril().diagonal(), right.diagonal(), atol=1e-4):
        return (
            f"A token's score with itself is at distance 0 and should be {right[2, 2]:.3f} in step 2, got "
            f"{given[2, 2]:.3f}: query and key of one step do not get the same position. Look at when the length of "
            f"the cache is read."
        )
    if not torch.allclose(given.tril(), right, atol=1e-4):
        row, column = divmod(int((given.tril() - right).abs().argmax()), 6)
        ours, full = given[row, column], right[row, column]
        return f"Step {row} scores the key of step {column} as {ours:.3f}, the full pass as {full:.3f}."
    return ""


DECODE = '''import torch


def decode(queries, keys, rotate):
    """Scores of every step, one token at a time; rotate(x, position) turns one vector."""
    cache, rows = [], []
    for q, k in zip(queries, keys):
        cache.append(rotate(k, len(cache)))
        q = rotate(q, {position})
        row = torch.stack(cache) @ q
        rows.append(torch.nn.functional.pad(row, (0, len(queries) - len(row))))
    return torch.stack(rows)
'''
ROTATE = """import torch


def rotate(x, positions):
    width = x.shape[1]
    theta = 10000 ** (-torch.arange(0, width, 2) / width)
    angle = positions[:, None] * theta
    one, two = x[:, : width // 2], x[:, width // 2 :]
    cos, sin = angle.cos(), angle.sin()
    return torch.cat((one * cos {sign} two * sin, one * sin + two * cos), dim=1)
"""

LESSON = Lesson(
    number=4,
    title="From adding to turning",
    question="What would you want of a position, and what follows if you insist on it?",
    goals=(
        "derive rotary embeddings from three wishes",
        "say what RoPE does with distance, and what it does not",
        "tell rotations, biases and content-dependent positions apart, and find an off-by-one in a cache",
    ),
    blocks=(
        Prose(
            "Three wishes. **The score of two tokens should depend on their distance**, not on where the two stand. "
            "**The word should stay a word**: nothing is added that could drown it. **Lengths should stay** as they "
            "are, so that a position makes nothing louder. What keeps lengths and is linear is a rotation; rotations "
            "of a plane by angles proportional to the position satisfy the first wish:\n\n"
            r"$$\langle R_{i\theta}\,q,\ R_{j\theta}\,k\rangle = \langle R_{(i-j)\theta}\,q,\ k\rangle$$"
            "\n\nSplit a query into pairs, turn each pair at its own speed, the same for the key: that is RoPE."
        ),
        Explore(
            "rope",
            "One query, two keys. Move both tokens along the text, and change the base.",
            (
                Slider("base", "Base", 100, 100_000, 10_000, 100),
                Slider("start", "Both moved by", 0, 500, 0, 50),
            ),
            show_rope,
        ),
        Predict(
            "decay",
            "A sentence on many pages: **RoPE decays with distance**, so far tokens get low scores. Does it?",
            ("yes, scores fall with distance", "on average for equal contents, in waves; not otherwise"),
            answer_decay,
        ),
        Prose(
            "**Biases** fulfil the first wish in another way: a number for each distance is added to the score "
            "(ALiBi: a straight line; T5: a learned step function). **Content** may decide too: in FoX each token "
            "says how much of the past to forget, in CoPE tokens are counted only where a gate opens."
        ),
        Explore(
            "family",
            "What the encoding does by distance.",
            (
                Picker(
                    "encoding",
                    "Encoding",
                    ("rope", "xpos", "pope", "alibi", "t5", "kerple", "sandwich", "fire", "cope", "fox"),
                    "alibi",
                ),
            ),
            show_family,
        ),
        Evidence("stored", "Which of these does a trained model carry further?", stored),
        Exercise(
            "rotate",
            "Write `rotate(x, positions)` for x [n, 8]: turn pair k by position * 10000**(-2k/8). Pairs are channels "
            "k and k + 4 (or 2k and 2k + 1).",
            "rotate",
            "import torch\n\n\ndef rotate(x, positions):\n    ...\n",
            check_rotate,
            solution=ROTATE.format(sign="-"),
            wrong=ROTATE.format(sign="+"),
            hint="One pair at position p: (x cos - y sin, x sin + y cos).",
        ),
        Exercise(
            "cache",
            "**Find the bug.** With a cache the model writes other words than without one.",
            "decode",
            DECODE.format(position="len(cache)"),
            check_cache,
            solution=DECODE.format(position="len(cache) - 1"),
            kind="debug",
            hint="How many keys are in the cache when the query is turned?",
        ),
    ),
    reading=(
        FurtherReading("Su et al. 2021", "2104.09864", "section 3.2 derives the rotation"),
        FurtherReading("Barbero et al. 2024", "2410.06205", "what trained models use each frequency for"),
        FurtherReading("Press et al. 2021", "2108.12409", "biases in place of encodings"),
        FurtherReading("Golovneva et al. 2024", "2405.18719", "positions that content decides"),
    ),
)
