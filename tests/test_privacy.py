"""Privacy parameters are exact numbers, and what is no positive number is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from dpauto.errors import InvalidArgument
from dpauto.privacy import Privacy, parse_adjacency, parse_epsilon


@given(strategies.epsilons)
def test_epsilon_is_read_as_written(pair):
    written, meant = pair
    assert parse_epsilon(written) == meant


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=1000))
def test_fractions_and_their_text_are_kept(value):
    assert parse_epsilon(value) == parse_epsilon(str(value)) == value


@given(st.decimals(min_value="1e-9", max_value="1e9", allow_nan=False, places=30))
def test_decimals_of_any_length_are_kept(value):
    assert parse_epsilon(value) == Fraction(value)
    assert parse_epsilon(str(value)) == Fraction(value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (np.int64(3), Fraction(3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.float32(1e20), Fraction(10**20)),
        ("1e-2", Fraction(1, 100)),
        (" 0.5 ", Fraction(1, 2)),
        ("1 / 3", Fraction(1, 3)),
    ],
)
def test_other_spellings(written, meant):
    exact = parse_epsilon(written)
    assert exact == meant
    # A numpy integer inside a fraction would overflow silently.
    assert type(exact.numerator) is type(exact.denominator) is int


@pytest.mark.parametrize(
    "bad",
    [
        0,
        -1,
        0.0,
        -0.5,
        "0",
        "-1/3",
        "1/0",
        float("nan"),
        float("inf"),
        -float("inf"),
        "nan",
        "inf",
        Decimal("nan"),
        Decimal("inf"),
        np.nan,
        True,
        False,
        np.True_,
        None,
        "",
        "one",
        "1e999999999",
        "1e-999999999",
        Decimal("1e999999999"),
        b"1",
        1j,
        [1],
    ],
)
def test_what_is_no_positive_number_is_refused(bad):
    with pytest.raises(InvalidArgument, match="epsilon must be a positive number"):
        parse_epsilon(bad)
    with pytest.raises(ValueError, match="tolerance must be"):
        parse_epsilon(bad, name="tolerance")


@pytest.mark.parametrize("bad", [0, -1, 1.0, 1.5, "1", True, np.True_, None, Fraction(2)])
def test_adjacency_must_be_a_whole_number(bad):
    with pytest.raises(InvalidArgument, match="adjacency must be a whole number"):
        parse_adjacency(bad)


def test_adjacency_may_be_a_numpy_integer():
    assert type(parse_adjacency(np.int32(2))) is int


@given(strategies.epsilons, strategies.adjacencies)
def test_exponent_is_epsilon_over_two_b(pair, b):
    assert Privacy.of(epsilon=pair[0], adjacency=b).exponent == pair[1] / (2 * b)
