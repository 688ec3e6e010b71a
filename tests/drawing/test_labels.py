"""Labels: no two values look alike, and none depends on hashes or addresses."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from dpauto.arrays import START
from dpauto.drawing.labels import Labeller, join_symbols, literal, probability_text


class Plain:
    """Has Python's own repr, with an address in it."""


@given(st.lists(st.one_of(st.text(max_size=4), st.sampled_from(strategies.SYMBOLS)), unique=True))
def test_different_values_have_different_visible_labels(values: list[Any]) -> None:
    text = Labeller(values).text
    labels = [text(value) for value in values]
    assert len(set(labels)) == len(values)
    assert all(label.isprintable() and label.strip() for label in labels)


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=6, unique=True))
def test_lists_of_symbols_can_be_told_apart(values: list[str]) -> None:
    # "a, b" as one symbol must not read as the two symbols a and b.
    text = Labeller([*values, ", ".join(values)]).text
    assert join_symbols([text(v) for v in values]) != text(", ".join(values)) or len(values) == 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["sun", "rain"], ["sun", "rain"]),
        ([1, 2], ["1", "2"]),
        ([1, "1"], ["1", "'1'"]),
        (["a", "a b"], ["a", "a b"]),
        (["a", "a, b"], ["'a'", "'a, b'"]),
        (["a", " a"], ["'a'", "' a'"]),
        (["a", ""], ["'a'", "''"]),
        (["a", "\n"], ["'a'", "'\\n'"]),
        ([("a", 1), frozenset({"y", "x"})], ["('a', 1)", "{'x', 'y'}"]),
        ([START, "start"], ["start", "start #2"]),
    ],
)
def test_examples(values: list[Any], expected: list[str]) -> None:
    assert [Labeller(values).text(value) for value in values] == expected


def test_objects_without_a_repr_are_numbered() -> None:
    first, second = Plain(), Plain()
    text = Labeller([first, second]).text
    assert text(first).endswith("Plain object>")
    assert text(second) == f"{text(first)} #2"


def test_sets_do_not_depend_on_hashes() -> None:
    script = (
        "from dpauto.drawing.labels import literal;"
        "import sys; sys.stdout.write(literal((frozenset('qwertyuiop'), 1)))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert texts == {literal((frozenset("qwertyuiop"), 1))}


@pytest.mark.parametrize(
    ("probability", "expected"),
    [
        (1, "1"),
        (1.0, "1"),
        (0.25, "0.25"),
        (1 / 7, "1/7"),
        (Fraction(1, 7), "1/7"),
        (Fraction(2, 10_001), "≈ 0.0002"),
        (0.123456, "≈ 0.123"),
        (1e-30, "1e-30"),
        (Fraction(3**400, 7**400), "≈ 6.45e-148"),
    ],
)
def test_probabilities(probability: Any, expected: str) -> None:
    assert probability_text(probability) == expected
