"""`ordinate analyze` as a user meets it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ordinate import InputError
from ordinate.cli import app
from ordinate.statistics import results_file
from ordinate.statistics.results_file import read_results

HEADER = "encoding,task,seed,length,split,score"


def rows(seeds: int = 6, better: float = 0.99) -> list[str]:
    return [
        f"{encoding},copy,{seed},{length},{split},{score}"
        for encoding, far in (("turns", better), ("table", 0.3))
        for seed in range(seeds)
        for length, split, score in ((8, "id", 1.0), (16, "ood", far))
    ]


def put(folder: Path, lines: list[str], header: str = HEADER) -> Path:
    path = folder / "results.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def limits(path: Path) -> str:
    return "\n".join(read_results(path).limits)


def test_a_table_and_a_verdict_without_torch(tmp_path: Path) -> None:
    path = put(tmp_path, rows())
    code = "import sys; from ordinate.cli import main; sys.argv = ['ordinate', 'analyze', sys.argv[1]]\n"
    code += "try: main()\nexcept SystemExit: pass\nassert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    text = " ".join(done.stdout.split())
    assert "Use turns: above table at OOD length 16 (2x) (mean " in text
    assert "turns holds to at least 2x; table to 1." in text
    assert "turns over table (mean difference 0.690, 6 seeds each, p " in text
    assert "6 seeds that all agree leave a failure rate of up to 39 % unseen." in text
    assert "Limit: no column chance" in done.stdout


def test_json_is_one_document(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["analyze", str(put(tmp_path, rows())), "--json"])
    (task,) = json.loads(done.stdout)["tasks"]
    assert [(pair["basis"], pair["claim"]) for pair in task["pairs"]] == [("learning", False), ("scores", True)]
    assert task["ranges"][1]["cells"][0]["interval"]["mean"] == pytest.approx(0.99)
    assert task["reach"]["turns"]["median"] == 2.0 and task["sentences"][0].startswith("Use turns")


@pytest.mark.parametrize("form", ["html", "md", "csv", "tex", "json"])
def test_a_report_from_a_file_alone(tmp_path: Path, form: str) -> None:
    """In the requested format, else in that of the file name."""
    path = put(tmp_path, rows())
    for name, options in ((f"a.{form}", []), ("b", ["--format", form])):
        done = CliRunner().invoke(app, ["analyze", str(path), "-o", str(tmp_path / name), *options])
        assert done.exit_code == 0 and done.stdout == f"{tmp_path / name}\n"
    text = (tmp_path / "b").read_text()
    assert text == (tmp_path / f"a.{form}").read_text() and "turns" in text and text.count("table") > 1
    shown = CliRunner().invoke(app, ["analyze", str(path), "-o", "-", "--format", form])
    assert shown.stdout == text
    if form == "html":
        words = re.sub("<[^>]*>", "", text)  # terms are linked to the glossary
        assert "Use turns: above table at OOD length 16 (2x)" in words
        assert 'id="sweep"' not in text and 'id="pairs"' in text


def test_a_report_is_written_through_what_is_no_regular_file(tmp_path: Path) -> None:
    """A link stays a link, and a device a device."""
    path = put(tmp_path, rows())
    (tmp_path / "link.md").symlink_to(tmp_path / "target.md")
    assert CliRunner().invoke(app, ["analyze", str(path), "-o", str(tmp_path / "link.md")]).exit_code == 0
    assert (tmp_path / "link.md").is_symlink() and "turns" in (tmp_path / "target.md").read_text()
    assert CliRunner().invoke(app, ["analyze", str(path), "-o", "/dev/null"]).exit_code == 0
    assert Path("/dev/null").is_char_device()
    pipe = tmp_path / "pipe.md"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        CliRunner().invoke(app, ["analyze", str(path), "-o", str(pipe)])
        assert reader.stdout is not None and "turns" in reader.stdout.read()
    assert pipe.is_fifo()


def test_results_are_not_written_over(tmp_path: Path) -> None:
    """Nor through standard input, or by another name."""
    path = put(tmp_path, rows())
    before = path.read_bytes()
    os.link(path, tmp_path / "other.csv")
    for command in ("analyze results.csv -o results.csv", "analyze results.csv -o other.csv", "analyze - -o other.csv"):
        words = [sys.executable, "-m", "ordinate", *command.replace("results.csv", path.name).split()]
        with open(path) as given:
            done = subprocess.run(words, stdin=given, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 2 and "is the file of results itself" in done.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize(("name", "words"), [("no/where.html", "there is no folder"), ("", "it is a folder")])
def test_where_nothing_can_be_written(tmp_path: Path, name: str, words: str) -> None:
    done = CliRunner().invoke(app, ["analyze", str(put(tmp_path, rows())), "-o", str(tmp_path / name)])
    assert isinstance(done.exception, InputError) and words in str(done.exception)


def test_optional_columns_are_used(tmp_path: Path) -> None:
    lines = [f"{row},0.25,1000,0.5,higher" for row in rows(better=0.26)]
    path = put(tmp_path, lines, f"{HEADER},chance,n,bar,direction")
    found = read_results(path)
    assert set(found.observations.chance) == {0.25} and {task.bar for task in found.observations.tasks} == {0.5}
    assert [limit for limit in found.limits if limit.startswith("no column")] == []
    assert "at chance" not in CliRunner().invoke(app, ["analyze", str(path)]).stdout


def test_a_loss_is_better_when_lower(tmp_path: Path) -> None:
    lines = [f"{row},lower" for row in rows(better=2.5)]
    out = CliRunner().invoke(app, ["analyze", str(put(tmp_path, lines, f"{HEADER},direction"))]).stdout
    assert "Use table: a lower loss than turns at OOD length 16 (2x) (mean 0.300)." in " ".join(out.split())


@pytest.mark.parametrize(
    ("lines", "header", "words"),
    [
        (rows(), HEADER.replace("seed", "run"), "lacks seed: needed are encoding, task, seed"),
        ([], "", "lacks encoding, task, seed, length, split, score"),
        ([], HEADER, "has no rows below its header"),
        (["a,copy,,8,id,1"], HEADER, "line 2: seed is empty"),
        (["a,copy,1,,id,1"], HEADER, "line 2: length is empty"),
        (rows(), HEADER.replace("length", "n"), "lacks length: needed are encoding, task, seed, length"),
        (["a,copy,one,8,id,1"], HEADER, "line 2: seed must be a whole number, got 'one'"),
        (["a,copy,1,8,test,1"], HEADER, "line 2: unknown split 'test'"),
        (["a,copy,1,8,id,high"], HEADER, "line 2: score is no number: 'high'"),
        (["a,copy,1,8,id"], HEADER, "line 2: not as many fields as the header has"),
        (
            ["a,copy,1,8,id,1", "a,copy,1,8,id,0.5"],
            HEADER,
            "lines 2 and 3: two different rows for a on copy, seed 1, id 8",
        ),
        (["a,copy,1,8,id,97.5"], HEADER, "write accuracies from 0 to 1"),
        (["a,copy,1,8,id,1,up"], f"{HEADER},direction", "direction is higher or lower, got 'up'"),
        (["a,copy,1,8,id,1,0.9", "a,copy,2,8,id,1,0.8"], f"{HEADER},bar", "another bar or direction than above"),
        (["a,copy,1,8,id,1,1.5"], f"{HEADER},n", "n is no count: '1.5'"),
        (["a,copy,1,8,id,1,1e17"], f"{HEADER},n", "n is at most 9007199254740992 sequences, got 1e17"),
        (["a,copy,1,8,id,1,10", "a,copy,2,8,id,1,20"], f"{HEADER},n", "line 3: copy, id 8 has another n than above"),
        (["a,copy,1,8,id,1e308,lower"], f"{HEADER},direction", "score lies within 1e+100 of 0, got 1e+308"),
        (["\x1b[31ma,copy,1,8,id,1"], HEADER, "encoding has a character that cannot be shown: '\\x1b[31ma'"),
        (["a\u202eb,copy,1,8,id,1"], HEADER, "encoding has a character that cannot be shown: 'a\\u202eb'"),
        ([f"{'a' * 30_000},copy,1,8,id,1"], HEADER, "encoding has 30,000 letters, more than the 1,000 of a name"),
        ([f"a,copy,1,8,{'x' * 30_000},1"], HEADER, "unknown split 'xxxxxxxx"),
        ([f"a,copy,1,{'9' * 5_000},id,1"], HEADER, "length must be a whole number, got '9999"),
        (["a,copy,1,0,id,1"], HEADER, "length must lie in 1 to"),
        ([f"a,copy,1,{'9' * 400},id,1"], HEADER, "length must lie in 1 to"),
        (["a,copy,1,8,id,1", "a,copy,1,4,ood,1"], HEADER, "length 4 as ood, but 8 as id"),
        (["a,copy,1,8,id,1,1.5"], f"{HEADER},bar", "bar lies above 0 and is at most 1, got 1.5"),
        (["a,copy,1,8,id,1.0000000000000002"], HEADER, "has the score 1.0000000000000002"),
        (["a,copy,1,8,id,1,x"], f"{HEADER},chance", "chance is no number: 'x'"),
        (rows(), f"{HEADER},{HEADER}", "twice"),
        (["a,copy,1,8,id,-0.5"], HEADER, "has the score -0.5: write accuracies from 0 to 1"),
        (["a,copy,1,8,id,1,25"], f"{HEADER},chance", "chance lies between 0 and 1, got 25"),
        (["a,copy,1,8,id,1,0.5", "a,copy,2,8,id,1,0.2"], f"{HEADER},chance", "another chance than above"),
        (["a,copy,1,8,valid,1"], HEADER, "all rows have split valid"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(lines: list[str], header: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_results(put(tmp_path, lines, header))
    assert words in str(error.value) and "\n" not in str(error.value) and "\x1b" not in str(error.value)
    assert len(str(error.value).replace(str(tmp_path), "")) < 300


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "circle.csv").symlink_to("circle.csv")
    for path in (tmp_path / "no.csv", tmp_path, tmp_path / "circle.csv", tmp_path / "circle.csv" / "inside"):
        with pytest.raises(InputError, match="cannot read"):
            read_results(path)
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\r\n\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_results(tmp_path / "picture.csv")


def test_what_can_be_gone_on_with_is_stated(tmp_path: Path) -> None:
    assert "one encoding alone" in limits(put(tmp_path, [r for r in rows() if r.startswith("turns")]))
    assert "rows that stand twice count once: 12 (lines 26, 27, 28, 29, 30, ...)" in limits(
        put(tmp_path, rows() + rows()[:12])
    )
    assert "taken as diverged runs: 1 (line 26)" in limits(put(tmp_path, [*rows(), "table,copy,9,8,id,nan"]))
    assert "out of range: 1 (line 26)" in limits(put(tmp_path, [*rows(), "table,copy,9,16,ood,"]))
    assert "copy has no rows in distribution" in limits(put(tmp_path, [r for r in rows() if ",ood," in r]))
    assert "columns that are not read: color" in limits(put(tmp_path, [f"{r},red" for r in rows()], f"{HEADER},color"))
    unequal = CliRunner().invoke(app, ["analyze", str(put(tmp_path, rows()[:-2]))]).stdout
    assert "not all encodings have the same 6 seeds: table has 5" in unequal


def test_other_separators_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = put(tmp_path, [row.replace(",", ";") for row in rows()], HEADER.replace(",", ";"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_results(path).observations) == 24


def test_what_cannot_be_read_twice_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe with a name, one without, and standard input."""
    path = put(tmp_path, rows())
    expected = CliRunner().invoke(app, ["analyze", str(path)]).stdout
    assert CliRunner().invoke(app, ["analyze", "-"], input=path.read_bytes()).stdout == expected
    read, write = os.pipe()
    os.write(write, path.read_bytes())
    os.close(write)
    assert CliRunner().invoke(app, ["analyze", f"/dev/fd/{read}"]).stdout == expected
    os.close(read)
    named = tmp_path / "pipe"
    os.mkfifo(named)
    with subprocess.Popen(["cp", str(path), str(named)]):
        assert CliRunner().invoke(app, ["analyze", str(named)]).stdout == expected
    monkeypatch.setattr(results_file, "PATIENCE", 0)
    with pytest.raises(InputError, match="into which nobody wrote"):
        read_results(named)


