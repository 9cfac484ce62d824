"""Draws the hooks of an encoding in the order in which a model calls them: `python docs/hooks.py`."""

import inspect
import textwrap
from html import escape
from pathlib import Path

from ordinate.core.encoding import Encoding

PICTURE = Path(__file__).with_name("hooks.svg")
WIDTH, MARGIN, LINE = 860, 20, 19
LETTERS = 112  # of a sentence, per line

# What the model itself does, before the hook that comes next.
MODEL = {
    "relabel": "positions arrive",
    "embed": "tokens are looked up",
    "features": "each layer: its input is normed, and projected to queries, keys and values",
    "relative_bias": "biases by position are worked out; they join the scores before the softmax",
    "qk_scores": "queries meet keys; a fused kernel does this and all below, unless an encoding has one of these hooks",
    "weighted_values": "what may not be seen is masked; softmax",
}

STYLE = """
  .page { fill: #ffffff; } .hook { fill: #f3f6fb; stroke: #9db4d8; } .line { stroke: #7d8590; }
  text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2328; }
  .name { font-family: ui-monospace, monospace; font-size: 14px; font-weight: 600; fill: #0b4fb3; }
  .model { font-style: italic; fill: #57606a; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } .hook { fill: #161f2e; stroke: #3c5680; } .line { stroke: #8b949e; }
    text { fill: #e6edf3; } .name { fill: #79b8ff; } .model { fill: #a3adb8; }
  }
"""


def hooks() -> dict[str, tuple[str, str]]:
    """Every hook with its arguments and the first sentence of its docstring, in the order of the protocol."""
    names = list(vars(Encoding))
    found = {}
    for name in names[names.index("relabel") : names.index("weighted_values") + 1]:
        arguments = list(inspect.signature(getattr(Encoding, name)).parameters)[1:]
        if arguments:  # those without only tell about others
            words = " ".join((inspect.getdoc(getattr(Encoding, name)) or "").split())
            found[name] = (", ".join(arguments), words.partition(". ")[0].rstrip(".") + ".")
    return found


def draw() -> str:
    """The picture."""
    parts, y = [], MARGIN
    for name, (arguments, words) in hooks().items():
        if name in MODEL:
            parts.append(f'<text class="model" x="{MARGIN}" y="{y + 14}">{escape(MODEL[name])}</text>')
            y += 26
        lines = textwrap.wrap(words, LETTERS)
        height = 30 + LINE * len(lines)
        parts.append(f'<rect class="hook" x="{MARGIN}" y="{y}" width="{WIDTH - 2 * MARGIN}" height="{height}" rx="6"/>')
        parts.append(f'<text class="name" x="{MARGIN + 14}" y="{y + 21}">{name}({arguments})</text>')
        for number, line in enumerate(lines):
            parts.append(f'<text x="{MARGIN + 14}" y="{y + 22 + LINE * (number + 1)}">{escape(line)}</text>')
        y += height + 14
        middle = WIDTH // 2
        if name != "weighted_values":
            parts.append(f'<path class="line" d="M{middle} {y - 14} v10 m-4 -4 l4 4 l4 -4" fill="none"/>')
    label = "The hooks of an encoding in their order: " + ", ".join(hooks())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 6}" role="img" aria-label="{label}">'
    page = f'<rect class="page" width="{WIDTH}" height="{y + 6}" rx="8"/>'
    return "\n".join((head, f"<style>{STYLE}</style>", page, *parts, "</svg>")) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw())
