"""What every encoding costs: `ordinate bench --json > docs/cost.json`, then `python docs/cost.py`.

Writes COST.md from cost.json alone.
"""

import json
from pathlib import Path

from ordinate.report.overhead import markdown

HERE = Path(__file__).parent
MEASURED, PAGE = HERE / "cost.json", HERE / "COST.md"

HEAD = """# Cost

What an encoding costs beside `none`, on one machine; on yours, `ordinate bench` says it. *parameters*: trained by the
encoding itself in the whole model; *per layer*: of those, what every further layer adds. *path*: how attention was
computed. `fused` and `gap` never hold the scores, `explicit` does, `blocks` holds some at a time: encodings that look
at content must, and that is most of their cost. A ratio within a few hundredths of 1 is noise. A dash:
not measured.

Written by `python docs/cost.py` from `cost.json`; a test checks that both agree.

"""


def page() -> str:
    """The document, from what was measured."""
    return HEAD + markdown(json.loads(MEASURED.read_text()))


if __name__ == "__main__":
    PAGE.write_text(page())
