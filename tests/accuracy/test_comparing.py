"""Comparing mechanisms, and choosing epsilon for a target."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import oracles
import pytest

from dpauto import (
    Exponential,
    InvalidArgument,
    InvalidWord,
    Language,
    MarkovChain,
    Online,
    PermuteAndFlip,
    choose_epsilon,
    compare,
)
from dpauto.accuracy import comparing

EDGES = {"a": "ab", "b": "bc", "c": "ac"}
TRIANGLE = MarkovChain(
    states="abc", transitions={s: dict.fromkeys(t, 0.5) for s, t in EDGES.items()}
).language(5)
WORDS = [w for w in oracles.graph_words(EDGES, 5) if w[0] == "a"][:4]
CLASSES: dict[str, Any] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": Exponential,
    "online": Online,
}


def laws(mechanism: str, epsilon: Any, adjacency: int = 1) -> list[Any]:
    made = CLASSES[mechanism](TRIANGLE, epsilon=epsilon, adjacency=adjacency)
    return [made.error_law(w) for w in WORDS]


@pytest.fixture(params=[True, False], ids=["by counts", "by moments"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(comparing, "COUNT_BITS", 0)


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
        ({"mechanism": "calibrated"}, "certificate"),
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


def test_words_that_do_not_fit_are_placed_and_not_shown() -> None:
    with pytest.raises(InvalidWord, match="word 2") as caught:
        compare(TRIANGLE, [WORDS[0], "abcabc"], epsilons=[1], adjacency=1)
    assert "abcabc" not in str(caught.value)
