"""Mean and variance of the error without counting words per distance.

Exact counts N_l need a distance polynomial in every cell of the pass. Partition functions do not.
With T the words of least cost, N0 = |T| and p_v = exp(-a (c_v - c*)), let

    Z_j = sum over v outside T of p_v^j,      M_j = the same sum with (c_v - c*) p_v^j,
    S_j = the same sum with (c_v - c*)^2 p_v^j,

each from one backward pass at j times the exponent. Expanding 1 / (1 - p_v t) in the integral of
Definition 4 (Benvenuti, Rao and Hale, arXiv 2603.28903) gives for permute-and-flip

    E[c] = c* + integral_0^1 F(t) sum_j t^(j-1) M_j dt,    F(t) = (1 - t)^N0 exp(-sum_j Z_j t^j / j)

and E[(c - c*)^2] with S_j. The exponential mechanism needs j = 1 alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpauto.arrays import BoolArray, Layer, reduce_rows
from dpauto.errors import InvalidArgument
from dpauto.language import Language
from dpauto.laws.errorlaw import FloatArray, Moments
from dpauto.laws.race import CUTOFF, panels
from dpauto.names import EXPONENTIAL, PERMUTE_AND_FLIP
from dpauto.passes import Weights
from dpauto.words import Costs, IntArray

__all__ = ["PartitionFunctions", "offline_moments", "partition_functions"]

#: Neglected tails of the series change mean and variance by less than this.
TOLERANCE = 1e-13
UNREACHABLE = 2**62
#: Values are brought back to [1/2, 1) when one exceeds this; far from the largest float, because
#: second moments carry squared costs.
LARGEST = 2.0**400
#: Most entries of one block of columns (32 MiB each for O, M and S).
BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class PartitionFunctions:
    """Sums over the words outside T for j = first … first + k - 1, divided by one power of two.

    Attributes
    ----------
    least : int
        c*, in cost units.
    exponent : int
        All values are to be multiplied by 2**exponent.
    nearest : float
        N0, the number of words at cost c*.
    sums, firsts, seconds : float arrays, shape (k,)
        Z_j, M_j and S_j.
    """

    least: int
    exponent: int
    nearest: float
    sums: FloatArray
    firsts: FloatArray
    seconds: FloatArray


@dataclass(frozen=True, eq=False)
class _Column:
    """Values of all states at one layer of the backward pass.

    Rows are states; the columns of `sums`, `firsts` and `seconds` are the values of j. Completions
    of zero reduced cost are counted in `nearest`, so nothing is ever subtracted.
    """

    least: IntArray
    exponents: IntArray
    nearest: FloatArray
    sums: FloatArray
    firsts: FloatArray
    seconds: FloatArray

    @classmethod
    def last(cls, final: BoolArray, n_powers: int) -> _Column:
        zeros = np.zeros((len(final), n_powers))
        least = np.where(final, 0, UNREACHABLE)
        return cls(least, np.zeros_like(least), final.astype(np.float64), zeros, zeros, zeros)

    def normalised(self) -> _Column:
        """The same values with every state's in [1/2, 1), if one has become large."""
        weight = self.nearest + self.sums[:, 0]
        if weight.max(initial=0.0) < LARGEST:
            return self
        _, shift = np.frexp(weight)
        factor = np.ldexp(1.0, -shift)
        by_row = factor[:, None]
        return _Column(
            self.least,
            self.exponents + shift,
            self.nearest * factor,
            self.sums * by_row,
            self.firsts * by_row,
            self.seconds * by_row,
        )


