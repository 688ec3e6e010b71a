"""Theorem 2 against known values, itself and a series in high precision."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpauto import InvalidArgument, bounds
from dpauto.laws import law_on_all_words
from dpauto.privacy import Privacy

EXPECTED = Path(__file__).parent.parent / "expected"
CASES = json.loads((EXPECTED / "unconstrained.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_known_bounds(case: dict[str, Any]) -> None:
    found = bounds(case["length"], case["alphabet_size"], case["epsilon"], case["adjacency"])
    assert found.exact == pytest.approx(float(case["permute_and_flip_mean"]), abs=1e-13)
    assert found.upper == pytest.approx(float(case["exponential_mean"]), abs=1e-13)
    assert found.gruss == pytest.approx(float(case["gruss_lower_bound"]), abs=1e-13)


@given(st.integers(1, 60), st.integers(1, 30), st.floats(0.01, 60), st.integers(1, 4))
@settings(max_examples=60)
def test_the_bounds_enclose_the_law(n: int, m: int, epsilon: float, b: int) -> None:
    found = bounds(n, m, epsilon, b)
    tolerance = 1e-13 * max(1, found.upper)
    assert 0 <= found.lower == max(0, found.gruss, found.upper / 2)
    assert found.lower <= found.exact + tolerance
    assert found.exact <= found.upper + tolerance
    c = (m - 1) * math.exp(-epsilon / (2 * b))
    assert found.upper == pytest.approx(n * c / (1 + c), rel=1e-12)
    law = law_on_all_words(n, m, Privacy.of(epsilon=epsilon, adjacency=b).exponent)
    assert found.exact == pytest.approx(law.mean, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("epsilon", [30, 36, 44, 60])
def test_long_words_over_many_symbols(epsilon: int) -> None:
    # n = 10**5, m = 1000. Independent: F from Z_j = (1 + C_j)^n - 1, E[d] by quadrature.
    n, m = 100_000, 1000
    with mpmath.workdps(40):
        z = mpmath.exp(-mpmath.mpf(epsilon) / 2)
        powers = range(1, 12)
        c = {j: (m - 1) * z**j for j in powers}
        total = {j: (1 + c[j]) ** n - 1 for j in powers}
        first = {j: n * c[j] * (1 + c[j]) ** (n - 1) for j in powers}

        def survival(t: mpmath.mpf) -> mpmath.mpf:
            return (1 - t) * mpmath.exp(-mpmath.fsum(total[j] * t**j / j for j in powers))

        # 1 - t and the powers of t cost the first few units of 1 / Z only.
        end = min(mpmath.mpf(1), 100 / (1 + total[1]))
        exact = mpmath.quad(
            lambda t: survival(t) * mpmath.fsum(first[j] * t ** (j - 1) for j in powers),
            mpmath.linspace(0, end, 21),
        )
        ends = mpmath.quad(
            lambda t: survival(t) * (1 / (1 - t) - 1 / (1 - z**n * t)), mpmath.linspace(0, end, 21)
        )
        gruss = n * c[1] / (1 + c[1]) - mpmath.mpf(n) / 4 * (1 + total[1]) * ends
    found = bounds(n, m, epsilon, 1)
    assert found.exact == pytest.approx(float(exact), rel=1e-12)
    assert found.gruss == pytest.approx(float(gruss), rel=1e-11)


def test_extremes_stay_finite() -> None:
    for epsilon in ("1e-9", 1, 1000):
        assert all(map(math.isfinite, bounds(100_000, 1000, epsilon, 1)))
    assert bounds(7, 1, 2, 1)[:3] == (0, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0, 2, 1, 1), "length"),
        ((2.5, 2, 1, 1), "length"),
        ((True, 2, 1, 1), "length"),
        ((2, 0, 1, 1), "alphabet_size"),
        ((2, 2, -1, 1), "epsilon"),
        ((2, 2, 1, 0), "adjacency"),
    ],
)
def test_arguments_out_of_range(arguments: tuple[Any, ...], named: str) -> None:
    with pytest.raises(InvalidArgument, match=named):
        bounds(*arguments)
