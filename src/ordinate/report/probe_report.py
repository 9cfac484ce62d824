"""A probe as a document: a page, its numbers, or its pictures as files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ordinate import __version__
from ordinate.core.errors import InputError, nearest
from ordinate.lm.probed_model import LanguageModelProbe, LanguageModelSubject
from ordinate.lm.probed_model import attention_maps as language_model_maps
from ordinate.lm.token_counts import write_tokens
from ordinate.probes.encoding_probe import SETTING, EncodingProbe
from ordinate.probes.run_probe import RunProbe
from ordinate.probes.transformers_probe import TransformersProbe, TransformersSubject, attention_maps
from ordinate.report.attention import all_heads, one_head
from ordinate.report.attention_example import AttentionExample, read_examples
from ordinate.report.chart import Figure, Heat, file_names
from ordinate.report.encoding_figures import encoding_figures
from ordinate.report.encoding_probe_words import Line, encoding_lines
from ordinate.report.model_probe_words import head_lines, model_lines, model_tables
from ordinate.report.output import put
from ordinate.report.probe_figures import encoding_probe_figures, model_probe_figures, run_probe_figures
from ordinate.report.run_probe_words import run_lines
from ordinate.report.table import Table, comma_separated

FORMATS = ("html", "json", "pdf", "png")
DRAWN = 64  # tokens of a picture of attention


@dataclass(frozen=True)
class ProbeReport:
    """What a probe found, in words, tables and pictures."""

    title: str
    lines: Sequence[Line]
    tables: Sequence[Table]
    draw: Callable[[], Sequence[Figure]]  # only a file has pictures

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """Each with a name that a file can have."""
        drawn = self.draw()
        names = file_names(figure.name for figure in drawn)
        return tuple(replace(figure, name=names[figure.name]) for figure in drawn)


def encoding_report(probe: EncodingProbe) -> ProbeReport:
    """With the pictures of `ordinate show` and the app."""

    def draw() -> Sequence[Figure]:
        shown = encoding_figures(probe.encoding, replace(SETTING, reach=probe.reach)).figures
        return (*encoding_probe_figures(probe), *shown)

    title = f"{probe.encoding}: {probe.dim} channels, trained length {probe.length}, {probe.reach} positions measured"
    return ProbeReport(title, encoding_lines(probe), (), draw)


def run_report(probe: RunProbe, folder: Path) -> ProbeReport:
    """With the attention maps that the run in this folder kept."""

    def draw() -> Sequence[Figure]:
        return (*run_probe_figures(probe), *_kept_maps(probe, folder))

    title = f"{probe.task} with {probe.encoding}, seed {probe.seed} (run {probe.run})"
    if len(probe.heads) == 1 < len(probe.attention[probe.length]):  # one head was asked for
        return ProbeReport(title, head_lines(probe), (), draw)
    return ProbeReport(title, run_lines(probe), model_tables(probe), draw)


def language_model_report(probe: LanguageModelProbe, subject: LanguageModelSubject) -> ProbeReport:
    """With its attention on the start of a document."""

    def draw() -> Sequence[Figure]:
        maps = tuple(weights.float().numpy() for weights in language_model_maps(subject, DRAWN))
        return (*run_probe_figures(probe), *_heats(AttentionExample(maps, causal=subject.model.config.causal)))

    trained = f"{probe.size} with {probe.encoding}, seed {probe.seed}, {write_tokens(probe.tokens)} tokens"
    title = f"{probe.name}: {trained}; {probe.sequences} sequences of {probe.length} tokens of validation text"
    remark: list[Line] = [("Mind", probe.remark)] if probe.remark else []
    if len(probe.heads) == 1 < len(probe.attention[probe.length]):  # one head was asked for
        return ProbeReport(title, [*remark, *head_lines(probe)], (), draw)
    return ProbeReport(title, [*remark, *run_lines(probe)], model_tables(probe), draw)


def transformers_report(probe: TransformersProbe, subject: TransformersSubject) -> ProbeReport:
    """Of a model that was trained elsewhere, with its attention on one sequence."""

    def draw() -> Sequence[Figure]:
        maps = tuple(weights.float().numpy() for weights in attention_maps(subject))
        return (*model_probe_figures(probe), *_heats(AttentionExample(maps)))

    title = f"{probe.architecture} in {probe.folder}, on {probe.tokens}"
    return ProbeReport(title, model_lines(probe), model_tables(probe), draw)


def _kept_maps(probe: RunProbe, folder: Path) -> list[Heat]:
    """The first kept example; none if the sequences were too long to keep any."""
    path = folder / "attention.safetensors"
    return _heats(read_examples(path, probe.task)[0]) if path.exists() else []


def _heats(example: AttentionExample) -> list[Heat]:
    large = one_head(example, example.heads[0], "attention", "Attention on one example")
    return [large, all_heads(example, "heads", "Attention on one example, all heads")]


def known_format(path: Path) -> str:
    """The format that a file's name ends in, if a probe can be written so."""
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        raise InputError(f"-o {path} must end in .{', .'.join(FORMATS)}: {nearest(suffix, FORMATS)}")
    return suffix


def write_report(report: ProbeReport, content: str, path: Path) -> list[Path]:
    """The page, the numbers (`content`, as JSON), or one file per picture, named after it. Returns what was written."""
    form = known_format(path)
    if form in ("html", "json"):
        put(path, page(report) if form == "html" else content)
        return [path]
    from ordinate.report.draw_matplotlib import save

    written = []
    for figure in report.figures:
        written.append(path.with_name(f"{path.stem}-{figure.name}.{form}"))
        put(written[-1], save(figure)[form])
    return written


def page(report: ProbeReport) -> str:
    """One HTML file that needs no network."""
    from markupsafe import Markup

    from ordinate.report.draw_plotly import SETTINGS, draw, height
    from ordinate.report.html import environment, for_script, page_part, plotly_script

    behind: dict[str, Any] = {
        "settings": SETTINGS,
        "figures": [{"name": figure.name, **draw(figure)} for figure in report.figures],
        "tables": {table.name: comma_separated(table) for table in report.tables},
    }
    document: str = (
        environment()
        .from_string(page_part("probe.html.jinja"))
        .render(
            title=report.title, lines=report.lines, version=__version__,
            tables=[(table, list(table.texts(str, "{}"))) for table in report.tables],
            figures=[(index, figure, height(figure)) for index, figure in enumerate(report.figures)],
            style=Markup(page_part("style.css")), script=Markup(page_part("page.js")), plotly=Markup(plotly_script()),
            data=Markup(for_script(behind)),
        )
    )  # fmt: skip
    return document.lstrip()
