"""The value that every exact law is: probabilities of each distance, and what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpauto.arguments import real_number
from dpauto.errors import InvalidArgument
from dpauto.words import IntArray

__all__ = ["ErrorLaw", "FloatArray", "Moments"]

FloatArray = NDArray[np.float64]

#: Laws are accurate to this; a quantile does not move for less.
ACCURACY = 1e-13


class Moments(NamedTuple):
    """What can be had of an error law without its probabilities.

    Attributes
    ----------
    mean, variance : float
        Of the number of wrong symbols, or of the cost where symbol costs are given.
    unchanged : float
        Probability that the word is released as it is; 0 if it is not feasible.
    """

    mean: float
    variance: float
    unchanged: float


@dataclass(frozen=True, eq=False, repr=False)
class ErrorLaw:
    """The exact law of the number of wrong symbols in one word's release.

    It depends on the word: the law of a sensitive word is as sensitive as the word.

    Attributes
    ----------
    pmf : float array, shape (n + 1,)
        ``pmf[d]`` is the probability of a release at Hamming distance d; read-only.
    mean, variance : float
        Of the distance; under symbol costs, of the cost.

    Examples
    --------
    >>> law = ErrorLaw.of(np.array([0.5, 0.25, 0.25]))
    >>> law.mean, law.quantile(0.5), law.cdf(1)
    (0.75, 0, 0.75)
    """

    pmf: FloatArray
    mean: float
    variance: float

    @classmethod
    def of(
        cls,
        probability: FloatArray,
        *,
        distance: IntArray | None = None,
        cost: FloatArray | None = None,
        length: int | None = None,
    ) -> ErrorLaw:
        """Gather the probabilities of cells into a law.

        Parameters
        ----------
        probability : float array, shape (k,)
            Of the cells; they sum to 1.
        distance : int array, shape (k,), optional
            Hamming distance of each cell; by default its index.
        cost : float array, shape (k,), optional
            What mean and variance are of; by default the distance.
        length : int, optional
            n; by default k - 1.
        """
        distance = np.arange(len(probability)) if distance is None else distance
        size = len(probability) if length is None else length + 1
        pmf = np.zeros(size)
        np.add.at(pmf, distance, probability)
        cost = distance.astype(np.float64) if cost is None else cost
        mean = float(cost @ probability)
        return cls(pmf, mean, float((cost - mean) ** 2 @ probability))

    def __post_init__(self) -> None:
        self.pmf.setflags(write=False)

    def __repr__(self) -> str:
        return f"ErrorLaw(length={len(self.pmf) - 1}, mean={self.mean:.6g})"

    def cdf(self, x: ArrayLike) -> float | FloatArray:
        """Return the probability of at most `x` wrong symbols.

        Parameters
        ----------
        x : float or array of float

        Returns
        -------
        float, or float array of the shape of `x`

        Raises
        ------
        InvalidArgument
            If `x` holds something that is no number.
        """
        try:
            points = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            points = np.array(np.nan)
        if np.isnan(points).any():
            raise InvalidArgument("x must be a number or an array of numbers, without NaN")
        sums = np.concatenate(([0.0], np.minimum(np.cumsum(self.pmf), 1.0)))
        index = np.clip(np.floor(points), -1, len(self.pmf) - 1)
        values: FloatArray = sums[index.astype(np.int64) + 1]
        return float(values) if values.ndim == 0 else values

    def quantile(self, q: float) -> int:
        """Return the smallest distance d with P(at most d wrong symbols) >= q.

        Parameters
        ----------
        q : float
            Between 0 and 1.

        Raises
        ------
        InvalidArgument
            If `q` is not between 0 and 1.
        """
        q = real_number(q, wanted="q must be a number between 0 and 1", least=0, most=1)
        possible = np.flatnonzero(self.pmf)
        reached = np.searchsorted(np.cumsum(self.pmf), q - ACCURACY)
        return int(min(max(int(reached), possible[0]), possible[-1]))

    def moments(self) -> Moments:
        """Return mean, variance and the probability that nothing changes."""
        return Moments(self.mean, self.variance, float(self.pmf[0]))
