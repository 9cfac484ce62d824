"""The words of a report, each explained where it stands: one list, which the page and the documents share."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Term:
    """`forms` are regular expressions of what stands for it in a text."""

    name: str
    meaning: str
    forms: tuple[str, ...]

    @property
    def anchor(self) -> str:
        return "word-" + re.sub(r"\W+", "-", self.name)


TERMS = (
    Term("bar", "The score at which a task counts as learned or solved: 0.95 unless the task has its own.", ("bar",)),
    Term(
        "learned",
        "A seed learned the task if its final score in distribution is at or above the bar.",
        ("learned (?:the task|it|by)", "did not learn (?:the task|it)", "Learned(?=:| in more)"),
    ),
    Term(
        "reach",
        "How far an encoding holds: the length at which a seed's score first falls below the bar, interpolated between "
        "tested lengths, in multiples of the longest trained length; the median over the seeds that learned the task.",
        ("reach", "holds? to"),
    ),
    Term(
        "1x, 2x, ...",
        "Lengths in multiples of the longest trained length: 2x is twice as long as any sequence in training.",
        (r"\d+(?:\.\d+)?x\+?",),
    ),
    Term(
        "in distribution (ID)",
        "New problems of the lengths that training had.",
        ("in distribution", "ID length"),
    ),
    Term(
        "out of distribution (OOD)",
        "Problems that are longer than any in training.",
        ("out of distribution", "OOD length"),
    ),
    Term(
        "shifted",
        "Problems of a trained length at positions that training never showed.",
        ("shifted length",),
    ),
    Term(
        "headline range",
        "Where scores of encodings are tested against each other: the length of 2x, declared before the first run. "
        "Other lengths are described, not tested.",
        ("headline range", "headline ranges?"),
    ),
    Term(
        "area",
        "The second declared endpoint: the area under a seed's scores over the logarithm of the length, from the "
        "trained to the longest tested length, divided by its width, so that it reads as a mean score.",
        ("areas?(?! around)", r"over 1x to \d[\d.]*x"),
    ),
    Term(
        "gate",
        "A seed that did not learn the task is not ranked at longer lengths; its scores are shown, and in tests it "
        "counts as the floor there.",
        ("gate",),
    ),
    Term(
        "not ranked",
        "The mean of seeds that did not learn the task: shown, but in no rank and in no mean of those that did.",
        ("not ranked",),
    ),
    Term("solves", "Every seed is at or above the bar there.", ("solves?",)),
    Term("partial", "Above what can be scored without order, below the bar.", ("partial",)),
    Term("fits", "Learned in distribution, and at the floor there.", ("fits?(?=[ ,;]|$)(?<!did not fit)",)),
    Term("did not fit", "Below the bar in distribution; the number is the score there.", ("did not fit",)),
    Term("out of range", "The encoding cannot take a position that far.", ("out of range",)),
    Term("chance", "The score of the best answer that looks at nothing.", ("chance",)),
    Term(
        "floor",
        "The best score that is possible without order: the largest of chance, the most frequent answer, the answer "
        "from the position alone and, where order matters, from the counts of tokens.",
        ("floor",),
    ),
    Term(
        "seed",
        "One training run of an encoding: its data and its starting weights. All encodings have the same seeds.",
        ("seeds?",),
    ),
    Term("95 % interval", "The range in which the mean over many more seeds probably lies.", ("95 % intervals?",)),
    Term(
        "p",
        "How often a difference this large would be seen between two equal encodings, after Holm's correction.",
        (r"p(?= <| \d)", "p, corrected"),
    ),
    Term(
        "Holm's correction",
        "Many tests find differences by chance. Holm's method raises each p so that the risk of any false claim in the "
        "whole comparison stays at 5 %.",
        ("Holm",),
    ),
    Term(
        "probability of improvement",
        "How often a random seed of the one encoding beats a random seed of the other; ties count half.",
        ("probability of improvement",),
    ),
    Term(
        "not told apart",
        "The test found no difference. That is no evidence that there is none.",
        ("not told apart",),
    ),
    Term(
        "generalization gap",
        "What the score loses from in distribution to the headline range.",
        ("generalization gap",),
    ),
    Term(
        "pilot seed",
        "The seed on which learning rates are tried; its scores are never reported.",
        ("pilot seed",),
    ),
    Term(
        "critical difference",
        "Average ranks that are closer than this are not significantly different (Nemenyi's test).",
        ("critical difference", "Nemenyi"),
    ),
)  # fmt: skip


@cache
def _pattern() -> re.Pattern[str]:
    """All forms, the longest first, each as a group of its own."""
    forms = sorted(
        ((form, number) for number, term in enumerate(TERMS) for form in term.forms), key=lambda f: -len(f[0])
    )
    return re.compile(
        "|".join(rf"(?P<t{number}_{at}>(?<![\w-]){form}(?![\w-]))" for at, (form, number) in enumerate(forms))
    )


def _found(text: str) -> Iterator[tuple[re.Match[str], Term]]:
    for match in _pattern().finditer(text):
        assert match.lastgroup is not None
        yield match, TERMS[int(match.lastgroup[1:].split("_")[0])]


def used(texts: Iterable[str]) -> list[Term]:
    """The terms that occur, in the order of the list."""
    names = {term.name for text in texts for _, term in _found(text)}
    return [term for term in TERMS if term.name in names]


def marked(text: str, seen: set[str]) -> str:
    """HTML with the first occurrence of each term, unless it was `seen` before, explained on hover and linked."""
    parts, end = [], 0
    for match, term in _found(text):
        if term.name in seen:
            continue
        seen.add(term.name)
        link = f'<a class="term" href="#{term.anchor}" title="{html.escape(term.meaning)}">{html.escape(match[0])}</a>'
        parts += [html.escape(text[end : match.start()]), link]
        end = match.end()
    return "".join([*parts, html.escape(text[end:])])
