"""A store as one file, and back: whole and checked, or not at all."""

import io
import json
import os
import random
import shutil
import signal
import stat
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile, ZipInfo

import pytest

from ordinate import InputError, open_store
from ordinate.store import Store
from ordinate.store import unpack as unpacking
from ordinate.store.files import LARGEST
from ordinate.store.pack import MANIFEST, SCHEMA, ArchiveMember, pack
from ordinate.store.unpack import unpack

OLD, NEW, STUDY = "aaaaaaaaaaaa", "0123456789ab", "ffffffffffff"
A = f"{OLD}/a"
WANTED = {
    f"{OLD}/config.json": b"{}",
    f"{OLD}/model.safetensors": random.Random(0).randbytes(3_000_000),
    f"{NEW}/config.json": b'{"a": 1}',
    f"{NEW}/log.txt": b"",
    f"{NEW}/checkpoint.pt": b"to go on with",
    f"studies/{STUDY}/study.json": b"{}",
    f"studies/{STUDY}/tables/k_back(k=5) é.csv": b"a,b\n",
}
BUSY = [f"{NEW}/{name}" for name in ("claim", "heartbeat", ".lock", ".result.json.1.tmp")]


def store(folder: Path) -> Store:
    """Files, each a second younger than the one before."""
    for age, (name, content) in enumerate({**WANTED, **dict.fromkeys(BUSY, b"x"), "table.jsonl": b"x"}.items()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        os.utime(folder / name, (1_000_000 + age, 1_000_000 + age))
    return open_store(folder)


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_store_comes_back_as_it_was_without_what_belongs_to_work_in_progress(tmp_path: Path) -> None:
    pack(store(tmp_path / "one"), tmp_path / "packed.zip")
    unpack(tmp_path / "packed.zip", tmp_path / "two")
    assert files(tmp_path / "two") == WANTED
    by_age = sorted(WANTED, key=lambda name: (tmp_path / "two" / name).stat().st_mtime_ns)
    assert by_age == list(WANTED), "what was older is older"
    assert [run.id for run in open_store(tmp_path / "two").runs()] == [OLD, NEW]
    assert stat.S_IMODE((tmp_path / "two").stat().st_mode) == stat.S_IMODE((tmp_path / "one").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "packed.zip", "two"]


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    pack(store(tmp_path / "one"), tmp_path / "1.zip")
    shutil.copytree(tmp_path / "one", tmp_path / "two")  # with the dates of files, in another order of folders
    pack(open_store(tmp_path / "two"), tmp_path / "2.zip")
    unpack(tmp_path / "1.zip", tmp_path / "three")
    pack(open_store(tmp_path / "three"), tmp_path / "3.zip")
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes() == (tmp_path / "3.zip").read_bytes()


def test_given_studies_and_runs_alone_are_packed(tmp_path: Path) -> None:
    pack(store(tmp_path / "one"), tmp_path / "packed.zip", studies=[STUDY], runs=[NEW])
    unpack(tmp_path / "packed.zip", tmp_path / "two")
    assert set(files(tmp_path / "two")) == {name for name in WANTED if name.startswith((NEW, "studies"))}


def test_what_a_link_leads_to_and_what_was_set_aside_is_not_packed(tmp_path: Path) -> None:
    full = store(tmp_path / "one")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").touch()
    (tmp_path / "one" / ("b" * 12)).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "one" / NEW / "link").symlink_to(tmp_path / "elsewhere" / "secret")
    (tmp_path / "one" / "studies" / STUDY / "driver").touch()
    (tmp_path / "one" / "damaged" / f"{OLD}-1").mkdir(parents=True)
    (tmp_path / "one" / "damaged" / f"{OLD}-1" / "config.json").touch()
    pack(full, tmp_path / "packed.zip")
    unpack(tmp_path / "packed.zip", tmp_path / "two")
    assert files(tmp_path / "two") == WANTED


