"""Tables in long form: a row for each symbol, in files."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

STEPS = "source,target\nregister,check it\nregister,pay\ncheck it,pay\npay,register\n"
ROWS = [
    ("a", 3, "pay", "ann"),
    ("a", 1, "register", "ann"),
    ("a", 2, "check it", "ann"),
    ("b", 10, "pay", "bob"),
    ("b", 9, "register", "bob"),
]
RELEASE = ["--column", "activity", "--id", "case", "--position", "step", "--model", "steps.csv"]


def table(rows: list[tuple[Any, ...]]) -> str:
    return "case,step,activity,who\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


def test_a_row_keeps_its_place_and_gets_the_symbol_of_its_position(run: Any) -> None:
    run.file("steps.csv", STEPS)
    run.file("log.csv", table(ROWS))
    assert run("release", "log.csv", *RELEASE, "--epsilon", "500") == 0
    assert run.out == table(ROWS)
    # A release is a feasible word in the order of the positions, whatever that of the rows.
    assert run("release", "log.csv", *RELEASE, "--epsilon", "1/100", "--seed", "5") == 0
    rows = [line.split(",") for line in run.out.splitlines()[1:]]
    assert [row[0] for row in rows] == [row[0] for row in ROWS]
    words = [
        [row[2] for row in sorted(rows, key=lambda row: int(row[1])) if row[0] == case]
        for case in "ab"
    ]
    steps = set(STEPS.splitlines())
    assert all(f"{u},{v}" in steps for word in words for u, v in pairwise(word))


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_arrow_columns_of_text_and_of_integers(run: Any, suffix: str) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    times = [datetime(2020, 1, day, tzinfo=UTC) for day in (3, 1, 2, 10, 9)]
    content = {"case": [7, 7, 7, 8, 8], "step": times, "activity": [2, 0, 1, 2, 0]}
    whole = pa.table(
        content,
        schema=pa.schema(
            {"case": pa.int32(), "step": pa.timestamp("ms", "UTC"), "activity": pa.int16()}
        ),
    )
    write = parquet.write_table if suffix == "parquet" else feather.write_feather
    read = parquet.read_table if suffix == "parquet" else feather.read_table
    write(whole, f"log.{suffix}")
    run.file("steps.csv", "source,target\n0,1\n1,2\n0,2\n2,0\n")
    output = f"out.{suffix}"
    assert run("release", f"log.{suffix}", *RELEASE, "--epsilon", "500", "-o", output) == 0
    assert read(output).equals(whole)
    run.file("steps.csv", STEPS)
    assert run("release", f"log.{suffix}", *RELEASE, "--epsilon", "5", "-o", "other") == 2
    assert "symbols are integers, but the model has the symbol" in run.err


def test_words_are_released_once_whole_and_resumed(run: Any) -> None:
    run.file("steps.csv", STEPS)
    run.file("key", "k" * 32)
    run.file("log.csv", table(ROWS))
    keyed = [*RELEASE, "--epsilon", "1", "--key-file", "key", "--resume"]
    for output in ("one.csv", "two.csv"):
        assert run("release", "log.csv", *keyed, "-o", output) == 0
    assert (run.folder / "one.csv").read_bytes() == (run.folder / "two.csv").read_bytes()
    # A word that cannot be released is left out with all its rows.
    run.file("log.csv", table([*ROWS[:3], ("b", 1, "hidden", "bob"), ("b", 2, "pay", "bob")]))
    assert run("release", "log.csv", *RELEASE, "--epsilon", "500", "--on-error", "skip") == 0
    assert run.out == table(ROWS[:3])
    assert run.err == "dpauto: left out 1 of 2 trips: rows 5\n"
    ledger = ["--ledger", "l.sqlite", "--subject", "who", "--budget", "1"]
    run.file("log.csv", table(ROWS))
    assert run("release", "log.csv", *RELEASE, "--epsilon", "1", *ledger, "-o", "o.csv") == 0
    assert run("release", "log.csv", *RELEASE, "--epsilon", "1", *ledger, "-o", "o.csv") == 2
    assert "row 2: its subject has less than 1 left" in run.err


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        ([*ROWS, ("a", 4, "pay", "ann")], [], "row 7: its id occurred before"),
        ([("a", 1, "pay", "x"), ("a", 1, "pay", "x")], [], "row 3, column step: another symbol"),
        ([("a", 1, "pay", "x"), ("a", "soon", "pay", "x")], [], "row 3, column step: neither an"),
        ([("a", "nan", "pay", "x")], [], "row 2, column step: neither an ISO time"),
        ([("a", 1, "pay", "x"), ("a", "2020-01-01", "pay", "x")], [], "positions of one word mus"),
        ([("", 1, "pay", "x")], [], "row 2: its id is missing"),
        ([("a", 1, "", "x")], [], "row 2: its symbol is missing"),
        (
            [("a", 1, "pay", "x"), ("a", 2, "pay", "y")],
            ["--ledger", "l", "--subject", "who", "--budget", "9"],
            "row 2: the rows of the word name different subjects",
        ),
        (ROWS, ["--separator", ";"], "separator: in long form a cell is one symbol"),
        (ROWS, ["--position", "when"], "there is no column 'when'"),
    ],
)
def test_what_is_refused(run: Any, rows: Any, arguments: list[str], message: str) -> None:
    run.file("steps.csv", STEPS)
    run.file("log.csv", table(rows))
    before = run.names()
    assert run("release", "log.csv", *RELEASE, "--epsilon", "1", "-o", "o.csv", *arguments) == 2
    assert message in run.err
    assert run.err.count("\n") == 1
    assert set(run.names()) - {"l"} == set(before)


def test_long_form_needs_a_table_and_an_id(run: Any) -> None:
    run.file("log.csv", table(ROWS))
    run.file("t.txt", "a b\n")
    options = ["--model", "all:ab", "--epsilon", "1", "--position", "step"]
    assert run("release", "log.csv", *options) == 2
    assert "in long form an id says which word a row belongs to; give --id COLUMN" in run.err
    assert run("release", "t.txt", *options) == 2
    assert "position: text trips have no columns; long form needs a table" in run.err