class _Edges:
    """Edges of one layer: their reduced costs and weights."""

    def __init__(self, layer: Layer, cost: IntArray, after: _Column) -> None:
        # SciPy's products are fastest on 32-bit indices.
        self.indptr, self.head = layer.indptr.astype(np.int32), layer.head.astype(np.int32)
        self.n_heads = len(after.least)
        onward = np.minimum(after.least[self.head] + cost, UNREACHABLE)
        self.least = reduce_rows(np.minimum, onward, self.indptr, UNREACHABLE)
        self.alive = onward < UNREACHABLE
        size = np.diff(self.indptr)
        self.reduced = np.where(self.alive, onward - np.repeat(self.least, size), 0)
        self.exponents, self.scale = self._common_exponents(after.exponents, size)

    def _common_exponents(self, after: IntArray, size: IntArray) -> tuple[IntArray, FloatArray]:
        """Each row's largest exponent among its heads, and the factors that bring edges to it."""
        scale = self.alive.astype(np.float64)
        if not after.any():
            return np.zeros(len(size), dtype=np.int64), scale
        at_head = after[self.head]
        largest = reduce_rows(np.maximum, at_head, self.indptr, 0)
        return largest, np.ldexp(scale, np.maximum(at_head - np.repeat(largest, size), -2000))

    def times(self, weights: FloatArray, values: FloatArray) -> FloatArray:
        """Sum of weight times value at the head, over the edges of each row."""
        from scipy.sparse import csr_array

        shape = (len(self.indptr) - 1, self.n_heads)
        product: FloatArray = csr_array((weights, self.head, self.indptr), shape=shape) @ values
        return product

    def step(self, after: _Column, a: float, first: int) -> _Column:
        """One layer backwards: values at the tails from values at the heads."""
        decay = np.exp(-a * self.reduced)
        power = decay**first * self.scale
        reduced = self.reduced.astype(np.float64)
        leaving = self.reduced > 0
        shape = (len(self.indptr) - 1, after.sums.shape[1])
        sums, firsts, seconds = np.empty(shape), np.empty(shape), np.empty(shape)
        for j in range(shape[1]):
            whole = after.nearest + after.sums[:, j]
            moved = self.times(
                power, np.column_stack([after.sums[:, j], after.firsts[:, j], after.seconds[:, j]])
            )
            once = self.times(power * reduced, np.column_stack([whole, 2 * after.firsts[:, j]]))
            sums[:, j] = moved[:, 0] + self.times(power * leaving, after.nearest)
            firsts[:, j] = moved[:, 1] + once[:, 0]
            seconds[:, j] = moved[:, 2] + once[:, 1] + self.times(power * reduced * reduced, whole)
            power = power * decay
        nearest = self.times(self.scale * ~leaving, after.nearest)
        return _Column(self.least, self.exponents, nearest, sums, firsts, seconds).normalised()


def partition_functions(
    language: Language,
    word: IntArray,
    exponent: Fraction,
    *,
    first: int = 1,
    n_powers: int = 1,
    costs: Costs | None = None,
) -> PartitionFunctions:
    """Return Z_j, M_j and S_j for `n_powers` values of j from `first` on.

    Parameters
    ----------
    language : Language
    word : int array, shape (n,)
        Symbol numbers; the word need not be feasible.
    exponent : Fraction
        a, per cost unit (one wrong symbol, or 1 / ``costs.denominator``).
    first, n_powers : int, optional
    costs : Costs, optional

    Returns
    -------
    PartitionFunctions

    Raises
    ------
    InvalidArgument
        If costs are so large that their sums could overflow.

    Notes
    -----
    With D the least cost to finish, the reduced cost c + D(head) - D(tail) of an edge is at least 0
    and exactly 0 along the words of T. All weights are positive and every sum is of positive terms,
    so the relative error stays near n (degree + 4) 2^-53. Each state has its own power of two, from
    the smallest j: what underflows is below 2^-1000 of Z_1 + N0.
    """
    automaton, rows, n = language.automaton, language.rows, language.length
    if costs is not None and int(costs.matrix.max()) >= UNREACHABLE // (2 * n):
        raise InvalidArgument("costs are too large for words of this length")
    a = float(exponent)
    edge_costs = Weights(automaton, rows, exponent, costs).edge_costs
    column = _Column.last(automaton.final[: rows[n]], n_powers)
    for i in range(n - 1, -1, -1):
        layer = language.layer(i)
        edges = _Edges(layer, edge_costs(int(word[i]), layer.label), column)
        column = edges.step(column, a, first)
    return PartitionFunctions(
        int(column.least[0]),
        int(column.exponents[0]),
        float(column.nearest[0]),
        column.sums[0],
        column.firsts[0],
        column.seconds[0],
    )