def test_what_cannot_be_packed_is_named_and_leaves_no_file(tmp_path: Path) -> None:
    full = store(tmp_path / "one")
    with pytest.raises(InputError, match=r"bbbbbbbbbbbb cannot be packed: it is not in .*one"):
        pack(full, tmp_path / "packed.zip", runs=["bbbbbbbbbbbb"])
    with pytest.raises(InputError, match=r"twelve hexadecimal digits, got '\.\./x'"):
        pack(full, tmp_path / "packed.zip", studies=["../x"])
    with pytest.raises(InputError, match=r"nothing to pack in .*none"):
        pack(open_store(tmp_path / "none"), tmp_path / "packed.zip")
    with pytest.raises(InputError, match=r"packed.zip cannot be written: there is no folder .*nowhere"):
        pack(full, tmp_path / "nowhere" / "packed.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    (tmp_path / "one" / NEW / "a\\b").touch()
    (left_out,) = pack(full, tmp_path / "packed.zip")
    assert left_out.endswith("(its name has a backslash or a drive letter)")


def test_a_finished_run_is_packed_without_its_leftovers(tmp_path: Path) -> None:
    (store(tmp_path / "one").folder / NEW / "result.json").touch()
    pack(open_store(tmp_path / "one"), tmp_path / "packed.zip", runs=[NEW])
    unpack(tmp_path / "packed.zip", tmp_path / "two")
    assert f"{NEW}/result.json" in files(tmp_path / "two") and f"{NEW}/checkpoint.pt" not in files(tmp_path / "two")


def forge(
    path: Path, names: dict[str, bytes], *, manifest: object = None, change: Callable[[ZipInfo], None] | None = None
) -> Path:
    """An archive like those of `pack`, whose entries or manifest may be anything."""
    lines = [(name, len(content), sha256(content).hexdigest()) for name, content in names.items()]
    with ZipFile(path, "w") as archive:
        for name, content in names.items():
            entry = ZipInfo(name)
            entry.filename = entry.orig_filename = name
            entry.compress_type = ZIP_DEFLATED
            if change:
                change(entry)
            archive.writestr(entry, content)
        archive.writestr(MANIFEST, json.dumps({"schema": SCHEMA, "files": lines} if manifest is None else manifest))
    return path


def assert_refused(path: Path, match: str) -> None:
    """In one sentence, and nothing appears."""
    before = sorted(path.parent.iterdir())
    with pytest.raises(InputError, match=match) as caught:
        unpack(path, path.parent / "out")
    assert "\n" not in str(caught.value) and path.name in str(caught.value)
    assert sorted(path.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "why"),
    {
        "/x": "is an absolute path", "//x": "is an absolute path", "../x": "leads out of the folder",
        "a/../../x": "leads out of the folder", "..": "leads out of the folder", "a\\..\\x": "backslash",
        "\\x": "backslash", "C:/x": "drive letter", "c:x": "drive letter", "a/": "is a folder", "a//x": "not a valid",
        "./x": "not a valid", "a/.": "not a valid", "x" * 256: "not a valid", "a\nb": "not a valid",
        "a\x1b[2J": "not a valid",
    }.items(),
)  # fmt: skip
def test_a_name_that_is_no_path_below_the_folder_is_refused(tmp_path: Path, name: str, why: str) -> None:
    assert_refused(forge(tmp_path / "bad.zip", {"fine": b"x", name: b"x"}), f"is refused: its entry .* {why}")


def test_a_name_with_a_hidden_end_is_refused(tmp_path: Path) -> None:
    path = forge(tmp_path / "bad.zip", {"fine": b"x", "a-b": b"x"})
    path.write_bytes(path.read_bytes().replace(b"a-b", b"a\0b"))
    assert_refused(path, "is not a valid file name")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFDIR])
def test_links_and_special_files_are_refused(tmp_path: Path, kind: int) -> None:
    def change(entry: ZipInfo) -> None:
        entry.external_attr = (kind | 0o777) << 16

    assert_refused(
        forge(tmp_path / "bad.zip", {A: b"/etc/passwd"}, change=change),
        ".*/a' is a link or another special file",
    )


