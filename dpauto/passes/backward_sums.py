"""Sums of one word's leaving edges from the last one backwards, each in units of its own size.

A walk that is back on the run of w at layer i chooses among the edges that leave later and
staying. Along a long word these sums run through hundreds of orders of magnitude, so each stretch
between two rescalings of the pass has a unit of its own, and what comes after it enters as one
carried sum.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpauto.passes.layers import Undecided
from dpauto.passes.powers import ldexp, scaled
from dpauto.passes.weights import FloatArray, view
from dpauto.words import IntArray

__all__ = ["BackwardSums"]


@dataclass(frozen=True, eq=False)
class _Stretch:
    """Edges first … last - 1: entry j of `sums` is for edge last - 1 - j, units are 2**unit."""

    first: int
    last: int
    unit: int
    carried: float
    sums: Any
    absolute: float


class BackwardSums:
    """Backward sums of the weights of leaving edges, relative to w's own weight 1.

    Parameters
    ----------
    steps : int array, shape (K,)
        Steps of the edges, ascending.
    mantissa, exponent : arrays, shape (K,)
        Each weight is mantissa * 2**exponent.
    lost, scale : arrays, shape (K,)
        ... within lost * 2**scale, beside its relative error.
    spacing : int
        Layers between two rescalings.
    """

    def __init__(
        self,
        steps: IntArray,
        mantissa: FloatArray,
        exponent: IntArray,
        lost: FloatArray,
        scale: IntArray,
        spacing: int,
    ) -> None:
        # Sums of a stretch differ by less than 2**800: none is lost beside the largest.
        event = -(-(steps + 1) // (8 * spacing))
        starts = np.flatnonzero(np.diff(event, prepend=-1)).tolist()
        self._starts = starts
        #: Number of the first edge of step i or later, for i = 0 … n.
        last_step = int(steps[-1]) if len(steps) else -1
        self._later = view(np.searchsorted(steps, np.arange(last_step + 2)))
        stretches: list[_Stretch] = []
        carried, absolute, unit = 0.0, 0.0, 0
        for first, last in zip(starts[::-1], [len(steps), *starts[:0:-1]], strict=True):
            filled = mantissa[first:last] > 0
            heights = exponent[first:last][filled].tolist()
            if carried > 0.0:
                heights.append(unit + math.frexp(carried)[1])
            new = max(heights) if heights else int(scale[first:last].max())
            carried, absolute = scaled(carried, unit - new), scaled(absolute, unit - new)
            unit = new
            terms = ldexp(mantissa[first:last], exponent[first:last] - unit)
            sums = carried + np.cumsum(terms[::-1])
            absolute += float(ldexp(lost[first:last], scale[first:last] - unit).sum())
            absolute = absolute * (1 + 2**-20) + (last - first + 1) * 2.0**-1000
            stretches.append(_Stretch(first, last, unit, carried, view(sums), absolute))
            carried = float(sums[-1])
        self._stretches = stretches[::-1]

    def choose(self, i: int, u: int, bits: int, relative: float) -> int | None:
        """Draw the edge by which a word that is w's own at layer i leaves it later.

        Parameters
        ----------
        i : int
        u, bits : int
            The uniform, in [u, u + 1] / 2**bits.
        relative : float
            Bound on the relative error of the sums.

        Returns
        -------
        int or None
            The edge; None if the word stays w's own.

        Raises
        ------
        Undecided
            Near a border.
        """
        if i >= len(self._later) - 1:
            return None
        first = self._later[i]
        at = bisect_right(self._starts, first) - 1
        stretch = self._stretches[at]
        ways_out = stretch.sums[stretch.last - 1 - first]
        total = ways_out + scaled(1.0, -stretch.unit)
        target = math.ldexp(u, -bits) * total
        margin = total * (2 * relative + 2.0 ** (1 - bits)) + 2 * stretch.absolute
        # The last edges come first, and staying, which weighs 1, comes last.
        if target > ways_out + margin:
            return None
        while True:
            if target > stretch.carried + margin:
                count = stretch.last - first
                k = bisect_right(stretch.sums, target + margin, hi=count)
                before = stretch.sums[k - 1] if k else stretch.carried
                if k == count or before >= target - margin:
                    raise Undecided
                return stretch.last - 1 - k
            at += 1
            if target >= stretch.carried - margin or at == len(self._stretches):
                raise Undecided
            after = self._stretches[at]
            shift = stretch.unit - after.unit
            target, margin = scaled(target, shift), scaled(margin, shift) + 2 * after.absolute
            stretch, first = after, after.first
