"""``dpauto release``: what goes in, what comes out, and what a failure leaves behind."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from dpauto.formats import read_model
from dpauto.formats.xes import traces_of

EDGES = "source,target\na,b\nb,a\nb,c\nc,a\nc,c\n"


def test_text_trips_of_several_lengths_keep_order_and_frame(run: Any) -> None:
    run.file("roads.csv", EDGES)
    words = ["a b c", "c c", "b a b a b", "a b", "c a b"]
    lines = [f"{k} x: {word}\n" for k, word in enumerate(words)]
    run.file("t.txt", "# trips\n" + "".join(lines))
    status = run(
        *(
            "release",
            "t.txt",
            "--model",
            "roads.csv",
            "--epsilon",
            "1/2",
            "--after",
            ":",
            "-o",
            "o.txt",
        )
    )
    assert (status, run.out, run.err) == (0, "", "")
    released = (run.folder / "o.txt").read_text().splitlines()
    assert released[0] == "# trips"
    chain: Any = read_model(str(run.folder / "roads.csv"))
    assert len(released) == 1 + len(words)
    for k, (line, word) in enumerate(zip(released[1:], words, strict=True)):
        prefix, _, text = line.partition(": ")
        assert prefix == f"{k} x"
        assert len(text.split()) == len(word.split())
        assert chain.feasible(text.split())
    assert run.names() == ["o.txt", "roads.csv", "t.txt"]


def test_at_a_huge_epsilon_trips_come_back_as_they_were(run: Any) -> None:
    run.file("roads.csv", EDGES)
    table = 'id,trip,note\n1,a b c,"x, y"\n2,c c c c,\n3,b a,z\n'
    run.file("t.csv", table)
    for mechanism in ("permute-and-flip", "exponential", "online"):
        options = ["--epsilon", "500", "--mechanism", mechanism, "--adjacency", "2"]
        assert run("release", "t.csv", "--model", "roads.csv", *options) == 0
        assert run.out == table


def test_a_seed_repeats_and_says_that_it_is_not_private(run: Any) -> None:
    run.file("t.txt", "a b a c\nb b\n" * 20)
    outputs = []
    for seed in ("7", "7", "8"):
        command = ["release", "t.txt", "--model", "all:abc", "--epsilon", "1", "--seed", seed]
        assert run(*command) == 0
        outputs.append(run.out)
        assert re.fullmatch("dpauto: the output is NOT private.*\n", run.err)
    assert outputs[0] == outputs[1] != outputs[2]
    # Equal trips in one run get noise of their own.
    assert len(set(outputs[0].splitlines())) > 5


def test_a_key_repeats_the_release_of_an_id(run: Any) -> None:
    (run.folder / "key").write_bytes(bytes(range(32)))
    run.file("t.csv", "id,trip\n1,a b a c\n2,a b a c\n3,b b\n")
    run.file("u.csv", "id,trip\n3,b b\n2,a b a c\n")
    common = ["--model", "all:abc", "--epsilon", "1", "--key-file", "key", "--id", "id"]
    assert run("release", "t.csv", *common) == 0
    first = run.out.splitlines()
    assert run("release", "u.csv", *common) == 0
    assert run.out.splitlines()[1:] == [first[3], first[2]]
    assert run.err == ""
    run.file("d.csv", "id,trip\n1,a\n1,b\n")
    assert run("release", "d.csv", *common) == 2
    assert run.err == (
        "dpauto: d.csv, row 3: its id occurred before; two trips of one id would share their"
        " random bits (in long form, let the rows of an id stand together)\n"
    )


def test_skip_leaves_out_what_cannot_be_released(run: Any) -> None:
    run.file("roads.csv", "source,target\na,b\nb,c\n")
    run.file("t.txt", "a b\nx b\n\na b c\na b c a\nb c\n")
    command = ["release", "t.txt", "--model", "roads.csv", "--epsilon", "9", "--on-error", "skip"]
    command += ["--adjacency", "2"]  # or a warning would say that nobody is near
    assert run(*command) == 0
    assert [len(line.split()) for line in run.out.splitlines()] == [2, 3, 2]
    assert run.err == "dpauto: left out 3 of 6 trips: rows 2, 3, 5\n"


def test_standard_input_and_output(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"trip\nab\n")))
    command = ["release", "-", "--trips-format", "csv", "--separator", "", "-o", "-"]
    assert run(*command, "--model", "all:ab", "--epsilon", "99") == 0
    assert run.out == "trip\nab\n"


def test_gzip_in_and_out(run: Any) -> None:
    (run.folder / "t.txt.gz").write_bytes(gzip.compress(b"a b\n"))
    assert run("release", "t.txt.gz", "--model", "all:ab", "--epsilon", "99", "-o", "o.gz") == 0
    assert gzip.decompress((run.folder / "o.gz").read_bytes()) == b"a b\n"


def test_parquet(run: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"trip": [["a", "b"], ["b"]], "who": [1, 2]})
    parquet.write_table(table, run.folder / "t.parquet")
    command = ["release", "t.parquet", "--model", "all:ab", "--epsilon", "99", "-o", "o.parquet"]
    assert run(*command) == 0
    assert parquet.read_table(run.folder / "o.parquet").equals(table)


def test_an_mdp_is_observed_by_states_actions_or_both(run: Any) -> None:
    run.file("m.tra", "2 3 4\n0 0 1 1 up\n1 0 0 0.5 go\n1 0 1 0.5 go\n1 1 0 1 jump\n")
    for observe, trip in (("states", "1 0"), ("actions", "up jump"), ("both", "up/1 jump/0")):
        run.file("t.txt", trip + "\n")
        command = ["release", "t.txt", "--model", "m.tra", "--epsilon", "99", "--observe", observe]
        assert run(*command) == 0
        assert run.out == trip + "\n"


def test_costs_decide_what_is_near(run: Any) -> None:
    run.file("costs.csv", "true,written,cost\na,b,1\nb,a,1\na,c,9\nc,a,9\nb,c,9\nc,b,9\n")
    run.file("t.txt", "a a a a a a a a\n" * 50)
    command = ["release", "t.txt", "--model", "all:abc", "--epsilon", "8", "--costs", "costs.csv"]
    assert run(*command) == 0
    assert run.out.count("b") > 0
    assert run.out.count("b") > 10 * run.out.count("c")
    run.file("square.csv", "true,a,b,c\na,0,1,9\nb,1,0,9\nc,9,9,0\n")
    assert run(*command[:-1], "square.csv", "--seed", "1") == 0
    square = run.out
    assert run(*command, "--seed", "1") == 0
    assert run.out == square


# -- what is wrong --------------------------------------------------------------------------------

BAD = {
    "empty trips": ({"t.txt": ""}, [], "t.txt: the file is empty"),
    "empty csv": ({"t.csv": ""}, ["t.csv"], "t.csv: the file is empty"),
    "empty model": ({"roads.csv": ""}, [], "roads.csv: the file is empty"),
    "missing column": (
        {"t.csv": "1,hidden b\n2,a b\n"},
        ["t.csv"],
        "t.csv: there is no column 'trip' among the 2 of the header; --column names another",
    ),
    "missing model column": (
        {"roads.csv": "source,end\na,b\n"},
        [],
        "roads.csv: an edge list needs the columns source and target (or u and v);",
    ),
    "unknown symbol": (
        {"t.txt": "a b\n# more\nb hidden a\n"},
        [],
        "t.txt, row 3: the symbol at position 2 is not in the alphabet of the model (3 symbols)",
    ),
    "rows not summing to 1": (
        {"roads.csv": "source,target,probability\na,b,0.5\nb,a,1\n"},
        [],
        "roads.csv, row 2, column probability: the probabilities from state 'a' sum to 0.5, not",
    ),
    "negative probability": (
        {"roads.csv": "source,target,probability\na,b,1\nb,a,-1\n"},
        [],
        "roads.csv, row 3, column probability: -1 is negative; a probability must be at least 0",
    ),
    "no word of this length": (
        {"roads.csv": "source,target\na,b\nb,c\n", "t.txt": "a b\na b c a\n"},
        [],
        "t.txt, row 2: length: no word of length 4 is feasible",
    ),
    "empty trip": (
        {"t.txt": "a b\n\nb a\n"},
        [],
        "t.txt, row 2: the trip is empty; it needs at least one symbol",
    ),
    "epsilon 0": ({}, ["--epsilon", "0"], "epsilon must be a positive number"),
    "epsilon below 0": ({}, ["--epsilon", "-1"], "epsilon must be a positive number"),
    "epsilon no number": ({}, ["--epsilon", "much"], "epsilon must be a positive number"),
    "epsilon nan": ({}, ["--epsilon", "nan"], "epsilon must be a positive number"),
    "adjacency 0": ({}, ["--adjacency", "0"], "adjacency must be a whole number of at least 1"),
    "adjacency no number": ({}, ["--adjacency", "x"], "Invalid value for '--adjacency'"),
    "missing model": ({}, ["--model", "no.csv"], "no.csv: No such file or directory"),
    "missing model without a suffix": ({}, ["--model", "no"], "no: No such file or directory"),
    "model is no file": ({}, ["--model", "."], ".: a folder, not a file; name the file of a mod"),
    "model in no file": ({}, ["--model", ".", "--format", "json"], ".: a folder, not a file"),
    "trips are a folder": ({}, ["."], ".: a folder, not a file"),
    "output is a folder": ({}, ["-o", "."], ".: a folder, not a file"),
    "unknown model format": (
        {"m.xyz": "x"},
        ["--model", "m.xyz"],
        "m.xyz: the suffix '.xyz' tells no model format; name it with --format",
    ),
    "damaged model": ({"m.json": "{"}, ["--model", "m.json"], "m.json, row 1, column 2: not JSON"),
    "missing trips, and a table to write": (
        {},
        ["no", "-o", "out.csv"],
        "no: No such file or directory",
    ),
    "missing trips": ({}, ["no.txt"], "no.txt: No such file or directory"),
    "missing folder": ({}, ["-o", "no/out.txt"], "no/out.txt: No such file or directory"),
    "unknown option": ({}, ["--epsilom", "1"], "No such option"),
    "unknown mechanism": ({}, ["--mechanism", "magic"], "Invalid value for '--mechanism'"),
    "missing key": ({}, ["--key-file", "no", "--after", ":"], "no: No such file or directory"),
    "short key": (
        {"key": "abc", "t.txt": "1: a\n"},
        ["--key-file", "key", "--after", ":"],
        "key: key must be at least 16 bytes",
    ),
    "key and seed": ({}, ["--key-file", "k", "--seed", "1"], "--seed and --key-file exclude"),
    "id without key": ({}, ["--id", "id"], "--id names the ids of a keyed release"),
    "bad costs": (
        {"c.csv": "true,written,cost\na,x,1\n"},
        ["--costs", "c.csv"],
        "c.csv, row 2: 'x' is not a symbol of the model",
    ),
    "negative cost": (
        {"c.csv": "true,written,cost\na,b,1\nb,a,-1/2\n"},
        ["--costs", "c.csv"],
        "c.csv, row 3, column cost: a cost must be at least 0, not -1/2",
    ),
    "negative cost in a square": (
        {"c.csv": "true,a,b,c\na,0,1,1\nb,1,0,-3\nc,1,1,0\n"},
        ["--costs", "c.csv"],
        "c.csv, row 3, column c: a cost must be at least 0, not -3",
    ),
    "too many arguments": ({}, ["a", "hidden"], "unexpected arguments"),
    "output replaces the trips": (
        {},
        ["-o", "t.txt"],
        "--output would replace t.txt, which this command reads",
    ),
    "output replaces the model": ({}, ["-o", "roads.csv"], "--output would replace roads.csv"),
    "output replaces the key": (
        {"key": "k" * 32, "t.txt": "1: a\n"},
        ["--key-file", "key", "--after", ":", "-o", "./key"],
        "--output would replace key, which this command reads",
    ),
    "output in another format": (
        {"t.csv": "trip\na b\n"},
        ["t.csv", "-o", "out.parquet"],
        "out.parquet: the suffix tells parquet, but the releases are csv",
    ),
    "missing costs": ({}, ["--costs", "no.csv"], "no.csv: No such file or directory"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_in_one_line_and_nothing_is_written(run: Any, case: str) -> None:
    files, arguments, message = BAD[case]
    for name, content in {"roads.csv": EDGES, "t.txt": "a b\nb c a\n", **files}.items():
        run.file(name, content)
    before = run.names()
    trips = arguments[:1] if arguments[:1] and not arguments[0].startswith("-") else []
    status = run(
        *("release", *(trips or ["t.txt"]), "--model", "roads.csv", "--epsilon", "3"),
        *("-o", "out.txt", *arguments[len(trips) :]),
    )
    assert status == 2
    assert run.out == ""
    assert run.err.startswith(f"dpauto: {message}")
    assert run.err.count("\n") == 1
    assert "hidden" not in run.err
    assert run.names() == before


def test_a_failure_leaves_the_old_output(run: Any) -> None:
    run.file("out.txt", "old")
    run.file("t.txt", "a\nx\n")
    assert run("release", "t.txt", "--model", "all:ab", "--epsilon", "1", "-o", "out.txt") == 2
    assert (run.folder / "out.txt").read_text() == "old"


def test_a_table_without_trips_is_told(run: Any) -> None:
    run.file("t.csv", "id,trip\n")
    assert run("release", "t.csv", "--model", "all:ab", "--epsilon", "1", "-o", "o.csv") == 0
    assert run.err == "dpauto: there is no trip in t.csv\n"
    assert (run.folder / "o.csv").read_text() == "id,trip\n"


def test_an_event_log_comes_out_as_one(run: Any) -> None:
    traces = {"1 <a>": ["register", "check & pay", "close"], "2": ["register", "close"]}
    log = "".join(
        f'<trace><string key="concept:name" value={quoteattr(case)}/>'
        + "".join(
            f'<event><date key="time:timestamp" value="hidden"/>'
            f'<string key="concept:name" value={quoteattr(activity)}/></event>'
            for activity in activities
        )
        + "</trace>"
        for case, activities in traces.items()
    )
    run.file("log.xes", f"<log>{log}</log>")
    run.file(
        "steps.csv",
        "source,target\nregister,check & pay\nregister,close\ncheck & pay,close\nclose,register\n",
    )
    run.file("key", "k" * 32)
    command = ["release", "log.xes", "--model", "steps.csv", "--key-file", "key", "-o", "o.xes"]
    assert run(*command, "--epsilon", "500") == 0
    text = (run.folder / "o.xes").read_text()
    with (run.folder / "o.xes").open("rb") as raw:
        assert dict(traces_of("o.xes", raw)) == traces
    # What belongs to the true activities stays behind.
    assert "hidden" not in text
    # A key and the traces' names make a release repeatable, so it can be resumed.
    assert run(*command, "--epsilon", "1", "--resume") == 0
    first = (run.folder / "o.xes").read_bytes()
    assert run(*command, "--epsilon", "1") == 0
    assert (run.folder / "o.xes").read_bytes() == first
    assert run(*command, "--epsilon", "1", "--id", "case") == 2
    assert "xes trips have no columns; with --key-file the name of a trace is its id" in run.err


def test_an_event_log_must_be_one_and_must_hold_the_symbols(run: Any) -> None:
    run.file("bad.xes", "<log><trace>")
    run.file("none.xes", "<log/>")
    run.file("unnamed.xes", "<log><trace><event/></trace></log>")
    for name, message in {
        "bad.xes": "bad.xes, row 1: not XES;",
        "none.xes": "none.xes: the log has no trace",
        "unnamed.xes": "unnamed.xes, trace 1: an event has no concept:name",
    }.items():
        assert run("release", name, "--model", "all:ab", "--epsilon", "1", "-o", "o.xes") == 2
        assert run.err.startswith(f"dpauto: {message}")
    run.file(
        "log.xes", '<log><trace><event><string key="concept:name" value="a"/></event></trace></log>'
    )
    run.file("m.json", '{"kind": "markov-chain", "states": ["a", "\\u0001"], "transitions": {}}')
    assert run("release", "log.xes", "--model", "m.json", "--epsilon", "1", "-o", "o.xes") == 2
    assert "has a character that XML cannot hold" in run.err
    assert "o.xes" not in run.names()


def test_uci_sequences_are_released_below_their_preamble(run: Any) -> None:
    head = "% Different categories found in input file:\n\nfront news\n\n\n% Sequences:\n\n"
    run.file("s.seq", head + "1 1 \n2 \n1 2 2 \n")
    assert run("release", "s.seq", "--model", "all:12", "--epsilon", "500") == 0
    assert run.out == head + "1 1 \n2 \n1 2 2 \n"
    run.file("s.seq", head + "1 1 \n\n1 2 2 \n")
    assert run("release", "s.seq", "--model", "all:12", "--epsilon", "500") == 2
    assert "s.seq, row 9: the trip is empty" in run.err


def test_a_failed_run_over_parquet_is_told_in_one_line(run: Any) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"trip": ["a b", "hidden"]}), "t.parquet")
    command = ["release", "t.parquet", "--model", "all:ab", "--epsilon", "1", "-o", "o.parquet"]
    # In a process of its own, which also tells what goes wrong while it ends.
    done = subprocess.run(
        [sys.executable, "-m", "dpauto", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("dpauto: t.parquet, row 2, column trip: the symbol at position 1")
    assert done.stderr.count("\n") == 1
    assert run.names() == ["t.parquet"]


def test_ambiguous_texts_name_the_model(run: Any) -> None:
    run.file(
        "m.json",
        '{"kind": "markov-chain", "states": [1, "1"], "transitions": [[1, "1", 1], ["1", 1, 1]]}',
    )
    run.file("t.txt", "1 1\n")
    assert run("release", "t.txt", "--model", "m.json", "--epsilon", "1") == 2
    assert run.err.startswith("dpauto: m.json: the symbols 1 and '1' have the same text")
