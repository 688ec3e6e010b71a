"""Sums of the weights of leaving edges, from the last one backwards, in units of their own size.

The word outside T is drawn by the edge at which it leaves T, and a walk that is back on the run of
w at layer i chooses among the edges that leave later and staying. Along a long word these sums run
through hundreds of orders of magnitude, so each stretch of layers has a unit of its own, and what
comes after it enters as one carried sum.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpauto.passes.layers import Undecided
from dpauto.passes.powers import ldexp, scaled
from dpauto.passes.weights import FloatArray, view
from dpauto.words import IntArray

__all__ = ["LeavingSums", "WordSums"]

#: Exponent of what is 0.
_NOTHING = -(2**40)

#: Between two rescalings no entry moves by more than 2**100, so over so many of them no sum is lost
#: beside the largest.
_RESCALINGS = 8


@dataclass(frozen=True, eq=False)
class _Stretch:
    """Edges first … last - 1: entry j of `sums` is for edge last - 1 - j, units are 2**unit."""

    first: int
    last: int
    unit: int
    carried: float
    sums: Any
    absolute: float


class LeavingSums:
    """The sums of a block of words.

    Parameters
    ----------
    bounds : int array, shape (B + 1,)
        Word b has the edges bounds[b] … bounds[b + 1] - 1, by step.
    steps : int array, shape (K,)
    mantissa, exponent : arrays, shape (K,)
        Each weight, relative to w's own weight 1, is mantissa * 2**exponent ...
    lost, scale : arrays, shape (K,)
        ... within lost * 2**scale, beside its relative error.
    spacing : int
        Layers between two rescalings.
    """

    def __init__(
        self,
        bounds: IntArray,
        steps: IntArray,
        mantissa: FloatArray,
        exponent: IntArray,
        lost: FloatArray,
        scale: IntArray,
        spacing: int,
    ) -> None:
        self._bounds, self._steps = bounds, steps
        stretch = -(-(steps + 1) // (_RESCALINGS * spacing))
        begins = np.diff(stretch, prepend=-1) != 0
        begins[bounds[:-1][np.diff(bounds) > 0]] = True
        starts = np.flatnonzero(begins)
        sizes = np.diff(starts, append=len(steps))
        filled = mantissa > 0
        units = np.maximum.reduceat(np.where(filled, exponent, _NOTHING), starts)
        # A stretch without any weight may still have an error to state.
        errors = np.maximum.reduceat(np.where(lost > 0, scale, _NOTHING), starts)
        units = np.where(units > _NOTHING, units, errors)
        unit = np.repeat(units, sizes)
        self._terms = ldexp(mantissa, exponent - unit)
        absolute = np.add.reduceat(ldexp(lost, scale - unit), starts) * (1 + 2**-20)
        # ldexp may have dropped what is below 2**-1074 beside the largest term.
        uncertain = np.logical_or.reduceat(filled | (lost > 0), starts)
        absolute += np.where(uncertain, (sizes + 1) * 2.0**-1000, 0.0)
        self._starts, self._units = [*starts.tolist(), len(steps)], units.tolist()
        self._absolute = absolute.tolist()
        #: Numbers of each word's stretches.
        self._of_word = np.searchsorted(starts, bounds).tolist()

    def of(self, b: int) -> WordSums:
        """Return the sums of word b."""
        base, end = int(self._bounds[b]), int(self._bounds[b + 1])
        stretches: list[_Stretch] = []
        carried, absolute, unit = 0.0, 0.0, 0
        for k in range(self._of_word[b + 1] - 1, self._of_word[b] - 1, -1):
            first, last, own = self._starts[k], self._starts[k + 1], self._units[k]
            if own == _NOTHING:
                # What is carried into a stretch that adds nothing must not be lost in its unit.
                own = unit
            new = max(own, unit + math.frexp(carried)[1]) if carried > 0 else own
            terms, loss = self._terms[first:last][::-1], self._absolute[k]
            if new > own:
                terms, loss = ldexp(terms, np.array(own - new)), scaled(loss, own - new)
            carried, absolute = scaled(carried, unit - new), scaled(absolute, unit - new) + loss
            absolute += (absolute > 0 or carried > 0) * 2.0**-1000
            unit = new
            sums = view(carried + np.cumsum(terms))
            stretches.append(_Stretch(first - base, last - base, unit, carried, sums, absolute))
            carried = sums[-1]
        return WordSums(self._steps[base:end], stretches[::-1])


class WordSums:
    """The sums of one word; see `LeavingSums`."""

    def __init__(self, steps: IntArray, stretches: list[_Stretch]) -> None:
        self._steps, self._stretches = steps, stretches
        self._firsts = [stretch.first for stretch in stretches]

    @property
    def total(self) -> tuple[float, float, int]:
        """(sum, absolute, unit): all weights, within absolute beside the relative error."""
        if not self._stretches:
            return 0.0, 0.0, 0
        stretch = self._stretches[0]
        return stretch.sums[-1], stretch.absolute, stretch.unit

    @cached_property
    def _later(self) -> Any:
        """Number of the first edge of step i or later, by i, up to the last edge's step."""
        last = int(self._steps[-1]) if len(self._steps) else -1
        return view(np.searchsorted(self._steps, np.arange(last + 1)))

    def choose(self, u: int, bits: int, relative: float) -> int:
        """Draw an edge.

        Parameters
        ----------
        u, bits : int
            The uniform, in [u, u + 1] / 2**bits.
        relative : float
            Bound on the relative error of the sums.

        Raises
        ------
        Undecided
            Near a border.
        """
        edge = self._choose(0, 0.0, u, bits, relative)
        if edge is None:
            raise Undecided
        return edge

    def choose_later(self, i: int, u: int, bits: int, relative: float) -> int | None:
        """Draw the edge by which a word that is w's own at layer i leaves it later, or None.

        None is staying, which weighs 1. See `choose`.
        """
        if i >= len(self._later):
            return None
        return self._choose(self._later[i], 1.0, u, bits, relative)

    def _choose(self, first: int, stay: float, u: int, bits: int, relative: float) -> int | None:
        """Draw among the edges from number `first` on and staying; the last edges come first."""
        at = bisect_right(self._firsts, first) - 1
        stretch = self._stretches[at]
        ways_out = stretch.sums[stretch.last - 1 - first]
        total = ways_out + scaled(stay, -stretch.unit)
        target = math.ldexp(u, -bits) * total
        margin = total * (2 * relative + 2.0 ** (1 - bits)) + 2 * stretch.absolute
        # Staying comes last.
        if target > ways_out + margin:
            return None
        while True:
            last = at == len(self._stretches) - 1
            if last or target > stretch.carried + margin:
                count = stretch.last - first
                k = bisect_right(stretch.sums, target + margin, hi=count)
                before = stretch.sums[k - 1] if k else stretch.carried
                # Nothing comes before the very first of the sums.
                if k == count or ((k or not last) and before >= target - margin):
                    raise Undecided
                return stretch.last - 1 - k
            if target >= stretch.carried - margin:
                raise Undecided
            at += 1
            after = self._stretches[at]
            shift = stretch.unit - after.unit
            target, margin = scaled(target, shift), scaled(margin, shift) + 2 * after.absolute
            stretch, first = after, after.first
