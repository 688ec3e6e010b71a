"""`dpauto release` says when a guarantee is nearly empty, from public quantities alone."""

from __future__ import annotations

from typing import Any

LONELY = "source,target\na,b\nb,a\n"
FREE = "source,target\na,a\na,b\nb,a\nb,b\n"


def released(run: Any, model: str, trips: str, adjacency: int) -> str:
    run.file("m.csv", model)
    run.file("t.txt", trips)
    status = run(
        *("release", "t.txt", "--model", "m.csv", "--epsilon", "3"),
        *("--adjacency", str(adjacency), "-o", "out.txt"),
    )
    assert status == 0
    return str(run.err)


def test_it_warns_when_nobody_is_near(run: Any) -> None:
    # The only other word of four symbols, b a b a, is four substitutions away.
    told = released(run, LONELY, "a b a b\n", 1)
    assert told.startswith("dpauto: the guarantee is nearly empty: most feasible words of length 4")
    assert told.count("\n") == 1
    assert released(run, LONELY, "a b a b\n", 4) == ""


def test_it_is_silent_where_there_are_neighbours(run: Any) -> None:
    assert released(run, FREE, "a b a b\n", 1) == ""


def test_it_does_not_depend_on_the_words(run: Any) -> None:
    # Same length, other words, feasible or not: the same warning.
    warnings = {released(run, LONELY, f"{trip}\n", 1) for trip in ("a b a b", "b a b a", "a a a a")}
    assert len(warnings) == 1
