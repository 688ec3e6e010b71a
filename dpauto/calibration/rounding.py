"""Floating-point numbers with a proven bound on their error, and exact logarithms.

Everything computed here is a sum, product or quotient of non-negative numbers, so relative errors
only add up (Lemma 1 of the page on certified calibration). Results are then moved outwards by more
than that error: `up` and `down` say how many roundings they cover.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Discount", "FloatArray", "TooLoose", "down", "largest", "log_up", "smallest", "up"]

FloatArray: TypeAlias = NDArray[np.float64]

#: Twice the unit roundoff of float64: one rounding, with room for the products of roundings.
ROUNDING = 2.0**-52
#: Ratios outside of these cannot be multiplied without leaving the range of float64.
LARGEST, SMALLEST = 2.0**300, 2.0**-300
#: A fixed point counts as reached when it moves by less, relatively.
SETTLED = 2.0**-43
ITERATIONS = 60
#: Most factors exp(-exponent) that one product may hold, as an exponent of e.
DEEPEST = 200
#: Correctly rounded decimal arithmetic, far beyond float64.
DECIMAL = Context(prec=50)


class TooLoose(Exception):
    """A bound has left the range of float64; the caller takes another one."""


@dataclass(frozen=True)
class Discount:
    """z = exp(-exponent), what one wrong symbol costs a word's weight, and 1 - z.

    Both are within one rounding of the real numbers: the exponential is taken in correctly rounded
    decimal arithmetic.
    """

    exponent: Fraction
    z: float
    rest: float

    @classmethod
    def of(cls, exponent: Fraction) -> Discount:
        """Return the discount of a positive exponent.

        Raises
        ------
        TooLoose
            If it is below exp(-130).
        """
        if exponent * 100 > 13000:
            raise TooLoose
        value = DECIMAL.exp(_decimal(-exponent))
        return cls(exponent, float(value), float(DECIMAL.subtract(Decimal(1), value)))

    def power(self, k: int) -> float:
        """Return z**k, with at most 2 k roundings."""
        # pow() promises no accuracy; products do.
        value = 1.0
        for _ in range(k):
            value *= self.z
        return value

    def deepest(self) -> int:
        """Return how many factors z a product may hold without underflow."""
        return int(DEEPEST / self.exponent)


def _decimal(value: Fraction) -> Decimal:
    return DECIMAL.divide(Decimal(value.numerator), Decimal(value.denominator))


def log_up(value: float | Fraction) -> Fraction:
    """Return a rational number at least log(value), and above it by less than 1e-30 in relation."""
    exact = Fraction(value)
    logarithm = Fraction(DECIMAL.ln(_decimal(exact)))
    return logarithm + Fraction(1, 10**30) * max(Fraction(1), abs(logarithm))


def up(values: FloatArray, roundings: int) -> FloatArray:
    """Return upper bounds of numbers that were computed with at most so many roundings.

    Raises
    ------
    TooLoose
        If a bound is too large to compute with.
    """
    bounds = values * (1 + roundings * ROUNDING)
    if not bool((bounds <= LARGEST).all()):
        raise TooLoose
    # Zero is exact: sums of non-negative terms vanish only when no term is there.
    return np.where(bounds > 0, np.maximum(bounds, SMALLEST), 0.0)


def down(values: FloatArray, roundings: int) -> FloatArray:
    """Return lower bounds of numbers that were computed with at most so many roundings."""
    bounds = values * (1 - roundings * ROUNDING)
    return np.where(bounds >= SMALLEST, bounds, 0.0)


def largest(
    n: FloatArray,
    d: FloatArray,
    lo: FloatArray,
    hi: FloatArray,
    *,
    start: FloatArray | None = None,
) -> FloatArray:
    """Return an upper bound of sum(n y) / sum(d y) over lo <= y <= hi, along the last axis.

    The maximum takes y = hi where n / d exceeds it and y = lo elsewhere (Lemma 2). Dinkelbach's
    iteration proposes a bound slightly above the maximum, one more sum proves it, and what cannot
    be proven is replaced by sum(n hi) / sum(d lo).

    Parameters
    ----------
    n, d, lo, hi : float arrays
        Non-negative, of shapes that broadcast; sum(d lo) is positive.
    start : float array, optional
        Where to start the iteration; any numbers will do.

    Raises
    ------
    TooLoose
        If the bound is too large to compute with.
    """
    roundings = 2 * n.shape[-1] + 16
    ratio = (n * lo).sum(-1) / (d * lo).sum(-1) if start is None else start
    for _ in range(ITERATIONS):
        y = np.where(n > ratio[..., None] * d, hi, lo)
        following = (n * y).sum(-1) / (d * y).sum(-1)
        settled = bool((np.abs(following - ratio) <= SETTLED * ratio).all())
        ratio = following
        if settled:
            break
    bound = ratio * (1 + 16 * SETTLED + 2 * roundings * ROUNDING)
    y = np.where(n >= (1 - 2 * ROUNDING) * (bound[..., None] * d), hi, lo)
    proven = (n * y).sum(-1) <= (1 - roundings * ROUNDING) * (bound * (d * y).sum(-1))
    if not proven.all():
        crude = up((n * hi).sum(-1) / (d * lo).sum(-1), roundings)
        bound = np.where(proven, bound, crude)
    return up(bound, 2)


def smallest(
    n: FloatArray,
    d: FloatArray,
    lo: FloatArray,
    hi: FloatArray,
    *,
    start: FloatArray | None = None,
) -> FloatArray:
    """Return a lower bound of sum(n y) / sum(d y) over lo <= y <= hi, along the last axis."""
    roundings = 2 * n.shape[-1] + 16
    ratio = (n * lo).sum(-1) / (d * lo).sum(-1) if start is None else start
    for _ in range(ITERATIONS):
        y = np.where(n < ratio[..., None] * d, hi, lo)
        following = (n * y).sum(-1) / (d * y).sum(-1)
        settled = bool((np.abs(following - ratio) <= SETTLED * ratio).all())
        ratio = following
        if settled:
            break
    bound = ratio * (1 - 16 * SETTLED - 2 * roundings * ROUNDING)
    y = np.where(n <= (1 + 2 * ROUNDING) * (bound[..., None] * d), hi, lo)
    proven = (n * y).sum(-1) >= (1 + roundings * ROUNDING) * (bound * (d * y).sum(-1))
    if not proven.all():
        crude = down((n * lo).sum(-1) / (d * hi).sum(-1), roundings)
        bound = np.where(proven, bound, crude)
    return down(bound, 2)
