"""Probabilities as balls, and their logarithms enclosed between two floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from dpauto.names import EXPONENTIAL
from dpauto.passes.weights import ball

__all__ = ["BITS", "Enclosure", "as_ball", "log_enclosure", "offline_balls"]

#: The floats that a number lies between.
Enclosure: TypeAlias = tuple[float, float]

BITS = 256


def as_ball(value: Any) -> Any:
    """Return an int, Fraction, float or arb as a ball; rationals are enclosed, floats exact."""
    from flint import arb

    if isinstance(value, arb):
        return value
    if isinstance(value, Fraction | int):
        return ball(value)
    return arb(float(value))


def log_enclosure(number: Any) -> Enclosure:
    """Return floats around the logarithm of a ball; minus infinity for a probability of 0."""
    if number == 0:
        return -math.inf, -math.inf
    low = number.lower()
    log_low = -math.inf if low <= 0 else math.nextafter(float(low.log().lower()), -math.inf)
    return log_low, math.nextafter(float(number.upper().log().upper()), math.inf)


def offline_balls(
    counts: Sequence[int], costs: Sequence[int], unit: Fraction, mechanism: str
) -> list[Any]:
    """Return the probability of one word of every cell, as balls at the current precision.

    Parameters
    ----------
    counts : sequence of int
        Words in each cell, all positive.
    costs : sequence of int
        Cost of each cell's words, ascending.
    unit : Fraction
        a per cost unit.
    mechanism : {"permute-and-flip", "exponential"}

    Notes
    -----
    Permute-and-flip releases v with probability p_v * integral_0^1 prod_{u != v} (1 - p_u t) dt. In
    s = 1 - t the factors are (1 - p_u) + p_u s: a polynomial with positive coefficients only, which
    is integrated term by term without cancellation.
    """
    from flint import arb, arb_poly

    a = as_ball(unit)
    p = [(-a * (c - costs[0])).exp() for c in costs]
    if mechanism == EXPONENTIAL:
        total = sum((count * q for count, q in zip(counts, p, strict=True)), arb(0))
        return [q / total for q in p]
    factors = [arb_poly([1 - q, q]) for q in p]
    powers = [f**count for f, count in zip(factors, counts, strict=True)]
    one = arb_poly([1])
    before, after = [one], [one]
    for k in range(len(p) - 1):
        before.append(before[-1] * powers[k])
        after.append(after[-1] * powers[-1 - k])
    found = []
    for k, q in enumerate(p):
        others = before[k] * after[len(p) - 1 - k] * factors[k] ** (counts[k] - 1)
        integral = sum((c / (i + 1) for i, c in enumerate(others.coeffs())), arb(0))
        found.append(q * integral)
    return found
