"""From bounds on blocks to a bound on the loss: adding up blocks, and permute-and-flip.

All numbers here are exact rationals or correctly rounded decimals, moved outwards.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

from dpauto.calibration.rounding import DECIMAL, Discount, log_up

__all__ = ["flip_loss", "log_ratios"]

#: Beyond this weight the bound for permute-and-flip is monotone and taken in closed form.
TAIL = Decimal(2**24)
#: Relative error of a value that took some operations in 50 digits, generously.
MARGIN = Decimal(10) ** -25
#: Cells into which the range of weights is split at most, and the width at which it is enough.
CELLS, CLOSE = 150, Decimal("1e-4")


def log_ratios(blocks: Sequence[Fraction | None], exponent: Fraction) -> list[Fraction | None]:
    """Return bounds on log(Z_neighbour / Z_word) by the number of differing positions.

    Parameters
    ----------
    blocks : sequence of Fraction or None
        Entry m - 1 bounds it for words that differ in one irreducible block of m positions; None
        if there is no such block.
    exponent : Fraction

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
            if (more := blocks[m - 1]) is not None
            and (before := Fraction(0) if m == d else totals[d - m - 1]) is not None
        ]
        totals.append(min(max(options), exponent * d) if options else None)
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
    with localcontext(DECIMAL):
        return _flip_loss(discount, log_ratio, lightest, heaviest, enough)


def _flip_loss(
    discount: Discount,
    log_ratio: Fraction,
    lightest: float,
    heaviest: float | None,
    enough: Fraction,
) -> Fraction:
    ratio = (Decimal(log_ratio.numerator) / Decimal(log_ratio.denominator)).exp()
    ratio *= 1 + MARGIN
    cap = None if heaviest is None else Decimal(heaviest)
    top = TAIL if cap is None else min(TAIL, cap)
    bottom = min(Decimal(lightest), top)
    worst = Decimal(0)
    if cap is None or cap > TAIL:
        worst = (1 + ratio * top) / (top - 1)
    goal = (Decimal(enough.numerator) / Decimal(enough.denominator)).exp()

    def cell(low: Decimal, high: Decimal) -> tuple[Decimal, Decimal, Decimal]:
        heavy = ratio * high if cap is None else min(cap, ratio * high)
        bound = _waiting(low - 1) / _survival(heavy - 1, discount)
        return -bound * (1 + MARGIN), low, high

    cells = [cell(bottom, top)]
    for _ in range(CELLS):
        bound, low, high = cells[0]
        if -bound <= max(worst, goal) or high <= low * (1 + CLOSE):
            break
        middle = (low * high).sqrt()
        heapq.heapreplace(cells, cell(low, middle))
        heapq.heappush(cells, cell(middle, high))
    return log_up(Fraction(max(worst, -cells[0][0]) * (1 + MARGIN)))


def _waiting(X: Decimal) -> Decimal:
    """(1 - exp(-X)) / X, from above."""
    if Decimal("1e-12") > X:
        return Decimal(1)
    return (1 - (-X).exp()) / X * (1 + MARGIN)


def _survival(Y: Decimal, discount: Discount) -> Decimal:
    """A lower bound of the integral of (1 - t) (1 - z t)^(Y / z) over [0, 1]."""
    if Decimal("1e-12") > Y:
        return Decimal("0.4999999999")
    plain = 1 / (2 + Y)
    if discount.z < 2.0**-20:
        rate = Y * (1 + Decimal(discount.z))
        return max(plain, (rate - 1 + (-rate).exp()) / rate**2 * (1 - MARGIN))
    # z is known to within its rounding; the integral falls as z rises, so take it a little higher.
    z = Decimal(discount.z) * (1 + Decimal(2) ** -50)
    k, rest = Y / z, (1 - z).ln()
    first = (1 - ((k + 2) * rest).exp()) / (k + 2)
    second = (1 - z) * (1 - ((k + 1) * rest).exp()) / (k + 1)
    return max(plain, (first - second) / z**2 * (1 - MARGIN))
