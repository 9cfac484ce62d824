"""How often a comparison of equal encodings claims something: simulated, by its design."""

# Encodings and seeds of one task: the share of studies with a false claim where all encodings vary alike (the worst of
# four shapes), and where half of them fail in one seed of five and the others have the same mean. 1,000 studies each,
# by `by_design` of tests/statistics/simulate.py.
FALSE_CLAIMS: dict[tuple[int, int], tuple[float, float]] = {
    (2, 5): (0.027, 0.351),
    (2, 6): (0.033, 0.280),
    (2, 8): (0.034, 0.491),
    (2, 10): (0.033, 0.456),
    (2, 20): (0.028, 0.068),
    (3, 5): (0.019, 0.570),
    (3, 6): (0.037, 0.449),
    (3, 8): (0.039, 0.434),
    (3, 10): (0.041, 0.624),
    (3, 20): (0.028, 0.121),
    (4, 5): (0.029, 0.536),
    (4, 6): (0.026, 0.450),
    (4, 8): (0.037, 0.372),
    (4, 10): (0.038, 0.599),
    (4, 20): (0.040, 0.064),
    (6, 5): (0.028, 0.709),
    (6, 6): (0.027, 0.585),
    (6, 8): (0.054, 0.420),
    (6, 10): (0.050, 0.411),
    (6, 20): (0.030, 0.073),
    (8, 5): (0.072, 0.777),
    (8, 6): (0.033, 0.687),
    (8, 8): (0.056, 0.538),
    (8, 10): (0.053, 0.460),
    (8, 20): (0.029, 0.104),
    (12, 5): (0.128, 0.894),
    (12, 6): (0.037, 0.851),
    (12, 8): (0.041, 0.675),
    (12, 10): (0.052, 0.591),
    (12, 20): (0.038, 0.133),
}


def false_claims(encodings: int, seeds: int) -> tuple[int, int, float, float]:
    """The simulated design with the next larger number of encodings and no more seeds, with its two rates."""
    known = min((k for k, _ in FALSE_CLAIMS if k >= encodings), default=max(k for k, _ in FALSE_CLAIMS))
    most = max((n for _, n in FALSE_CLAIMS if n <= seeds), default=5)
    return known, most, *FALSE_CLAIMS[known, most]
