"""What evaluations of language models say, in sentences."""

from collections.abc import Sequence

from ordinate.report.lm_tables import reach_words
from ordinate.results.lm_evaluation import LanguageModelEvaluation
from ordinate.statistics.document_losses import difference


def remarks(found: LanguageModelEvaluation) -> list[str]:
    """What was found for one checkpoint, the most important first."""
    lines = [found.remark] if found.remark else []
    lines += [line for line in (_past(found), *_scalings(found), _key_tokens(found), _copying(found)) if line]
    lines += _limits(found)
    return lines


def _past(found: LanguageModelEvaluation) -> str:
    """What happens to the loss past the trained length."""
    reach, at = found.reach() if found.contexts else None, found.by_context("same targets")
    if reach is None:
        return ""
    refused = next((row.reason for row in found.contexts if row.reason and row.context > found.length), "")
    longest = max(at)
    if longest == found.length:
        return f"Past {found.length:,} tokens there is no loss: {refused}." if refused else ""
    gap = difference(at[longest], at[found.length])
    change = "changes by" if gap.low is None or gap.high is None or gap.low <= 0 <= gap.high else (
        "rises by" if gap.mean > 0 else "falls by")  # fmt: skip
    error = "" if gap.low is None else f" (95 % {gap.low:+.3f} to {gap.high:+.3f})"
    words = (
        f"On the same {at[longest].total_tokens:,} tokens of {at[longest].documents} documents, the loss is no worse "
        f"than at the trained length {found.length:,} up to {reach_words(reach)}; at {longest / found.length:g}x it "
        f"{change} {gap.mean:+.3f}{error} nats per token"
    )
    return f"{words}. Longer contexts are n/a: {refused}." if refused else f"{words}."


def _scalings(found: LanguageModelEvaluation) -> list[str]:
    """Each scaling against the model as trained, at the longest context."""
    lines, plain = [], found.by_context("same targets")
    for scaling in dict.fromkeys(row.scaling for row in found.contexts if row.scaling):
        at = found.by_context("same targets", scaling)
        if longest := max((context for context in at if context in plain), default=0):
            gap = difference(at[longest], plain[longest])
            lines.append(
                f"With {scaling} scaling switched on after training, the loss at {longest / found.length:g}x differs "
                f"by {gap.mean:+.3f} nats per token from that without; reach is {reach_words(found.reach(scaling))}."
            )
    return lines


def _key_tokens(found: LanguageModelEvaluation) -> str:
    at, everything = found.by_context("key tokens"), found.by_context("same targets")
    key = at.get(found.length)
    if key is None or not key.total_tokens:
        return ""
    longest, share = max(at), key.total_tokens / everything[found.length].total_tokens
    if longest == found.length:
        return ""
    return (
        f"The {share:.1%} of these tokens that need the context most have a loss of {key.per_token:.2f} at the trained "
        f"length and of {at[longest].per_token:.2f} at {longest / found.length:g}x."
    )


def _copying(found: LanguageModelEvaluation) -> str:
    """Whether repeated random tokens are predicted better the second time."""
    saved = [
        (row.period, row.first.per_token - row.second.per_token)
        for row in found.induction
        if row.first is not None and row.second is not None
    ]
    if not saved:
        return ""
    period, most = max(saved, key=lambda pair: pair[1])
    if most < 1:
        return f"Random tokens cost at most {most:.2f} nats less the second time: the model hardly copies by matching."
    least_period, least = min(saved, key=lambda pair: pair[1])
    return (
        f"Random tokens cost {most:.2f} nats less the second time at a distance of {period:,}, "
        f"and {least:.2f} less at {least_period:,}."
    )


def _limits(found: LanguageModelEvaluation) -> list[str]:
    """What the numbers do not say."""
    lines = [f"Past the trained length: {found.past_range}."] if found.contexts else []
    if found.problems or found.passkey:
        trained = (
            f"{found.mix:.0%} of its training sequences were" if found.mix else "none of its training sequences was"
        )
        lines.append(f"Algorithmic problems: {trained} of this kind.")
    if found.contexts:
        lines.append(
            f"{found.long_documents} of {found.documents} validation documents have the {found.long_tokens:,} tokens "
            "that the longest context needs; intervals are over documents, not over training seeds."
        )
    return lines


def comparison(evaluations: Sequence[LanguageModelEvaluation]) -> list[str]:
    """The checkpoint with the lowest loss against each other one of another encoding, on the same tokens."""
    known = [(found, found.overall) for found in evaluations if found.overall is not None]
    if len(known) < 2 or len({(e.corpus, losses.tokens) for e, losses in known}) > 1:
        return []
    known.sort(key=lambda pair: pair[1].per_token)
    (best, losses), *others = known
    lines = []
    for found, theirs in others:
        if found.encoding == best.encoding and found.seed != best.seed:
            continue
        gap = difference(theirs, losses)
        sure = gap.low is not None and gap.low > 0
        interval = "" if gap.low is None else f" (95 % over documents: {gap.low:.3f} to {gap.high:.3f})"
        lines.append(
            f"At the trained length {best.name} has {abs(gap.mean):.3f} nats per token less loss than {found.name}"
            f"{interval}{'' if sure else ': no difference is shown'}."
        )
    reaching = [(reach.context / e.length, e) for e, _ in known if (reach := e.reach()) is not None]
    if reaching:
        _, who = max(reaching, key=lambda pair: pair[0])
        lines.append(f"{who.name} holds furthest past its trained length: {reach_words(who.reach())}.")
    if len({found.encoding for found, _ in known}) == len(known):
        lines.append("One training seed each: differences between encodings need several seeds.")
    else:
        lines.append("These are single checkpoints: `ordinate lm compare` tests encodings over their seeds.")
    return lines
