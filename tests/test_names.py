"""One name, one thing: class names are unique, file names do not differ by a letter, and spelling is American."""

import ast
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = sorted((ROOT / "src").rglob("*.py"))
BRITISH = re.compile(
    r"\b\w*(?:optimis|normalis|generalis|initialis|tokenis|summaris|randomis|regularis|colour|behaviour|neighbour|artefact"
    r"|favour|labell(?:ed|ing)|learnt\b|analys(?:e|ed|ing)\b|centre)\w*",
    re.IGNORECASE,
)


def test_a_class_name_belongs_to_one_class() -> None:
    """Private classes too: a reader searches for a name without its underscore."""
    names = Counter(
        node.name.lstrip("_")
        for path in SOURCE
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_module_names_in_a_folder_differ_by_more_than_a_letter() -> None:
    for folder in {path.parent for path in SOURCE if path.parent.name not in ("encodings", "tasks")}:
        stems = sorted(path.stem for path in folder.glob("*.py"))
        for one, two in combinations(stems, 2):
            assert not (two.startswith(one) and len(two) - len(one) <= 1), f"{folder.name}: {one} and {two}"


def test_spelling_is_american() -> None:
    pages = [*SOURCE, *(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]
    found = {path.name: words for path in pages if (words := set(BRITISH.findall(path.read_text())))}
    assert found == {}
