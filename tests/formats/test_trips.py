"""Trips: read, and put back with everything else untouched."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpauto.errors import InvalidArgument, InvalidFile, InvalidModel, UnknownSymbol
from dpauto.formats import SymbolTexts, open_trips, text_of
from dpauto.formats.trips import Separator
from dpauto.outputs import writing

WORDS = st.lists(st.text("abcxyz0189", min_size=1, max_size=3), min_size=1, max_size=5)


def copied(path: Path, **options: Any) -> bytes:
    """Read every trip and write it back reversed."""
    out = io.BytesIO()
    with open_trips(str(path), **options) as trips:
        writer = trips.writer(out)
        for trip in trips:
            writer.write(trip, None if trip.texts is None else trip.texts[::-1])
        writer.close()
    return out.getvalue()


def read(path: Path, **options: Any) -> list[tuple[int, list[str] | None, str | None]]:
    with open_trips(str(path), **options) as trips:
        return [(trip.row, trip.texts, trip.record) for trip in trips]


def file(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


def test_text_keeps_comments_prefixes_and_line_ends(tmp_path: Path) -> None:
    path = file(tmp_path, "t.txt", "# id: trip\n% more\n17 x: a b  c\r\n18 y:\td e \nz:f")
    assert read(path, after=":") == [
        (1, None, None),
        (2, None, None),
        (3, ["a", "b", "c"], None),
        (4, ["d", "e"], None),
        (5, ["f"], None),
    ]
    assert copied(path, after=":") == b"# id: trip\n% more\n17 x: c b a\r\n18 y:\te d \nz:f"


def test_what_stands_before_can_be_the_id(tmp_path: Path) -> None:
    path = file(tmp_path, "t.txt", "17 x: a b\n18 : c\n")
    assert [record for _, _, record in read(path, after=":", records=True)] == ["17 x", "18"]


def test_csv_keeps_other_columns_quotes_and_line_ends(tmp_path: Path) -> None:
    content = 'id,"the, note",trip\r\n1,"a ""b""\nc",x y z\r\n2,,w v\r\n'
    path = file(tmp_path, "t.csv", content)
    assert [(row, texts) for row, texts, _ in read(path)] == [
        (1, None),
        (2, ["x", "y", "z"]),
        (4, ["w", "v"]),
    ]
    assert copied(path).decode() == content.replace("x y z", "z y x").replace("w v", "v w")


def test_tsv_other_columns_and_separators(tmp_path: Path) -> None:
    path = file(tmp_path, "t.tsv", "route\tid\na;b c;d\t7\n")
    options = {"column": "route", "record_column": "id", "separator": ";", "records": True}
    assert read(path, **options)[1] == (2, ["a", "b c", "d"], "7")
    assert copied(path, **options) == b"route\tid\nd;b c;a\t7\n"
    path = file(tmp_path, "t.csv", "id;trip\n1;a b\n")
    assert copied(path) == b"id;trip\n1;b a\n"
    assert copied(file(tmp_path, "c.txt", "abc\n"), separator="") == b"cba\n"


def test_uci_preamble_is_copied(tmp_path: Path) -> None:
    content = "% Different categories\n\nnews sport\n\n% Sequences:\n\n1 2\n3\n"
    rows = read(file(tmp_path, "t.seq", content))
    assert [texts for _, texts, _ in rows] == [None] * 6 + [["1", "2"], ["3"]]


@given(st.lists(WORDS, min_size=1, max_size=6), st.sampled_from([None, "", ";", ", "]))
def test_words_come_back_from_every_separator(words: list[list[str]], mark: str | None) -> None:
    separator = Separator(mark)
    for word in words:
        expected = list("".join(word)) if mark == "" else word
        assert separator.split(separator.join(word)) == expected


@given(st.lists(WORDS, min_size=1, max_size=6))
def test_text_and_csv_come_back_byte_for_byte(words: list[list[str]]) -> None:
    from dpauto.formats.trips import CsvTrips, TextTrips

    text = "".join(" ".join(word) + "\n" for word in words)
    table = "id,trip\n" + "".join(f"{k},{' '.join(word)}\n" for k, word in enumerate(words))
    for trips, content in (
        (TextTrips(io.StringIO(text), "t", after=None, separator=Separator(None)), text),
        (
            CsvTrips(
                io.StringIO(table),
                "t",
                column="trip",
                record_column=None,
                separator=Separator(None),
            ),
            table,
        ),
    ):
        out = io.BytesIO()
        writer = trips.writer(out)
        for trip in trips:
            writer.write(trip, trip.texts)
        assert out.getvalue().decode() == content


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("t.txt", "", {}, "the file is empty"),
        ("t.csv", "", {}, "the file is empty"),
        ("t.csv", "id,route\n1,a\n", {}, "no column 'trip' among the 2 of the header"),
        ("t.csv", "trip,id,trip\na,1,a\n", {}, "2 columns have the name 'trip'; rename or"),
        ("t.csv", "Trip,TRIP\na,a\n", {}, "2 columns have the name 'trip'"),
        ("t.csv", "id,trip\n1,a\n2\n", {}, "row 3: 1 cells where the header has 2"),
        ("t.csv", "id,trip\n1,a\n\n2,b\n", {}, "row 3: the row is blank"),
        ("t.csv", 'id,trip\n1,"a\n', {}, "row 2: unexpected end of data"),
        ("t.csv", "trip\na\n", {"record_column": "id", "records": True}, "no column 'id'"),
        ("t.txt", "x: a\nb\n", {"after": ":"}, "row 2: ':' is missing"),
    ],
)
def test_bad_tables_are_named_with_the_row(
    tmp_path: Path, name: str, content: str, options: dict[str, Any], message: str
) -> None:
    path = file(tmp_path, name, content)
    with pytest.raises(InvalidFile, match=message) as caught:
        read(path, **options)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("t.csv", {"after": ":"}, "only text trips"),
        ("t.txt", {"record_column": "id"}, "text trips have no columns"),
        ("t.txt", {"records": True}, "needs an id"),
        ("t.csv", {"records": True}, "needs an id"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path, name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        read(file(tmp_path, name, "trip\na\n"), **options)


# -- Parquet --------------------------------------------------------------------------------------


def test_parquet_keeps_columns_types_and_row_order(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    count = 10_000
    table = pa.table(
        {
            "id": pa.array(range(count), pa.int32()),
            "trip": [[k, k + 1] for k in range(count)],
            "note": pa.array(["x"] * count).dictionary_encode(),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    rows = read(tmp_path / "t.parquet", record_column="id", records=True)
    assert rows[9_998] == (9_999, ["9998", "9999"], "9998")
    back = parquet.read_table(io.BytesIO(copied(tmp_path / "t.parquet")))
    assert back.schema.equals(table.schema)
    assert back["trip"].to_pylist() == [[k + 1, k] for k in range(count)]
    assert back["id"].to_pylist() == list(range(count))


def test_parquet_text_and_left_out_rows(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"trip": ["a b", "c d", "e"]}), tmp_path / "t.parquet")
    out = io.BytesIO()
    with open_trips(str(tmp_path / "t.parquet")) as trips:
        writer = trips.writer(out)
        for trip in trips:
            if trip.row != 2:
                writer.write(trip, trip.texts)
        writer.close()
    assert parquet.read_table(out).to_pydict() == {"trip": ["a b", "e"]}


def test_bad_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    with pytest.raises(InvalidFile, match="not a Parquet file"):
        read(file(tmp_path, "t.parquet", "trip\na\n"))
    parquet.write_table(pa.table({"trip": [1.5]}), tmp_path / "t.parquet")
    with pytest.raises(InvalidFile, match="trips must be text or lists"):
        read(tmp_path / "t.parquet")
    with pytest.raises(InvalidFile, match="no column 'way'"):
        read(tmp_path / "t.parquet", column="way")
    parquet.write_table(pa.table([["a"], ["a"]], ["trip", "trip"]), tmp_path / "t.parquet")
    with pytest.raises(InvalidFile, match="2 columns have the name 'trip'"):
        read(tmp_path / "t.parquet")
    parquet.write_table(pa.table({"trip": [[1, None]]}), tmp_path / "t.parquet")
    with pytest.raises(InvalidFile, match="row 1, column trip: a symbol is null"):
        read(tmp_path / "t.parquet")
    with pytest.raises(InvalidArgument, match="standard input"):
        read(Path("-"), format="parquet")


# -- symbols --------------------------------------------------------------------------------------


def test_symbols_match_by_text() -> None:
    texts = SymbolTexts([1, "b", ("go", 2)])
    assert texts.parse(["1", "b", "go/2"]) == (1, "b", ("go", 2))
    assert texts.format([("go", 2), 1]) == ["go/2", "1"]
    assert text_of(1.5) == "1.5"
    with pytest.raises(UnknownSymbol, match=r"position 2 .*3 symbols") as caught:
        texts.parse(["1", "secret"])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("pair", [(1, "1"), (("a", "b"), "a/b"), (1.0, "1.0")])
def test_two_symbols_of_one_text_are_refused(pair: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidModel, match=r"roads: the symbols .* have the same text"):
        SymbolTexts(pair, name="roads")


@pytest.mark.parametrize(
    ("symbols", "options", "message"),
    [
        (["a b"], {}, "holds the separator"),
        (["a;b"], {"separator": ";"}, "holds the separator"),
        ([" a"], {"separator": ";"}, "blank ends"),
        (["ab"], {"separator": ""}, "more than one character"),
        (["#a"], {}, "would be read as a comment"),
    ],
)
def test_symbols_that_could_not_be_read_back_are_refused(
    tmp_path: Path, symbols: list[str], options: dict[str, Any], message: str
) -> None:
    with (
        open_trips(str(file(tmp_path, "t.txt", "a\n")), **options) as trips,
        pytest.raises(InvalidModel, match=message),
    ):
        trips.check_symbols(SymbolTexts(symbols))


# -- files ----------------------------------------------------------------------------------------


def test_output_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "out.txt"
    place.write_text("old")

    def fail() -> None:
        with writing(str(place)) as out:
            out.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]
    with writing(str(place)) as out:
        out.write(b"whole")
        assert place.read_text() == "old"
    assert place.read_text() == "whole"


def test_output_keeps_permissions_links_and_compresses_alike(tmp_path: Path) -> None:
    place, link = tmp_path / "out.gz", tmp_path / "link.gz"
    place.write_bytes(b"")
    place.chmod(0o640)
    link.symlink_to(place)
    contents = []
    for _ in range(2):
        with writing(str(link)) as out:
            out.write(b"content")
        contents.append(place.read_bytes())
    assert link.is_symlink()
    assert place.stat().st_mode & 0o777 == 0o640
    assert contents[0] == contents[1]
    assert gzip.decompress(contents[0]) == b"content"


def test_a_new_file_gets_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    with writing(str(tmp_path / "new")) as out:
        out.write(b"x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_errors_name_the_output_and_not_a_temporary_file(tmp_path: Path) -> None:
    for name in (str(tmp_path / "no" / "out"), str(tmp_path)):
        with pytest.raises((FileNotFoundError, IsADirectoryError)) as caught, writing(name):
            pass
        assert caught.value.filename == name


def test_a_device_is_written_to_directly() -> None:
    with writing("/dev/null") as out:
        out.write(b"x")
    assert Path("/dev/null").is_char_device()