def test_a_page_of_hundreds_of_encodings_and_tasks_says_what_is_left_out(tmp_path: Path) -> None:
    lines = [f"e{encoding},a,1,8,id,0.9" for encoding in range(130)]
    lines += [f"e{encoding},t{task},1,8,id,0.9" for encoding in (1, 2) for task in range(150)]
    path = put(tmp_path, lines)
    shown = " ".join(CliRunner().invoke(app, ["analyze", str(path)]).stdout.split())
    assert "70 more encodings are not shown here" in shown and "111 more tasks are not shown here" in shown
    page = CliRunner().invoke(app, ["analyze", str(path), "--format", "html"]).stdout
    assert (
        "the first 100 of 151 tasks are shown one by one" in page
        and "ranks of more than 100 encodings are in their table" in page
    )
    document = json.loads(CliRunner().invoke(app, ["analyze", str(path), "--json"]).stdout)
    assert len(document["tasks"]) == 151 and len(document["tables"]["results"]) == 430
    many = next(task for task in document["tasks"] if task["task"] == "a")
    assert len(many["pairs"]) == 2 * 130 * 129 // 2


@pytest.mark.slow
def test_a_million_rows(tmp_path: Path) -> None:
    """Ten encodings, 5,000 seeds, twenty lengths."""
    lines = [
        f"e{encoding},copy,{seed},{8 * (1 + length)},{'ood' if length else 'id'},{1 - 0.01 * encoding * (seed % 2)}"
        for encoding in range(10)
        for seed in range(5_000)
        for length in range(20)
    ]
    command = [sys.executable, "-m", "ordinate", "analyze", str(put(tmp_path, lines))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (
        "Learned in more seeds: e0, e1, e2, e3, e4 and e5 over e6, e7, e8 and e9 (5000 of 5000 against 2500 of 5000"
        in done.stdout
    )
    assert len(done.stdout) < 10_000


@pytest.mark.parametrize(
    ("name", "words"), [("results.csv", "is the file of results itself"), ("x.pdf", "ends in .pdf")]
)
def test_a_report_never_replaces_the_results_nor_has_a_name_of_another_kind(
    tmp_path: Path, name: str, words: str
) -> None:
    path = put(tmp_path, rows())
    before = path.read_text()
    done = CliRunner().invoke(app, ["analyze", str(path), "-o", str(tmp_path / name)])
    assert isinstance(done.exception, InputError) and words in str(done.exception)
    assert path.read_text() == before and not (tmp_path / "x.pdf").exists()
