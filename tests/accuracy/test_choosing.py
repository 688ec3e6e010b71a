"""Choosing epsilon for a target."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import oracles
import pytest
from triangle import CLASSES, EDGES, TRIANGLE, WORDS, laws

from dpauto import (
    EmptyNeighbourhood,
    InvalidArgument,
    InvalidWord,
    Language,
    certify,
    choose_epsilon,
)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("mechanism", CLASSES)
@pytest.mark.parametrize("target", [0.05, 1, 2.4])
def test_the_smallest_epsilon_for_a_mean(mechanism: str, target: float) -> None:
    epsilon = choose_epsilon(TRIANGLE, WORDS, adjacency=1, target=target, mechanism=mechanism)

    def mean(value: Fraction) -> float:
        return float(np.mean([law.mean for law in laws(mechanism, value)]))

    assert mean(epsilon) <= target + 1e-12
    assert epsilon == Fraction(1, 1000) or mean(epsilon - Fraction(1, 1000)) > target - 1e-12


@pytest.mark.parametrize("mechanism", CLASSES)
def test_the_smallest_epsilon_for_a_quantile(mechanism: str) -> None:
    epsilon = choose_epsilon(
        TRIANGLE,
        WORDS,
        adjacency=2,
        target=1,
        mechanism=mechanism,
        quantile=0.9,
        precision="1/8",
    )

    def chance(value: Fraction) -> float:
        return float(np.mean([law.cdf(1) for law in laws(mechanism, value, 2)]))

    assert epsilon.denominator in {1, 2, 4, 8}
    assert chance(epsilon) >= 0.9 - 1e-12
    assert chance(epsilon - Fraction(1, 8)) < 0.9


@pytest.mark.parametrize("adjacency", [1, 2])
@pytest.mark.parametrize(("target", "quantile"), [(0.5, None), (1.5, None), (1, 0.9)])
def test_calibrated_epsilon_is_one_that_certify_serves(
    adjacency: int, target: float, quantile: float | None
) -> None:
    def choose(mechanism: str) -> Fraction:
        return choose_epsilon(
            TRIANGLE,
            WORDS,
            adjacency=adjacency,
            target=target,
            quantile=quantile,
            mechanism=mechanism,
            precision="1/16",
        )

    epsilon = choose("calibrated")
    assert epsilon.denominator in {1, 2, 4, 8, 16}
    assert epsilon < min(choose("permute-and-flip"), choose("exponential"))
    certificate = certify(TRIANGLE, epsilon=epsilon, adjacency=adjacency, mechanism="calibrated")
    made = CLASSES[certificate.mechanism](
        TRIANGLE, epsilon=epsilon, adjacency=adjacency, certificate=certificate
    )
    laws = [made.error_law(w) for w in WORDS]
    if quantile is None:
        assert np.mean([law.mean for law in laws]) <= target
    else:
        assert np.mean([law.cdf(target) for law in laws]) >= quantile - 1e-12


def test_calibrated_is_randomized_response_on_all_words() -> None:
    language, word = Language.all_words("abcd", 8), "abcdabcd"
    epsilon = choose_epsilon(language, [word], adjacency=1, target=1, mechanism="calibrated")
    online = choose_epsilon(language, [word], adjacency=1, target=1, mechanism="online")
    assert epsilon == online


def test_calibrated_refuses_what_certificates_do_not_cover() -> None:
    for words in (["abcac"[::-1]], [*WORDS, "aaaac"]):
        row = len(words)
        with pytest.raises(InvalidWord, match=f"words: word {row} must be feasible"):
            choose_epsilon(TRIANGLE, words, adjacency=1, target=3, mechanism="calibrated")
    alone = Language.of(["aaaa", "bbbb"])
    with pytest.raises(EmptyNeighbourhood):
        choose_epsilon(alone, ["aaaa"], adjacency=1, target=1, mechanism="calibrated")


def test_errors_fall_as_epsilon_grows() -> None:
    for mechanism in ("permute-and-flip", "exponential"):
        curves = [
            [law.cdf(np.arange(6)) for law in laws(mechanism, Fraction(k, 4))] for k in range(1, 40)
        ]
        assert (np.diff(np.array(curves), axis=0) >= -1e-13).all()


def test_targets_out_of_reach() -> None:
    # "acbac" breaks every step of the triangle; the nearest feasible words are 2 away or more.
    far = ["acbac"]
    nearest = min(oracles.distance(tuple(far[0]), w) for w in oracles.graph_words(EDGES, 5))
    assert nearest >= 2
    with pytest.raises(InvalidArgument, match="cannot be reached"):
        choose_epsilon(TRIANGLE, far, adjacency=1, target=1)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"target": -1}, "target"),
        ({"target": 0}, "target must be positive"),
        ({"target": float("nan")}, "target"),
        ({"quantile": 1.5}, "quantile"),
        ({"mechanism": "laplace"}, "mechanism"),
        ({"mechanism": "calibrated", "costs": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]}, "costs"),
        ({"adjacency": 0}, "adjacency"),
        ({"precision": 0}, "precision"),
        ({"words": []}, "words"),
        ({"language": "ab"}, "language"),
        ({"mechanism": "online", "costs": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]}, "costs"),
    ],
)
def test_arguments_out_of_range(changes: dict[str, Any], named: str) -> None:
    arguments = {"language": TRIANGLE, "words": WORDS, "adjacency": 1, "target": 1} | changes
    language, words = arguments.pop("language"), arguments.pop("words")
    with pytest.raises(InvalidArgument, match=named):
        choose_epsilon(language, words, **arguments)
