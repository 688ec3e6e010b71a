"""From bounds on blocks to a bound on the loss: adding up blocks, and permute-and-flip.

All numbers here are exact rationals or balls of interval arithmetic, moved outwards.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

from dpauto.calibration.rounding import Discount

__all__ = ["flip_loss", "log_ratios"]

#: Bits of the balls: differences below lose 80 of them at most.
PRECISION = 160
#: Beyond this weight the bound for permute-and-flip is monotone and taken in closed form.
TAIL = 2.0**24
#: Cells into which the range of weights is split at most, and the width at which it is enough.
CELLS, CLOSE = 150, 1.0001
#: Weights of other words below which the simplest bound loses nothing that shows.
TINY = 1e-12
#: Discounts below this are bounded by another formula, without differences.
SMALL = 2.0**-20


def log_ratios(
    blocks: Sequence[Fraction | None], exponent: Fraction | None, distances: Collection[int]
) -> list[Fraction | None]:
    """Return bounds on log(Z_neighbour / Z_word) by the number of differing positions.

    Parameters
    ----------
    blocks : sequence of Fraction or None
        Entry m - 1 bounds it for words that differ in one irreducible block of m positions; None
        if there is no such block.
    exponent : Fraction or None
        None leaves out what is always true.
    distances : collection of int
        In how many positions two words can differ.

    Returns
    -------
    list
        Entry d - 1 for words that differ in d positions: the largest sum over d = m1 + … + mk
        (Lemma 3), and never above d times the exponent. None if no two words do.
    """
    totals: list[Fraction | None] = []
    for d in range(1, len(blocks) + 1):
        options = [
            more + before
            for m in range(1, d + 1)
            if d in distances
            and m in distances
            and (more := blocks[m - 1]) is not None
            and (before := Fraction(0) if m == d else totals[d - m - 1]) is not None
        ]
        if options and exponent is not None:
            options = [min(max(options), exponent * d)]
        totals.append(max(options, default=None))
    return totals


def flip_loss(
    discount: Discount,
    log_ratio: Fraction,
    lightest: float,
    heaviest: float | None,
    enough: Fraction,
) -> Fraction:
    """Return a bound on permute-and-flip's log probability ratio, without the term exponent × d.

    Parameters
    ----------
    discount : Discount
    log_ratio : Fraction
        At least log(Z_neighbour / Z_word).
    lightest, heaviest : float
        Bounds on the weight Z of all words around any word; None for unbounded.
    enough : Fraction
        Stop once the bound is below.

    Notes
    -----
    The bound is the largest (1 - exp(-X)) / X / D(Y) with X = Z - 1 and Y the neighbour's weight
    less 1 (Lemma 10). Both parts are monotone, so their values at the ends of a cell of Z bound
    them inside, and the worst cell is split until the answer is clear.
    """
    from flint import ctx

    with ctx.workprec(PRECISION):
        return Fraction(_worst(_Race(discount), log_ratio, lightest, heaviest, enough))


def _worst(
    race: _Race,
    log_ratio: Fraction,
    lightest: float,
    heaviest: float | None,
    enough: Fraction,
) -> float:
    from flint import arb

    ratio = _ball(log_ratio).exp().upper()
    top = TAIL if heaviest is None else min(TAIL, heaviest)
    worst = -math.inf
    if heaviest is None or heaviest > TAIL:
        worst = _above(((1 + ratio * top) / (arb(top) - 1)).log())
    goal = float(enough)

    def cell(low: float, high: float) -> tuple[float, float, float]:
        neighbour = ratio * high
        if heaviest is not None and neighbour > heaviest:
            neighbour = arb(heaviest)
        bound = race.waiting(arb(low) - 1) / race.survival(neighbour - 1)
        return -_above(bound.log()), low, high

    cells = [cell(min(lightest, top), top)]
    for _ in range(CELLS):
        bound, low, high = cells[0]
        if -bound <= max(worst, goal) or high <= low * CLOSE:
            break
        # Any point between will do: both cells have it.
        middle = min(max(low, math.sqrt(low * high)), high)
        heapq.heapreplace(cells, cell(low, middle))
        heapq.heappush(cells, cell(middle, high))
    return max(worst, -cells[0][0])


class _Race:
    """The two factors of the bound in interval arithmetic, each as its outer end."""

    def __init__(self, discount: Discount) -> None:
        exponent = _ball(discount.exponent)
        self.z, self.rest = (-exponent).exp(), -(-exponent).expm1()
        self.log_rest = self.rest.log()
        self.is_small = discount.z < SMALL

    def waiting(self, X: Any) -> Any:
        """(1 - exp(-X)) / X, from above."""
        from flint import arb

        return arb(1) if X < TINY else (-(-X).expm1() / X).upper()

    def survival(self, Y: Any) -> Any:
        """A lower bound of the integral of (1 - t) (1 - z t)^(Y / z) over [0, 1]."""
        plain = (1 / (2 + Y)).lower()
        if Y < TINY:
            return plain
        if self.is_small:
            rate = Y * (1 + self.z)
            found = (rate - 1 + (-rate).exp()) / rate**2
        else:
            k = Y / self.z
            first = (1 - ((k + 2) * self.log_rest).exp()) / (k + 2)
            second = self.rest * (1 - ((k + 1) * self.log_rest).exp()) / (k + 1)
            found = (first - second) / self.z**2
        return max(plain, found.lower())


def _ball(value: Fraction) -> Any:
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def _above(value: Any) -> float:
    """A float that is at least as large."""
    return math.nextafter(float(value.upper()), math.inf)
