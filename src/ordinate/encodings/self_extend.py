"""Rotary position embedding that groups distant tokens."""

from typing import Annotated

from ordinate.core.encoding import Encoding, Features, Keys, Paper, Queries, Scores, Shape
from ordinate.core.parameters import Param
from ordinate.core.positions import AttentionContext
from ordinate.encodings._shared.rotation import Convention, even_width, windowed_scores


class SelfExtend(Encoding):
    """RoPE for near tokens; distant tokens share one position per group, which maps long distances to trained ones.
    Meant for a model trained with RoPE; implemented from the paper. With the default values, four times the trained
    length fits. Scores are computed twice, in bidirectional models three times."""

    family = "rotation"
    formula = (
        r"q_i^\top R_{r}\, k_j,\quad r = i-j \text{ if } i-j < w,"
        r"\text{ else } \lfloor i/G\rfloor - \lfloor j/G\rfloor + w - \lfloor w/G\rfloor"
    )
    paper = Paper(
        "LLM Maybe LongLM: Self-Extend LLM Context Window Without Tuning",
        ("Hongye Jin", "Xiaotian Han", "Jingfeng Yang", "Zhimeng Jiang", "Zirui Liu", "Chia-Yuan Chang",
         "Huiyuan Chen", "Xia Hu"),
        2024, "2401.01325",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        *,
        group: Annotated[int, Param("far tokens that share a position", low=1)] = 5,
        window: Annotated[
            int | None, Param("distance from which on tokens are grouped; none: a quarter of the trained length", low=1)
        ] = None,
        base: Annotated[float, Param("base of the wavelengths", low=1.01)] = 10_000.0,
        pairs: Annotated[Convention, Param("channel k with k + d/2, or 2k with 2k + 1")] = "halves",
    ) -> None:
        even_width("self_extend", shape.head_dim, shape.dim, shape.heads)
        super().__init__(shape, extrapolation="extends", shift_invariant=group == 1, side_dependent=False)
        self.group, self.window, self.base, self.pairs = group, window or max(shape.length // 4, 1), base, pairs

    def qk_scores(self, q: Queries, k: Keys, context: AttentionContext, features: Features | None = None) -> Scores:
        far = context.q.values[..., 0] // self.group, context.k.values[..., 0] // self.group
        edge = self.window - self.window // self.group  # groups go on where single tokens end
        return windowed_scores(q, k, context, far, window=self.window, edge=edge, base=self.base, convention=self.pairs)
