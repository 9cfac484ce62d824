"""Rotary position embedding without the lowest frequencies."""

import math
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.core.encoding import Encoding, Features, Heads, Paper, Shape, Side
from ordinate.core.errors import InputError
from ordinate.core.parameters import Param
from ordinate.core.positions import Positions
from ordinate.encodings._shared.rotation import Angles, Convention, angles, even_width, frequencies, spread, turn


class ClippedRope(Encoding):
    """RoPE with reduced low frequencies: pairs that do not complete a rotation within the trained length are slowed
    down, the slowest to frequency 0. Fewer angles past the trained length are then unseen in training. Implemented from
    the paper, which calls it CoPE; `cope` here is contextual position encoding."""

    family = "rotation"
    formula = (
        r"\theta_k \mapsto \theta_k\,\tfrac12\bigl(1+\cos\tfrac{\pi m}{M-1}\bigr)"
        r"\text{ for the } M \text{ pairs with } 2\pi/\theta_k > L,\ m = 0 \dots M-1"
    )
    paper = Paper(
        "CoPE: Clipped RoPE as A Scalable Free Lunch for Long Context LLMs",
        ("Haoran Li", "Sucheng Ren", "Alan Yuille", "Feng Wang"),
        2026,
        "2602.05258",
    )

    def __init__(
        self,
        shape: Shape,
        *,
        base: Annotated[float, Param("base of the wavelengths", low=1.01)] = 10_000.0,
        clipped: Annotated[
            int | None, Param("how many pairs; none: those slower than one rotation in the trained length", low=0)
        ] = None,
        taper: Annotated[Literal["hann", "hard"], Param("slowed down smoothly, or all stopped")] = "hann",
        pairs: Annotated[Convention, Param("channel k with k + d/2, or 2k with 2k + 1")] = "halves",
    ) -> None:
        even_width("clipped_rope", shape.head_dim, shape.dim, shape.heads)
        super().__init__(shape, shift_invariant=True, side_dependent=False, real_positions=True)
        count = shape.head_dim // 2
        if clipped is not None and clipped > count:
            raise InputError(f"clipped_rope cannot clip {clipped} pairs: a head of width {shape.head_dim} has {count}")
        slow = sum(2 * math.pi * base ** (2 * k / shape.head_dim) > shape.length for k in range(count))
        self.base, self.taper, self.pairs = base, taper, pairs
        self.clipped = slow if clipped is None else clipped

    def theta(self, device: torch.device) -> Float[Tensor, " pairs"]:
        """Frequency of every pair."""
        theta = frequencies(self.shape.head_dim, self.base, device)
        # from 0 to pi, as the paper's code: the first clipped pair is untouched, even if it is the only one
        phase = torch.linspace(0.0, math.pi, self.clipped, dtype=torch.float32, device=device)
        kept = 0.5 * (1 + phase.cos()) if self.taper == "hann" else torch.zeros_like(phase)
        return theta * torch.nn.functional.pad(kept, (len(theta) - self.clipped, 0), value=1.0)

    def prepare(self, positions: Positions) -> Angles:
        at = positions.values[..., 0]
        return spread(angles(self.theta(at.device), at).unsqueeze(1), self.pairs)

    def rotate(self, x: Heads, state: Angles, side: Side, features: Features | None = None) -> Heads:
        return turn(x, state, self.pairs)