def test_unusual_compression_and_encryption_are_refused(tmp_path: Path) -> None:
    def change(entry: ZipInfo) -> None:
        entry.compress_type = ZIP_BZIP2

    assert_refused(
        forge(tmp_path / "bad.zip", {A: b"x"}, change=change),
        ".*/a' is compressed in an unusual way",
    )
    path = forge(tmp_path / "worse.zip", {A: b"x"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert_refused(path, ".*/a' is encrypted")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_may_stand_there_once(tmp_path: Path) -> None:
    path = forge(tmp_path / "bad.zip", {A: b"x"})
    with ZipFile(path, "a") as archive:
        archive.writestr(A, b"y")
    assert_refused(path, "it holds .*/a' twice")
    assert_refused(forge(tmp_path / "clash.zip", {A: b"x", f"{A}/b": b"x"}), "has no place in a store")


LINE = [A, 1, sha256(b"x").hexdigest()]


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        ({"schema": 1, "files": []}, "its manifest does not name .*/a'"),
        ({"schema": 1e300 * 1e300, "files": [LINE]}, "its manifest.json is damaged"),
        ({"schema": -1, "files": [LINE]}, "its manifest.json is damaged"),
        (
            {"schema": 1, "files": [LINE, [f"{OLD}/b", 1, "0"]]},
            "it lacks .*/b', which its manifest names",
        ),
        ({"schema": 1, "files": [LINE, LINE]}, "its manifest names a file twice"),
        (
            {"schema": 1, "files": [[A, 1, "0" * 64]]},
            ".*/a' has another hash than its manifest says",
        ),
        ({"schema": 1, "files": [[A, 0, LINE[2]]]}, ".*/a' is longer than it may be"),
        (
            {"schema": 1, "files": [[A, 2, LINE[2]]]},
            ".*/a' is shorter than its manifest says",
        ),
        (
            {"schema": 1, "files": [[A, 2**60, LINE[2]]]},
            r"it would unpack to 1,152,921,504,606,846,976 bytes",
        ),
        ({"schema": 2, "files": "of another kind"}, r"packed by a newer ordinate \(schema 2, this one reads 1\)"),
        ({"schema": 1, "files": [[A, -1, LINE[2]]]}, "manifest.json is damaged"),
        ({"schema": 1, "files": [[A, True, LINE[2]]]}, "manifest.json is damaged"),
        ({"schema": 1, "files": [[A]]}, "manifest.json is damaged"),
        ({"schema": "?", "files": []}, "manifest.json is damaged"),
        ({"files": []}, "manifest.json is damaged"),
        ([], "manifest.json is damaged"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(tmp_path: Path, manifest: object, why: str) -> None:
    assert_refused(forge(tmp_path / "bad.zip", {A: b"x"}, manifest=manifest), why)


def test_what_is_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = {"schema": 1, "files": [[A, 1000, sha256(bytes(1000)).hexdigest()]]}
    path = forge(tmp_path / "bomb.zip", {A: bytes(50_000_000)}, manifest=bomb)
    assert path.stat().st_size < 100_000
    assert_refused(path, r".*/a' is longer than it may be \(1,000 bytes\)")
    long = {"schema": 1, "files": [[f"{OLD}/config.json", LARGEST + 1, "0"]]}
    assert_refused(forge(tmp_path / "long.zip", {f"{OLD}/config.json": b"x"}, manifest=long), ".* a document has at mo")
    assert_refused(forge(tmp_path / "none.zip", {}), "it holds no file of a store")
    monkeypatch.setattr(unpacking, "MOST_BYTES", 999)
    assert_refused(path, "it would unpack to 1,000 bytes, and 999 are the most")
    monkeypatch.setattr(unpacking, "LINE", 1)
    assert_refused(path, r"'manifest.json' is longer than it may be \(\d+ bytes\)")
    monkeypatch.setattr(unpacking, "MOST_FILES", 1)
    assert_refused(path, "it holds 2 files, and 1 are the most")


@pytest.mark.parametrize("filling", ["[]," * 15_000_000 + "[]", "0," * 15_000_000 + "0", '{"":0},' * 1_000_000 + "0"])
def test_a_small_archive_costs_little_memory(tmp_path: Path, filling: str) -> None:
    with ZipFile(tmp_path / "bomb.zip", "w", ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, f'{{"schema": 1, "files": [{filling}]}}')
        archive.writestr(A, b"x")
    tracemalloc.start()
    try:
        assert_refused(tmp_path / "bomb.zip", "'manifest.json' is longer than it may be")
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()


def test_a_manifest_has_no_more_entries_than_the_archive_has_files(tmp_path: Path) -> None:
    files = {f"{OLD}/{number}.txt": b"x" for number in range(1000)}
    path = forge(tmp_path / "many.zip", files, manifest={"schema": 1, "files": [[]] * 50_000})
    assert_refused(path, r"its manifest\.json has more entries than the archive has files")
    odd = {f"{OLD}/[{{,:{number}.txt": b"x" for number in range(1000)}  # which a name may have
    unpack(forge(tmp_path / "odd.zip", odd), tmp_path / "odd")
    assert len(list((tmp_path / "odd" / OLD).iterdir())) == 1000


def test_what_is_no_packed_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("hello")
    assert_refused(tmp_path / "text.zip", "is not a zip file")
    (tmp_path / "empty.zip").touch()
    assert_refused(tmp_path / "empty.zip", "is not a zip file")
    assert_refused(tmp_path / "none.zip", "cannot be read: No such file")
    assert_refused(tmp_path.joinpath("folder.zip").mkdir() or tmp_path / "folder.zip", "cannot be read: Is a directory")
    with ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr(A, b"x")
    assert_refused(tmp_path / "other.zip", "is not a packed store: it has no manifest.json")


def test_a_damaged_file_is_refused_or_gives_what_was_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sync", lambda: None)
    wanted = {f"{OLD}/b": bytes(200), f"{NEW}/c": b"hello" * 20}
    whole = forge(tmp_path / "whole.zip", wanted).read_bytes()
    draw, path, whole_ones = random.Random(0), tmp_path / "damaged.zip", 0
    for number in range(400):
        data = bytearray(whole)
        if number % 4:
            data[draw.randrange(len(data))] = draw.randrange(256)
        else:
            data = data[: draw.randrange(len(data))]
        path.write_bytes(data)
        try:
            unpack(path, tmp_path / "out")
        except InputError:
            assert not (tmp_path / "out").exists()
        else:
            whole_ones += 1
            assert files(tmp_path / "out") == wanted
            shutil.rmtree(tmp_path / "out")
    assert 0 < whole_ones < 200
    assert sorted(p.name for p in tmp_path.iterdir()) == ["damaged.zip", "whole.zip"]


def test_what_is_there_already_stays_as_it_is(tmp_path: Path) -> None:
    path = forge(tmp_path / "good.zip", {A: b"x"})
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("here", "link", "good.zip"):
        with pytest.raises(InputError, match="exists already: unpack into a new folder"):
            unpack(path, tmp_path / name)
    assert not list((tmp_path / "here").iterdir()) and not (tmp_path / "elsewhere").exists()
    with pytest.raises(InputError, match=r"cannot be unpacked into .*: No such file"):
        unpack(path, tmp_path / "nowhere" / "deep")


def test_an_interruption_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    path = forge(tmp_path / "good.zip", {A: b"x"})
    monkeypatch.setattr(os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        unpack(path, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_goes_away_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = forge(tmp_path / "good.zip", {A: b"x"})
    process = os.fork()
    if not process:
        monkeypatch.setattr(unpacking.time, "time_ns", lambda: os.kill(os.getpid(), signal.SIGKILL))
        unpack(path, tmp_path / "out")
    os.waitpid(process, 0)
    (left,) = (found for found in tmp_path.iterdir() if found != path)
    assert left.name.startswith(".out.unpacking.")
    unpack(path, tmp_path / "other")
    assert left.exists(), "of another folder"
    unpack(path, tmp_path / "out")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["good.zip", "other", "out"]


def test_of_many_that_unpack_at_once_one_does(tmp_path: Path) -> None:
    wanted = {f"{number:012}/config.json": bytes([number]) * 1000 for number in range(50)}
    path = forge(tmp_path / "good.zip", wanted)

    def attempt(_: int) -> bool:
        try:
            unpack(path, tmp_path / "out")
        except InputError as error:
            assert "exists already" in str(error)
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1
    assert files(tmp_path / "out") == wanted
    assert sorted(p.name for p in tmp_path.iterdir()) == ["good.zip", "out"]


def test_reading_stops_where_too_much_begins() -> None:
    """A bomb is not unpacked to be counted."""
    handed: list[int] = []
    data = io.BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        archive.writestr(A, bytes(20_000_000))
    with ZipFile(data) as archive, pytest.raises(InputError, match="longer"):
        handed.extend(map(len, unpacking._blocks(archive, Path("x"), ArchiveMember(A, 3_000_000, ""))))
    assert 1_000_000 < sum(handed) <= 3_000_000
