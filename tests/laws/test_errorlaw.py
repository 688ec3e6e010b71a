"""Questions to a law: cdf, quantiles, and what its text gives away."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpauto import InvalidArgument
from dpauto.laws import ErrorLaw

LAW = ErrorLaw.of(np.array([0.0, 0.25, 0.25, 0.5, 0.0]))


def test_mean_and_variance() -> None:
    assert (LAW.mean, LAW.variance) == (2.25, 0.6875)


@pytest.mark.parametrize(
    ("x", "expected"), [(-1, 0), (0.5, 0), (1, 0.25), (2.9, 0.5), (3, 1), (99, 1), (np.inf, 1)]
)
def test_cdf(x: float, expected: float) -> None:
    assert LAW.cdf(x) == expected


def test_cdf_of_arrays() -> None:
    np.testing.assert_array_equal(LAW.cdf([[0, 1], [2, 3]]), [[0, 0.25], [0.5, 1]])


@pytest.mark.parametrize(("q", "expected"), [(0, 1), (0.25, 1), (0.26, 2), (0.5, 2), (1, 3)])
def test_quantiles(q: float, expected: int) -> None:
    assert LAW.quantile(q) == expected


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9).filter(any), st.floats(0, 1))
def test_a_quantile_is_the_first_distance_that_reaches_q(weights: list[int], q: float) -> None:
    law = ErrorLaw.of(np.array(weights) / sum(weights))
    d = law.quantile(q)
    assert law.cdf(d) >= q - 1e-12
    assert law.pmf[d] > 0
    assert d == 0 or law.cdf(d - 1) < q or not law.pmf[:d].any()


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan")])
def test_quantiles_outside_their_range(q: float) -> None:
    with pytest.raises(InvalidArgument, match="between 0 and 1"):
        LAW.quantile(q)


def test_nan_is_no_distance() -> None:
    with pytest.raises(InvalidArgument, match="NaN"):
        LAW.cdf(float("nan"))


def test_laws_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        LAW.pmf[0] = 1
    with pytest.raises(AttributeError):
        LAW.mean = 0  # type: ignore[misc]
