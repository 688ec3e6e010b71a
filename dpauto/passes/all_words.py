"""Proposals on all words of a length, in closed form: no automaton and no pass.

Words outside T = {w} weigh z^d with z = exp(-a), in all (1 + (m - 1) z)^n - 1. Drawing one in
proportion makes every position wrong with probability q = C / (1 + C), C = (m - 1) z, independently
but for "at least one": so the gaps between errors are geometric, the first one cut off at n.

Geometric gaps are read off a table of the probabilities (1 - q)^g, each enclosed by two integers on
the scale of the bits read; no logarithm is taken in floating point.
"""

from __future__ import annotations

import bisect
import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpauto.passes.layers import Undecided, uniform_ball
from dpauto.passes.weights import ball, floor_and_ceiling
from dpauto.randomness import WORD_BITS, Tape
from dpauto.words import IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = ["AllWords", "AllWordsTable"]


class AllWordsTable:
    """What all words of a length share at one exponent; public, made once.

    Parameters
    ----------
    size : int
        m, the number of symbols, at least 1.
    length : int
        n.
    exponent : Fraction
        a > 0.
    """

    def __init__(self, size: int, length: int, exponent: Fraction) -> None:
        self.size, self.length, self.exponent = size, length, exponent

    def log_right(self) -> arb:
        """log(1 - q) = -log(1 + C) as a ball at the current precision."""
        return -(ball(-self.exponent).exp() * (self.size - 1)).log1p()

    @cached_property
    def entries(self) -> int:
        """Entries of the table: until probabilities fall below exp(-45), at most n or 65536."""
        from flint import arb, ctx

        # How a tape is read depends on this, so the precision of an attempt must not matter.
        with ctx.workprec(WORD_BITS):
            enough = arb(45) / -self.log_right() if self.size > 1 else arb(1)
            return max(1, min(self.length, 65536, int(min(float(enough.mid()), 65536.0)) + 1))

    @cached_property
    def error_rate(self) -> float:
        """The probability q of an error, to about 2**-53."""
        from flint import ctx

        with ctx.workprec(WORD_BITS):
            return float(-self.log_right().expm1().mid())

    def bounds(self, bits: int) -> tuple[list[int], list[int]]:
        """Return integers (low, high) with low_g <= (1 - q)^g 2**bits <= high_g, descending.

        Entry k is for g = k + 1.
        """
        from flint import arb, ctx

        with ctx.workprec(bits + 48):
            right = self.log_right()
            scale, step = arb((1, bits)), right.exp()
            low, high = [], []
            for _ in range(self.entries):
                scale = scale * step
                below, above = floor_and_ceiling(scale)
                low.append(max(0, below))
                high.append(above)
        return low, high

    @cached_property
    def ascending(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """`bounds` at 64 bits, in ascending order, as arrays."""
        top = 2**WORD_BITS - 1
        low, high = (
            np.array([min(value, top) for value in reversed(side)], dtype=np.uint64)
            for side in self.bounds(WORD_BITS)
        )
        return low, high


class AllWords:
    """Proposals around one word.

    Parameters
    ----------
    table : AllWordsTable
    word : int array, shape (n,)
    """

    count = 1

    def __init__(self, table: AllWordsTable, word: IntArray) -> None:
        self._table, self._word = table, word

    @property
    def outside(self) -> arb:
        """Z' = (1 + C)^n - 1 as a ball."""
        from flint import arb

        if self._table.size == 1:
            return arb(0)
        return (-self._table.log_right() * self._table.length).expm1()

    @property
    def largest(self) -> arb:
        """exp(-a), the weight of a word with one error, as a ball."""
        return ball(-self._table.exponent).exp()

    def weight(self, word: IntArray) -> arb:
        """Return exp(-a d) as a ball."""
        return ball(-self._table.exponent * int(np.count_nonzero(word != self._word))).exp()

    def close(self) -> None:
        """Nothing is held."""

    def draw_nearest(self, tape: Tape) -> IntArray:
        """Return w."""
        return self._word

    def draw_outside(self, tape: Tape) -> IntArray:
        """Return a word with at least one error, in proportion to its weight; shape (n,)."""
        table, n = self._table, len(self._word)
        last = self._first_error(tape)
        errors = [np.array([last])]
        while last < n - 1:
            # Uniforms for the errors to be expected and some to spare; what lies beyond n is left.
            expected = int((n - 1 - last) * table.error_rate)
            rights = self._rights(expected + 4 * math.isqrt(expected) + 8, tape)
            is_error = rights < table.entries
            positions = last + np.cumsum(rights + is_error)
            errors.append(positions[is_error & (positions < n)])
            last = int(positions[-1])
        wrong = np.concatenate(errors)
        written = self._word.copy()
        other = tape.below_many(len(wrong), table.size - 1)
        written[wrong] = other + (other >= self._word[wrong])
        return written

    def _first_error(self, tape: Tape) -> int:
        """Position of the first error, by bisection of its distribution function."""
        right = self._table.log_right()
        target = uniform_ball(tape) * (right * self._table.length).expm1()
        low, high = 0, self._table.length - 1
        while low < high:
            middle = (low + high) // 2
            reached = (right * (middle + 1)).expm1()
            # Both are negative: the error comes at `middle` or before iff |target| < |reached|.
            if target > reached:
                high = middle
            elif target < reached:
                low = middle + 1
            else:
                raise Undecided
        return low

    def _rights(self, count: int, tape: Tape) -> IntArray:
        """Return numbers of right symbols before each next error, shape (count,).

        An entry equal to the table's size says that as many symbols are right, and no more.
        """
        if tape.bits == WORD_BITS:
            low, high = self._table.ascending
            u = tape.uniforms(count)
            surely = len(low) - np.searchsorted(low, u, side="right")
            perhaps = len(high) - np.searchsorted(high, u, side="left")
            if (surely != perhaps).any():
                raise Undecided
            return surely
        low_list, high_list = self._table.bounds(tape.bits)
        low_list.reverse()
        high_list.reverse()
        rights = np.empty(count, dtype=np.int64)
        for k in range(count):
            value, _ = tape.uniform()
            rights[k] = len(low_list) - bisect.bisect_right(low_list, value)
            if rights[k] != len(high_list) - bisect.bisect_left(high_list, value):
                raise Undecided
        return rights
