"""The book of what people have spent: exact, atomic, safe among processes."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpauto import BudgetExceeded, KeyedBits, Ledger, ReleasePlan, release_table
from dpauto.cli import main
from dpauto.errors import InvalidArgument, InvalidFile

PRICES = st.sampled_from(["0.1", "1/3", "1/7", "2"])


@given(st.lists(st.tuples(st.sampled_from("xyz"), PRICES), max_size=30))
def test_nobody_ever_spends_more_than_the_budget(charges: list[tuple[str, str]]) -> None:
    budget = Fraction("3/2")
    spent = dict.fromkeys("xyz", Fraction(0))
    with Ledger(":memory:", budget=budget) as ledger:
        for subject, price in charges:
            expected = spent[subject] + Fraction(price) <= budget
            assert ledger.charge([subject], price) == [expected]
            spent[subject] += expected * Fraction(price)
        assert {subject: ledger.spent(subject) for subject in "xyz"} == spent


def test_ten_tenths_are_one() -> None:
    with Ledger(":memory:", budget=1) as ledger:
        assert ledger.charge(["x"] * 11, 0.1) == [True] * 10 + [False]
        assert ledger.spent("x") == 1


def test_identified_releases_are_charged_once() -> None:
    with Ledger(":memory:", budget=2) as ledger:
        assert ledger.charge(["x", "x"], 1, [b"1", b"2"]) == [True, True]
        assert ledger.charge(["x", "x", "x"], 1, [b"2", b"3", b"1"]) == [True, False, True]
        assert ledger.spent("x") == 2


def fail_inside(ledger: Ledger) -> None:
    with ledger.all_or_nothing():
        assert ledger.charge(["x", "x", "y"], 2) == [True] * 3
        assert ledger.charge(["x"], 2, [b"kept"]) == [True]
        assert ledger.spent("x") == 7
        raise KeyboardInterrupt


def test_failures_give_back_what_was_charged(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger")
    with Ledger(path, budget=9) as ledger:
        ledger.charge(["x", "y"], 1)
        with Ledger(path, budget=9) as other, pytest.raises(KeyboardInterrupt):
            fail_inside(other)
        assert (ledger.spent("x"), ledger.spent("y")) == (3, 1)


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("somebody's notes, long enough to be looked at twice" * 40)
    with pytest.raises(InvalidFile, match="not a ledger"):
        Ledger(str(tmp_path / "t"), budget=1)
    import sqlite3

    with sqlite3.connect(tmp_path / "other") as base:
        base.execute("CREATE TABLE mine (x)")
    with pytest.raises(InvalidFile, match="not a ledger of this version"):
        Ledger(str(tmp_path / "other"), budget=1)
    with pytest.raises(InvalidArgument, match="budget"):
        Ledger(":memory:", budget=0)


def test_processes_share_a_budget(tmp_path: Path) -> None:
    code = (
        "import sys; from dpauto import Ledger\n"
        "with Ledger(sys.argv[1], budget=10) as ledger:\n"
        "    print(sum(ledger.charge(['x', 'y'], '1/10')[0] for _ in range(60)))"
    )
    path = str(tmp_path / "ledger")
    running = [
        subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    granted = [int(process.communicate(timeout=120)[0]) for process in running]
    assert sum(granted) == 100
    with Ledger(path, budget=10) as ledger:
        assert (ledger.spent("x"), ledger.spent("y")) == (10, 10)


# -- runs with a ledger ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "t.csv").write_text(
        "id,who,trip\n1,secretive,a b\n2,bob,b b\n3,secretive,b\n4,secretive,a\n"
    )
    return tmp_path


def spent(name: str) -> Fraction:
    with Ledger("ledger.db", budget=1) as ledger:
        return ledger.spent(name)


def command(*more: str, budget: str = "5/2") -> list[str]:
    ledger = ["--ledger", "ledger.db", "--subject", "who", "--budget", budget]
    return ["release", "t.csv", "--model", "all:ab", "--epsilon", "1", *ledger, *more]


def test_a_run_beyond_a_budget_is_refused_and_costs_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command("-o", "out.csv")) == 2
    message = capsys.readouterr().err
    assert message.startswith(
        "dpauto: t.csv, row 5: its subject has less than 1 left of the budget"
    )
    assert "secretive" not in message
    assert not (folder / "out.csv").exists()
    assert (spent("secretive"), spent("bob")) == (0, 0)


def test_skipping_leaves_out_what_cannot_be_afforded(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for expected, out in (("rows 5", [1, 2, 3]), ("rows 2, 4, 5", [2])):
        assert main(command("--on-error", "skip")) == 0
        shown = capsys.readouterr()
        assert expected in shown.err
        assert [int(line[0]) for line in shown.out.splitlines()[1:]] == out
    assert (spent("secretive"), spent("bob")) == (2, 2)


def test_a_keyed_run_asked_again_costs_nothing_and_another_one_does(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keyed = ["--key-file", "key", "--id", "id"]
    outputs = []
    for _ in range(3):
        assert main(command(*keyed, budget="3")) == 0
        outputs.append(capsys.readouterr().out)
    assert len(set(outputs)) == 1
    assert (spent("secretive"), spent("bob")) == (3, 1)
    # Another word under the same id is another release.
    (folder / "t.csv").write_text("id,who,trip\n2,bob,a b\n")
    assert main(command(*keyed, budget="3")) == 0
    assert spent("bob") == 2
    assert main(command(*keyed, "--adjacency", "2", budget="3")) == 0
    assert spent("bob") == 3
    assert main(command(*keyed, "--mechanism", "online", budget="3")) == 2


def test_words_that_cannot_be_released_are_not_charged(folder: Path) -> None:
    (folder / "t.csv").write_text("id,who,trip\n1,ann,a x\n2,ann,a\n3,ann,\n4,bob,b x\n")
    for more in ([], ["--key-file", "key", "--id", "id"]):
        assert main(command("--on-error", "skip", *more, "-o", "o.csv")) == 0
    assert (spent("ann"), spent("bob")) == (2, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--budget", "none"], "budget must be a positive number"),
        (["--subject", "whom"], "no column 'whom'"),
    ],
)
def test_bad_options(
    folder: Path, change: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(*change)) == 2
    assert message in capsys.readouterr().err


def test_the_options_go_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = ["release", "t.csv", "--model", "all:ab", "--epsilon", "1"]
    assert main([*base, "--ledger", "l", "--budget", "1"]) == 2
    assert "--ledger, --subject and --budget go together" in capsys.readouterr().err
    (folder / "t.txt").write_text("a b\n")
    ledger = ["--ledger", "l", "--budget", "1", "--subject", "who"]
    assert main(["release", "t.txt", *base[2:], *ledger]) == 2
    assert "a ledger needs a table" in capsys.readouterr().err


def test_frames_with_a_ledger() -> None:
    pd: Any = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"id": [1, 2, 3], "who": ["x", "y", "x"], "trip": ["a", "b", "a b"]})
    options = {"rng": KeyedBits(bytes(16)), "record_column": "id", "epsilon": 1}
    with Ledger(":memory:", budget="3/2") as ledger:
        plan = ReleasePlan("all:ab", **options)
        with pytest.raises(BudgetExceeded, match="table, row 3: its subject"):
            release_table(frame, plan=plan, ledger=ledger, subject_column="who")
        plan = ReleasePlan("all:ab", on_error="skip", **options)
        out = release_table(frame, plan=plan, ledger=ledger, subject_column="who")
        assert out["id"].tolist() == [1, 2]
        with pytest.raises(InvalidArgument, match="go together"):
            release_table(frame, plan=plan, ledger=ledger)
