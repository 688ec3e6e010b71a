"""Comparing mechanisms."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from triangle import CLASSES, TRIANGLE, WORDS, laws

from dpauto import (
    InvalidArgument,
    InvalidCertificate,
    InvalidWord,
    Language,
    PermuteAndFlip,
    certify,
    compare,
)


@pytest.mark.usefixtures("route")
def test_rows_are_the_mixture_of_the_words() -> None:
    rows = compare(TRIANGLE, WORDS, epsilons=["1/2", 4], adjacency=2)
    assert [(row.epsilon, row.mechanism) for row in rows] == [
        (epsilon, name) for epsilon in (Fraction(1, 2), 4) for name in CLASSES
    ]
    for row in rows:
        pmf = np.mean([law.pmf for law in laws(row.mechanism, row.epsilon, 2)], axis=0)
        distance = np.arange(6)
        mean = pmf @ distance
        assert row.mean == pytest.approx(mean, abs=1e-11)
        assert row.deviation**2 == pytest.approx(pmf @ (distance - mean) ** 2, abs=1e-11)
        assert row.unchanged == pytest.approx(pmf[0], abs=1e-12)


def test_all_words_have_one_law() -> None:
    language = Language.all_words("ab", 40)
    words = ["ab" * 20, "b" * 40]
    both = compare(language, words, epsilons=[2], adjacency=1)
    assert both == compare(language, words[:1], epsilons=[2], adjacency=1)


def test_costs_leave_online_out_and_give_the_mean_cost() -> None:
    costs = [[0, 1, 4], [1, 0, 2], [4, 2, 0]]
    rows = compare(TRIANGLE, WORDS, epsilons=[3], adjacency=1, costs=costs)
    assert [row.mechanism for row in rows] == ["permute-and-flip", "exponential"]
    made = PermuteAndFlip(TRIANGLE, epsilon=3, costs=costs)
    mean = np.mean([made.error_law(w).mean for w in WORDS])
    assert rows[0].mean == pytest.approx(mean, abs=1e-11)


def test_certificates_add_calibrated_rows() -> None:
    seen = []
    certificate: Any = SimpleNamespace(
        mechanism="exponential",
        exponent=Fraction(2),
        verify_for=lambda *arguments: seen.append(arguments),
    )
    rows = compare(
        TRIANGLE,
        WORDS,
        epsilons=[2, 3],
        adjacency=1,
        mechanisms=["exponential"],
        certificates={"2": certificate},
    )
    assert [row.mechanism for row in rows] == ["exponential", "calibrated", "exponential"]
    # Exponent 2 is what the exponential mechanism has at epsilon = 4.
    expected = compare(TRIANGLE, WORDS, epsilons=[4], adjacency=1, mechanisms=["exponential"])
    assert rows[1][2:] == pytest.approx(expected[0][2:])
    assert [arguments[0] for arguments in seen] == [TRIANGLE]


def test_words_that_do_not_fit_are_placed_and_not_shown() -> None:
    with pytest.raises(InvalidWord, match="word 2") as caught:
        compare(TRIANGLE, [WORDS[0], "abcabc"], epsilons=[1], adjacency=1)
    assert "abcabc" not in str(caught.value)


def test_calibrated_rows_need_certificates_and_feasible_words() -> None:
    arguments: dict[str, Any] = {"epsilons": [4], "adjacency": 1}
    with pytest.raises(InvalidArgument, match="needs one for epsilon 4"):
        compare(TRIANGLE, WORDS, mechanisms=["calibrated"], **arguments)
    with pytest.raises(InvalidArgument, match="mechanism must be 'permute-and-flip'"):
        compare(TRIANGLE, WORDS, mechanisms=["laplace"], **arguments)
    certificate = certify(TRIANGLE, epsilon=4, adjacency=1)
    arguments["certificates"] = {4: certificate}
    rows = compare(TRIANGLE, WORDS, mechanisms=["calibrated"], **arguments)
    assert [row.mechanism for row in rows] == ["calibrated"]
    with pytest.raises(InvalidWord, match="word 2 must be feasible") as caught:
        compare(TRIANGLE, [WORDS[0], "acbac"], **arguments)
    assert "acbac" not in str(caught.value)
    with pytest.raises(InvalidArgument, match="leave costs out"):
        compare(TRIANGLE, WORDS, costs=[[0, 1, 1], [1, 0, 1], [1, 1, 0]], **arguments)
    arguments["adjacency"] = 2
    with pytest.raises(InvalidCertificate, match="adjacency"):
        compare(TRIANGLE, WORDS, **arguments)
