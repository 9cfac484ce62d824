"""Builds the documentation site into build/site: `make docs`, or `python docs/website.py [FOLDER]`, into FOLDER/site.

The pages are the Markdown files of this folder, README.md as the first one, CONTRIBUTING.md, CHANGELOG.md, the list of
lessons and the gallery of encodings. They are gathered in build/pages, where links between the repository's folders
become links between pages. A warning is an error.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import course
import gallery

DOCS = Path(__file__).parent
ROOT = DOCS.parent
OUTER = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\])\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def gather(build: Path) -> None:
    """Everything that the site is made of, in one folder."""
    pages, theme = build / "pages", build / "theme"
    for folder in (pages, theme):
        shutil.rmtree(folder, ignore_errors=True)
    pages.mkdir(parents=True)
    for source in (*DOCS.glob("*.md"), *(ROOT / name for name in OUTER)):
        text = page(source.read_text(encoding="utf-8"), source.parent)
        (pages / OUTER.get(source.name, source.name)).write_text(text, encoding="utf-8")
    for picture in (*DOCS.glob("*.svg"), *DOCS.glob("*.png"), DOCS / "theme" / "style.css"):
        shutil.copy(picture, pages)
    shutil.copytree(DOCS / "theme", theme)
    (pages / "lessons.md").write_text(course.page(), encoding="utf-8")
    families = gallery.write(pages / "encodings")
    settings = (DOCS / "zensical.toml").read_text(encoding="utf-8")
    (build / "zensical.toml").write_text(with_navigation(settings, pages, families), encoding="utf-8")


def page(text: str, folder: Path) -> str:
    """A page with its links as they are on the site: what lies outside it stays text."""
    parts, end = [], 0
    for block in FENCED.finditer(text):
        parts += [LINK.sub(lambda link: _link(link, folder), text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, LINK.sub(lambda link: _link(link, folder), text[end:])])


def _link(link: re.Match[str], folder: Path) -> str:
    words, target = link.groups()
    path, mark, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return link[0]
    file = (folder / path).resolve()
    if file.parent == DOCS:
        return f"{words}({file.name}{mark}{anchor})"
    if file.parent == ROOT and file.name in OUTER:
        return f"{words}({OUTER[file.name]}{mark}{anchor})"
    if not file.exists():
        raise SystemExit(f"a page in {folder.name} links to {target}, which does not exist")
    return words.strip("[]")


def with_navigation(settings: str, pages: Path, families: dict[str, list[str]]) -> str:
    """The settings with the encodings in the navigation, and without pages that have not been written."""
    lines = ['    "encodings/index.md",']
    for family, names in families.items():
        own = ", ".join(f'{{ "{name}" = "encodings/{name}.md" }}' for name in names)
        lines.append(f'    {{ "{family.capitalize()}" = [{own}] }},')
    listed = settings.replace("    # the gallery", "\n".join(lines)).replace("../src", str(ROOT / "src"))
    names = re.compile(r'^    \{ "[^"]+" = "([^"]+)" \},$')
    kept = (line for line in listed.splitlines() if not (at := names.match(line)) or (pages / at[1]).exists())
    return "\n".join(kept) + "\n"


def build(folder: Path) -> Path:
    """Gathers the pages, builds the site, and gives its folder."""
    gather(folder)
    shutil.rmtree(folder / "site", ignore_errors=True)
    program = Path(sys.executable).with_name("zensical")
    command = [program, "build", "--strict", "--clean", "--config-file", folder / "zensical.toml"]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"NO_COLOR": "1"}, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return folder / "site"


if __name__ == "__main__":
    print(build(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build") / "index.html")
