"""Rotary position embedding with clipped distances."""

from typing import Annotated

from ordinate.core.encoding import Encoding, Features, Keys, Paper, Queries, Scores, Shape, upcast
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext
from ordinate.encodings._shared.rotation import Convention, even_width, windowed_scores


class Rerope(Encoding):
    """RoPE with clipped distances: every token outside a window is treated as if it were at the window's edge, so that
    no distance exceeds the trained ones. Meant for a model trained with RoPE; implemented from the author's notes.
    Scores are computed twice, in bidirectional models three times."""

    family = "rotation"
    formula = r"q_i^\top R_{r'}\, k_j,\quad r' = r \text{ if } |r| < w,\text{ else } \pm(w + (|r|-w)\,\ell),\ r=i-j"
    paper = Paper("Rectified Rotary Position Embeddings", ("Jianlin Su",), 2023)

    def __init__(
        self,
        shape: Shape,
        *,
        window: Annotated[
            int | None, Param("distance from which on all are alike; none: half the trained length", low=1)
        ] = None,
        leak: Annotated[
            float, Param("what a step counts past the window: 0 nothing, 1 as in RoPE", low=0.0, high=1.0)
        ] = 0.0,
        base: Annotated[float, Param("base of the wavelengths", low=1.01)] = 10_000.0,
        pairs: Annotated[Convention, Param("channel k with k + d/2, or 2k with 2k + 1")] = "halves",
    ) -> None:
        even_width("rerope", shape.head_dim, shape.dim, shape.heads)
        super().__init__(
            shape, extrapolation="extends" if leak else "clips", shift_invariant=True, side_dependent=False,
            real_positions=True,
        )  # fmt: skip
        self.window, self.leak, self.base, self.pairs = window or max(shape.length // 2, 1), leak, base, pairs

    def qk_scores(self, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None) -> Scores:
        far = self.leak * upcast(context.q.values[..., 0]), self.leak * upcast(context.k.values[..., 0])
        edge = (1 - self.leak) * self.window
        return windowed_scores(q, k, context, far, window=self.window, edge=edge, base=self.base, convention=self.pairs)
