"""Words gathered into cells of one distance and cost, weighted without overflow.

A cell k holds N_k words with acceptance p_k = exp(-a (c_k - c*)), c* being the least cost. With
Z = sum of N_k p_k, all a law needs is the cell's share x_k = N_k p_k / Z and rate y_k = p_k / Z.
N_k may have thousands of digits: both are computed as balls (arb) and only then rounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from dpauto.errors import EmptyLanguage, InvalidArgument
from dpauto.laws.errorlaw import FloatArray
from dpauto.passes.weights import ball
from dpauto.words import IntArray

__all__ = ["Cells", "Levels"]

#: N_0 … N_n, or the number of words at each (distance, cost).
Levels: TypeAlias = Sequence[int] | FloatArray | Mapping[tuple[int, int], int]

#: Bits of the balls: 53 for the result, the rest for the growth of up to 10**6 products.
BITS = 192


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of words with the same distance and cost.

    Attributes
    ----------
    length : int
        n.
    distance : int array, shape (k,)
    cost : float array, shape (k,)
        The distance again, unless there are symbol costs.
    share, rate : float arrays, shape (k,)
        x_k = N_k p_k / Z, summing to 1, and y_k = p_k / Z.
    total : float
        Z; infinite when it exceeds the floats.
    """

    length: int
    distance: IntArray
    cost: FloatArray
    share: FloatArray
    rate: FloatArray
    total: float

    @classmethod
    def of(cls, levels: Levels, exponent: Fraction, *, denominator: int = 1) -> Cells:
        """Weigh counted words.

        Parameters
        ----------
        levels : sequence of int, float array, or mapping {(distance, cost): int}
            Numbers of words; index = distance. Ints may be of any size. A mapping is for symbol
            costs, in units of 1 / `denominator`; n is then its largest distance or more.
        exponent : Fraction
            a: a word that costs 1 more is exp(a) times less likely to be accepted.
        denominator : int, optional

        Raises
        ------
        EmptyLanguage
            If there is no word.
        InvalidArgument
            If a count is negative.
        """
        if isinstance(levels, Mapping):
            found = sorted((d, c, count) for (d, c), count in levels.items() if count)
            length = max((d for d, _ in levels), default=0)
        else:
            plain = levels.tolist() if isinstance(levels, np.ndarray) else levels
            found = [(d, d, count) for d, count in enumerate(plain) if count]
            length = len(levels) - 1
        if not found:
            raise EmptyLanguage("levels must count at least one word")
        if min(count for _, _, count in found) < 0:
            raise InvalidArgument("levels must not be negative")
        return cls._weighed(found, length, exponent / denominator, denominator)

    @classmethod
    def _weighed(
        cls, found: list[tuple[int, int, Any]], length: int, unit: Fraction, denominator: int
    ) -> Cells:
        """Weigh (distance, cost, count) triples at the exponent `unit` of one cost unit."""
        from flint import arb, ctx

        least = min(c for _, c, _ in found)
        with ctx.workprec(BITS):
            powers = _powers(unit, [c - least for _, c, _ in found])
            weights = [arb(found[k][2]) * power for k, power in enumerate(powers)]
            total = sum(weights, arb(0))
            return cls(
                length,
                np.array([d for d, _, _ in found], dtype=np.int64),
                np.array([c / denominator for _, c, _ in found], dtype=np.float64),
                np.array([float(weight / total) for weight in weights]),
                np.array([float(power / total) for power in powers]),
                float(total),
            )

    @classmethod
    def all_words(cls, length: int, alphabet_size: int, exponent: Fraction) -> Cells:
        """Weigh all m**n words: x is Binomial(n, C / (1 + C)) with C = (m - 1) exp(-a).

        The counts C(n, l) (m - 1)^l are never formed: n = 10**5 takes a fraction of a second.
        """
        from flint import ctx

        n, wrong = length, alphabet_size - 1
        with ctx.workprec(BITS):
            z = ball(-exponent).exp()
            total = (1 + wrong * z) ** n
            share, rate = [], []
            x = y = 1 / total
            for level in range(n + 1):
                share.append(float(x))
                rate.append(float(y))
                x = x * z * (wrong * (n - level)) / (level + 1)
                y = y * z
            distance = np.arange(n + 1)
            return cls(
                n,
                distance,
                distance.astype(np.float64),
                np.array(share),
                np.array(rate),
                float(total),
            )


def _powers(exponent: Fraction, steps: Sequence[int]) -> list[Any]:
    """exp(-exponent * k) for every k of `steps`, as balls at the current precision."""
    known = {k: ball(-exponent * k).exp() for k in set(steps)}
    return [known[k] for k in steps]
