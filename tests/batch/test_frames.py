"""Arrow batches, frames of all kinds, and Arrow files and streams."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

import dpauto
from dpauto import KeyedBits, MarkovChain, PermuteAndFlip, ReleasePlan, release_batch, release_table
from dpauto.errors import (
    DuplicateRecord,
    EmptyLanguage,
    InvalidArgument,
    InvalidFile,
    InvalidWord,
    MissingDependency,
    UnknownSymbol,
)

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
ipc = pytest.importorskip("pyarrow.ipc")

KEY = KeyedBits(bytes(range(32)))
CHAIN = MarkovChain(
    states=range(5),
    transitions={k: {(k + 1) % 5: 0.5, (k + 2) % 5: 0.5} for k in range(5)},
)
WORDS = [list(CHAIN.sample(2 + k % 4, k)) for k in range(40)]
IDS = [f"id {k}" for k in range(40)]


def plan(model: Any = CHAIN, **options: Any) -> ReleasePlan:
    return ReleasePlan(
        model, **{"epsilon": "1/2", "rng": KEY, "record_column": "id", "column": "trip", **options}
    )


def expected() -> list[list[int]]:
    """The releases, one by one, by the mechanism itself."""
    return [
        list(
            PermuteAndFlip(CHAIN.language(len(word)), epsilon="1/2").release(word, KEY, record=name)
        )
        for word, name in zip(WORDS, IDS, strict=True)
    ]


LISTS = [pa.list_(pa.int64()), pa.list_(pa.int8()), pa.large_list(pa.string()), pa.string()]


def column(type: Any, words: list[list[int]] = WORDS) -> Any:  # noqa: A002
    if type == pa.string():
        return pa.array([" ".join(map(str, word)) for word in words])
    if pa.types.is_string(type.value_type):
        return pa.array([[str(symbol) for symbol in word] for word in words], type)
    return pa.array(words, type)


@pytest.mark.parametrize("type", LISTS, ids=str)
def test_a_batch_is_released_as_the_mechanism_does_and_the_rest_stays(type: Any) -> None:  # noqa: A002
    notes = pa.array(["x", None] * 20).dictionary_encode()
    fields = {"note": notes, "trip": column(type), "id": pa.array(IDS)}
    schema = pa.schema({name: array.type for name, array in fields.items()}, {"made": "by us"})
    batch = pa.record_batch(list(fields.values()), schema=schema)
    out = release_batch(batch, plan=plan())
    assert out.schema.equals(schema, check_metadata=True)
    assert out.column("trip").equals(column(type, expected()))
    assert out.column("note").equals(notes)
    assert out.column("id").equals(batch.column("id"))


def test_batching_does_not_matter() -> None:
    batch = pa.record_batch({"id": IDS, "trip": column(LISTS[0])})
    parts = [release_batch(batch.slice(k, 7), plan=plan()) for k in range(0, 40, 7)]
    assert pa.Table.from_batches(parts)["trip"].to_pylist() == expected()


def test_errors_of_a_batch_name_row_and_column_never_a_symbol() -> None:
    def one(words: Any, ids: Any = None, rows: Any = None, **options: Any) -> Any:
        ids = pa.array(ids or [str(k) for k in range(len(words))])
        columns = {"trip": pa.array(words), "id": ids}
        if rows:
            columns["n"] = pa.array(rows)
        batch = pa.record_batch(columns)
        return release_batch(batch, plan=plan("all:ab", **options))

    with pytest.raises(UnknownSymbol, match="row 2, column trip: the symbol at position 2 ") as e:
        one(["a", "a secret", "hidden"])
    assert "secret" not in str(e.value)
    with pytest.raises(InvalidWord, match="row 71, column trip: the trip is empty"):
        one(["a", None], rows=[70, 71], row_column="n")
    with pytest.raises(DuplicateRecord, match="column id: an id occurs twice"):
        one(["a", "b"], ["x", "x"])
    with pytest.raises(InvalidWord, match="row 1, column id: the id is missing"):
        one(["a", "b"], [None, "x"])
    with pytest.raises(InvalidFile, match="row 1, column trip: a symbol is null"):
        one([["a", None]])
    with pytest.raises(InvalidArgument, match="no column 'way'"):
        one(["a"], column="way")
    with pytest.raises(InvalidFile, match="trips must be text or lists"):
        one([1.5])
    with pytest.raises(InvalidFile, match="symbols are integers, but the model has the symbol 'a'"):
        one([[1]])
    with pytest.raises(InvalidArgument, match="with a seed, rows need ids"):
        one(["a"], rng=1, record_column=None)
    chain = MarkovChain(states="ab", transitions={"a": {"b": 1}})
    short = pa.record_batch({"id": ["1", "2"], "trip": ["a b", "a b a"]})
    with pytest.raises(EmptyLanguage, match="row 2, column trip: length"):
        release_batch(short, plan=plan(chain))
    skipped = one(["a", "x", "b"], on_error="skip", epsilon=99)
    assert skipped.to_pydict() == {"trip": ["a", "b"], "id": ["0", "2"]}


# -- frames ---------------------------------------------------------------------------------------


def test_pandas_frames_keep_index_order_and_other_columns() -> None:
    frame = pd.DataFrame({"id": IDS, "trip": WORDS, "x": range(40)}, index=range(100, 140))
    out = release_table(frame, plan=plan())
    assert out["trip"].tolist() == expected()
    pd.testing.assert_frame_equal(out.drop(columns="trip"), frame.drop(columns="trip"))
    assert frame["trip"].tolist() == WORDS
    text = frame.assign(trip=[";".join(map(str, word)) for word in WORDS])
    out = release_table(text, plan=plan(separator=";"))
    assert out["trip"].tolist() == [";".join(map(str, word)) for word in expected()]
    assert out["trip"].dtype == text["trip"].dtype


def test_polars_and_arrow_frames() -> None:
    frame = pl.DataFrame({"id": IDS, "trip": WORDS, "x": range(40)})
    out = release_table(frame, plan=plan())
    assert out.schema == frame.schema
    assert out["trip"].to_list() == expected()
    assert out.drop("trip").equals(frame.drop("trip"))
    table = pa.table({"id": IDS, "trip": column(LISTS[1]), "x": range(40)})
    released = release_table(table, plan=plan())
    assert released.schema == table.schema
    assert released["trip"].to_pylist() == expected()
    (batch,) = table.to_batches()
    assert release_table(batch, plan=plan()).column("trip").to_pylist() == expected()


def long_form() -> list[tuple[str, int, int, int]]:
    """A row for each symbol, words mixed and not in order."""
    rows = [
        (name, place * 10, symbol, number)
        for number, (name, word) in enumerate(zip(IDS, WORDS, strict=True))
        for place, symbol in enumerate(word)
    ]
    return sorted(rows, key=lambda row: hash(row[1:]) % 97)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, "arrow"], ids=str)
def test_long_form(make: Any) -> None:
    names = ("id", "step", "at", "x")
    data = {name: [row[k] for row in long_form()] for k, name in enumerate(names)}
    frame = pa.table(data) if make == "arrow" else make(data)
    out = release_table(frame, plan=plan(column="at"), position="step")
    rows = out.to_pydict() if make == "arrow" else {name: list(out[name]) for name in names}
    assert {**rows, "at": None} == {**data, "at": None}
    words: dict[str, dict[int, int]] = {}
    for name, step, at in zip(rows["id"], rows["step"], rows["at"], strict=True):
        words.setdefault(name, {})[step] = at
    assert [[words[n][s] for s in sorted(words[n])] for n in IDS] == expected()


def test_long_form_refuses_what_is_no_word() -> None:
    def released(**columns: Any) -> Any:
        frame = pd.DataFrame({"id": [1, 1, 2], "step": [1, 2, 1], "at": ["a", "b", "a"], **columns})
        return release_table(
            frame, plan=plan("all:ab", column="at", on_error="skip"), position="step"
        )

    with pytest.raises(InvalidFile, match="row 2, column step: another symbol"):
        released(step=[1, 1, 1])
    with pytest.raises(InvalidFile, match="row 3, column at: it is null"):
        released(at=["a", "b", None])
    with pytest.raises(InvalidFile, match="symbols must be strings or integers"):
        released(at=[0.5, 1, 2])
    with pytest.raises(InvalidFile, match="the model has other symbols"):
        released(at=[1, 2, 3])
    assert released(at=["a", "x", "b"])["id"].tolist() == [2]
    with pytest.raises(InvalidArgument, match="no column 'place'"):
        release_table(pd.DataFrame({"id": [1], "trip": ["a"]}), plan=plan(), position="place")


@pytest.mark.parametrize("make", ["pandas", "table", "batch"])
def test_a_second_column_of_the_same_name_would_be_copied_and_is_refused(make: str) -> None:
    columns, names = [["a b"], ["x"], ["a b"]], ["trip", "id", "trip"]
    if make == "pandas":
        frame: Any = pd.DataFrame(dict(enumerate(columns)))
        frame.columns = names
    else:
        frame = (pa.table if make == "table" else pa.record_batch)(
            list(map(pa.array, columns)), names
        )
    with pytest.raises(InvalidArgument, match="2 columns have the name 'trip'; rename or remove"):
        release_table(frame, plan=plan("all:ab"))
    if make == "batch":
        with pytest.raises(InvalidArgument, match="2 columns have the name 'trip'"):
            release_batch(frame, plan=plan("all:ab"))


def test_names_of_pandas_columns_need_not_be_text() -> None:
    frame = pd.DataFrame({7: ["x"], "trip": ["a"]})
    with pytest.raises(InvalidArgument, match="no column '7'; the columns are 7, trip"):
        release_table(frame, plan=plan("all:ab", record_column="7"))


def test_tables_of_another_kind_and_missing_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="must be a pandas or polars DataFrame"):
        release_table([["a"]], plan=plan())
    with pytest.raises(InvalidArgument, match="there is no column 'id'"):
        release_table(pd.DataFrame({"trip": ["a"]}), plan=plan())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for call in (
        lambda: release_table(pd.DataFrame(), plan=plan()),
        lambda: release_batch(None, plan=plan()),
    ):
        with pytest.raises(MissingDependency, match=r"pip install 'dpauto\[tables\]'"):
            call()


# -- Arrow files and streams ----------------------------------------------------------------------


def written(new: Any, batches: int = 3) -> bytes:
    out = io.BytesIO()
    batch = pa.record_batch({"id": IDS, "trip": column(LISTS[0])})
    with new(out, batch.schema) as sink:
        for k in range(batches):
            sink.write_batch(batch.slice(k * 14, 14))
    return out.getvalue()


@pytest.mark.parametrize(
    ("new", "name"), [(ipc.new_stream, "t.arrow"), (ipc.new_file, "t.arrow"), (ipc.new_stream, "-")]
)
def test_arrow_through_the_command_line(
    run: Any, monkeypatch: pytest.MonkeyPatch, new: Any, name: str
) -> None:
    content = written(new)
    if name == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    else:
        (run.folder / name).write_bytes(content)
    (run.folder / "key").write_bytes(bytes(range(32)))
    dpauto.formats.write_model(CHAIN, str(run.folder / "m.json"))
    status = run(
        *("release", name, "--trips-format", "arrow", "--model", "m.json", "--epsilon", "1/2"),
        *("--key-file", "key", "--id", "id", "-o", "out.arrow"),
    )
    assert (status, run.err) == (0, "")
    with (run.folder / "out.arrow").open("rb") as raw:
        opened = ipc.open_file(raw) if new is ipc.new_file else ipc.open_stream(raw)
        table = opened.read_all()
    assert table["trip"].to_pylist() == expected()
    assert table["id"].to_pylist() == IDS


def test_parquet_and_csv_and_frames_release_the_same(run: Any) -> None:
    from pyarrow import csv, parquet

    (run.folder / "key").write_bytes(bytes(range(32)))
    dpauto.formats.write_model(CHAIN, str(run.folder / "m.json"))
    table = pa.table({"id": IDS, "trip": column(LISTS[3])})
    parquet.write_table(table, run.folder / "t.parquet")
    csv.write_csv(table, run.folder / "t.csv", csv.WriteOptions(quoting_style="needed"))
    for kind, read in (("parquet", parquet.read_table), ("csv", csv.read_csv)):
        options = ("--model", "m.json", "--epsilon", "0.5", "--key-file", "key", "--id", "id")
        assert run("release", f"t.{kind}", *options, "-o", f"o.{kind}") == 0
        assert read(run.folder / f"o.{kind}")["trip"].to_pylist() == [
            " ".join(map(str, word)) for word in expected()
        ]


def test_damaged_arrow_is_told_in_one_line(run: Any, tmp_path: Path) -> None:
    for content in (b"", b"ARROW1 not", b"trip\na b\n", written(ipc.new_stream)[:700]):
        (run.folder / "t.arrow").write_bytes(content)
        command = ["release", "t.arrow", "--model", "all:ab", "--epsilon", "1", "-o", "o.arrow"]
        assert run(*command) == 2
        assert run.err.startswith("dpauto: t.arrow")
        assert run.err.count("\n") == 1
        assert "o.arrow" not in run.names()