def offline_moments(
    language: Language,
    word: IntArray,
    exponent: Fraction,
    mechanism: str = PERMUTE_AND_FLIP,
    *,
    costs: Costs | None = None,
) -> Moments:
    """Return mean and variance of the error of permute-and-flip or the exponential mechanism.

    Parameters
    ----------
    language : Language
        Any size that a backward pass can cross; counts per distance are not needed.
    word : int array, shape (n,)
    exponent : Fraction
        a = epsilon / (2 b), per wrong symbol or per cost 1.
    mechanism : {"permute-and-flip", "exponential"}, optional
    costs : Costs, optional

    Returns
    -------
    Moments
        Accurate to 1e-10, usually to 1e-12.
    """
    denominator = 1 if costs is None else costs.denominator
    unit = exponent / denominator
    one = partition_functions(language, word, unit, costs=costs)
    feasible = language.is_all_words or language.run(word) is not None
    if mechanism == EXPONENTIAL:
        total = one.nearest + one.sums[0]
        mean, square = one.firsts[0] / total, one.seconds[0] / total
        unchanged = float(np.ldexp(1.0 / total, -one.exponent))
    else:
        series = _Series(one)
        block = max(1, BLOCK // max(1, int(language.rows[-1])))
        while not series.integrate(float(unit)):
            size = min(block, series.missing(float(unit)))
            series.extend(
                partition_functions(
                    language, word, unit, first=series.n_terms + 1, n_powers=size, costs=costs
                )
            )
        mean, square, unchanged = series.mean, series.square, series.unchanged
    return Moments(
        mean=(one.least + mean) / denominator,
        variance=max(0.0, square - mean * mean) / denominator**2,
        unchanged=unchanged if feasible else 0.0,
    )


class _Series:
    """The series in t, in the variable u = Z t, and its integrals."""

    def __init__(self, one: PartitionFunctions) -> None:
        total = one.nearest + one.sums[0]
        self.log_total = float(np.log(total)) + one.exponent * float(np.log(2.0))
        self.share = one.nearest / total
        self.terms = np.array([[one.sums[0]], [one.firsts[0]], [one.seconds[0]]]) / total
        self.mean = self.square = self.unchanged = 0.0

    @property
    def n_terms(self) -> int:
        return len(self.terms[0])

    def extend(self, more: PartitionFunctions) -> None:
        """Append Z_j / Z^j, M_j / Z^j and S_j / Z^j."""
        j = np.arange(self.n_terms + 1, self.n_terms + 1 + len(more.sums))
        scale = np.exp(more.exponent * np.log(2.0) - j * self.log_total)
        rows = np.stack([more.sums, more.firsts, more.seconds]) * scale
        self.terms = np.concatenate([self.terms, rows], axis=1)

    def missing(self, unit: float) -> int:
        """About how many more terms are needed, between 2 and 8 at a time."""
        ratio = -unit + min(0.0, float(np.log(CUTOFF)) - self.log_total)
        return int(np.clip(np.log(TOLERANCE) / ratio - self.n_terms, 2, 8))

    def integrate(self, unit: float) -> bool:
        """Integrate with the terms at hand; return whether the neglected ones are small enough.

        Outside T every p_v is at most r = exp(-unit), so each further term is at most r u / Z times
        the one before: the neglected tails are bounded by geometric series.
        """
        total = float(np.exp(min(self.log_total, 700.0)))
        u, weights = panels(total)
        t = u * float(np.exp(-self.log_total))
        ratio = np.exp(-unit) * t
        last = ratio / (1 - ratio)
        powers = np.cumprod(np.broadcast_to(u, (self.n_terms, len(u))), axis=0)
        j = np.arange(1, self.n_terms + 1)[:, None]
        z, m, s = (self.terms[:, :, None] * powers[None]) / u
        log_survival = -np.sum(z / j, axis=0) * u
        log_survival -= self.share * u * np.where(t > 0, -np.log1p(-t) / np.where(t > 0, t, 1), 1)
        survival = np.exp(log_survival) * weights
        self.mean, self.square = float(survival @ m.sum(axis=0)), float(survival @ s.sum(axis=0))
        self.unchanged = float(survival @ (1 / (1 - t))) * float(np.exp(-self.log_total))
        # Relative error of F, and absolute ones of the two sums.
        of_survival = z[-1] * u * last / self.n_terms
        errors = [of_survival * x.sum(axis=0) + x[-1] * last for x in (m, s)]
        return all(
            float(survival @ e) <= TOLERANCE * max(1.0, value)
            for e, value in zip(errors, (self.mean, self.square), strict=True)
        )
