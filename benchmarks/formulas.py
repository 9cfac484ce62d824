"""Formulas of papers in float64, written down once more, to hold implementations against."""

import math

import torch
from torch import Tensor


def sinusoidal(length: int, width: int) -> Tensor:
    """Vaswani 2017, section 3.5: sine and cosine in turns, [n, d]."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :width]


def rope(x: Tensor, *, halves: bool = False, theta: Tensor | None = None) -> Tensor:
    """Su 2021: pair k turned by position * 10000^(-2k/d), as a product of complex numbers."""
    x, width = x.double(), x.shape[-1]
    if theta is None:
        theta = 10000 ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    pairs = torch.complex(*x.chunk(2, dim=-1)) if halves else torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * theta
    turned = pairs * torch.polar(torch.ones_like(angle), angle)
    return torch.cat((turned.real, turned.imag), dim=-1) if halves else torch.view_as_real(turned).flatten(-2)


def yarn(width: int, factor: float, original: int) -> tuple[Tensor, float]:
    """Peng 2023: frequencies between those of RoPE and those of interpolation, and the factor on cosine and sine."""
    context = torch.arange(width // 2, dtype=torch.float64)
    theta = 10000 ** (-2 * context / width)
    low, high = (width * math.log(original / (2 * math.pi * turns)) / (2 * math.log(10000)) for turns in (32, 1))
    low, high = max(math.floor(low), 0), min(math.ceil(high), width - 1)
    ramp = ((context - low) / (high - low)).clamp(0, 1)
    return theta / factor * ramp + theta * (1 - ramp), 0.1 * math.log(factor) + 1


def xpos_scores(q: Tensor, k: Tensor) -> Tensor:
    """Sun 2022: RoPE, and every pair's product times zeta_k^((i - j) / 512), zeta_k = (2k/d + 0.4) / 1.4."""
    q, k, width = rope(q), rope(k), q.shape[-1]
    zeta = ((torch.arange(0, width, 2, dtype=torch.float64) / width + 0.4) / 1.4).repeat_interleave(2)
    exponent = torch.arange(q.shape[-2], dtype=torch.float64)[:, None] / 512
    return (q * zeta**exponent) @ (k * zeta**-exponent).mT


def pope_scores(q: Tensor, k: Tensor) -> Tensor:
    """Gopalakrishnan 2025, with its learned phases at zero: sum of softplus(q) softplus(k) cos((i - j) theta)."""
    q, k, width = torch.nn.functional.softplus(q.double()), torch.nn.functional.softplus(k.double()), q.shape[-1]
    theta = 10000 ** -(torch.arange(width, dtype=torch.float64) / width)
    at = torch.arange(q.shape[-2], dtype=torch.float64)
    wave = ((at[None, :] - at[:, None])[..., None] * theta).cos()
    return torch.einsum("bhid,bhjd,ijd->bhij", q, k, wave)


def alibi(heads: int, length: int) -> Tensor:
    """Press 2021 and its official code: slopes times minus the distance, for the last query, [h, n]."""

    def slopes(count: int) -> list[float]:
        return [2.0 ** (-8.0 * (h + 1) / count) for h in range(count)]

    lower = 2 ** math.floor(math.log2(heads))
    chosen = slopes(lower) + slopes(2 * lower)[0::2][: heads - lower]
    distance = torch.arange(length - 1, -1, -1, dtype=torch.float64)
    return -torch.tensor(chosen, dtype=torch.float64)[:, None] * distance


def t5_buckets(distance: int, buckets: int = 32, farthest: int = 128) -> int:
    """Raffel 2019, causal: half of the buckets exact, the others logarithmic."""
    exact = buckets // 2
    if distance < exact:
        return distance
    share = math.log(distance / exact) / math.log(farthest / exact)
    return min(exact + int(share * (buckets - exact)), buckets - 1)


def sandwich(heads: int, length: int, width: int = 128) -> Tensor:
    """As attn-gym's own text states it: sum of cosines over the head's ratio, for the last query, [h, n]."""
    distance = torch.arange(length - 1, -1, -1, dtype=torch.float64)
    theta = 10000 ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    ratio = 8 * torch.arange(1, heads + 1, dtype=torch.float64) / heads
    return (distance[:, None] * theta).cos().sum(dim=-1) / ratio[:, None]


def forgetting(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Lin 2025: the sum of log sigmoid(w x_s + b) over s = j + 1 .. i, [b, h, n, n], below the diagonal."""
    gates = torch.nn.functional.logsigmoid(x.double() @ weight.double().T + bias.double()).transpose(1, 2)
    length, scores = x.shape[1], torch.zeros(len(x), len(weight), x.shape[1], x.shape[1], dtype=torch.float64)
    for i in range(length):
        for j in range(i):
            scores[:, :, i, j] = gates[:, :, j + 1 : i + 1].sum(dim=-1)
    return scores


def contextual(q: Tensor, scores: Tensor, table: Tensor) -> Tensor:
    """Golovneva 2024: what is added to masked scores [b, h, n, n], below the diagonal and on it."""
    q, table = q.double(), table.double()
    gates, last = scores.double().sigmoid(), len(table) - 1
    added = torch.zeros_like(gates)
    for i in range(scores.shape[-2]):
        for j in range(i + 1):
            count = gates[..., i, j : i + 1].sum(dim=-1).clamp(max=last)
            low, high = count.floor().long(), count.ceil().long()
            part = (count - low).unsqueeze(-1)
            added[..., i, j] = (q[..., i, :] * (table[low] * (1 - part) + table[high] * part)).sum(dim=-1)
    return added
