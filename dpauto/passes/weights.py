"""What a backward pass needs to know of a language and an exponent; public, made once."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpauto.arrays import Automaton, sparse_tools
from dpauto.words import Costs, IntArray

if TYPE_CHECKING:
    from flint import arb, fmpq

__all__ = [
    "FLOAT_PRECISION",
    "MOST_STEPS",
    "FloatArray",
    "Weights",
    "ball",
    "floor_and_ceiling",
    "stride_for",
    "view",
]

FloatArray = NDArray[np.float64]

#: Precision of a ball whose midpoint becomes a float, whatever the caller computes with: enough
#: for exponents up to 2**60.
FLOAT_PRECISION = 128

#: No corridor is wider than so many steps.
MOST_STEPS = 32


def ball(value: Fraction | int) -> arb:
    """Return a rational number as an arb ball at the current precision."""
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def floor_and_ceiling(value: arb) -> tuple[int, int]:
    """Return the largest integer surely at most a ball's number, and the least surely at least."""

    def exact(side: arb) -> Fraction:
        mantissa, power = side.man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(power)

    return math.floor(exact(value.lower())), math.ceil(exact(value.upper()))


def view(array: NDArray[Any]) -> Any:
    """Return a view for reading and writing one entry at a time, which numpy does slowly."""
    return memoryview(array)  # type: ignore[arg-type]


def stride_for(steps: int, layer_bytes: int, memory: int) -> int:
    """Return every how manyeth layer to keep: all if they fit, else about the square root."""
    return 1 if steps * layer_bytes <= memory else max(2, math.isqrt(steps))


class Weights:
    """The weight exp(-a c) of every cost c, for one automaton, word length and exponent a.

    A word v gets the weight exp(-a c(w, v)), the product of its edges' weights. Costs are integers
    in units of 1/denominator; under the Hamming distance an edge costs 0 if it carries the true
    symbol and 1 otherwise.

    Parameters
    ----------
    automaton : Automaton
        Compiled: unambiguous, numbered by first arrival.
    rows : int array, shape (n + 1,)
        States that matter at each layer.
    exponent : Fraction
        a > 0.
    costs : Costs, optional
        None is the Hamming distance.
    """

    def __init__(
        self, automaton: Automaton, rows: IntArray, exponent: Fraction, costs: Costs | None
    ) -> None:
        self.automaton = automaton
        self.rows = rows
        self.exponent = exponent
        self.costs = costs

    @property
    def times(self) -> IntArray | None:
        """How many edges each edge stands for, shape (E,); None where it is always one."""
        return None

    @property
    def start_times(self) -> IntArray | None:
        """The same for the start's edges."""
        return None

    @property
    def unit_exponent(self) -> Fraction:
        """The exponent of one unit of cost."""
        return self.exponent / (1 if self.costs is None else self.costs.denominator)

    @property
    def smallest_cost(self) -> int:
        """The least positive cost of one symbol, in units."""
        if self.costs is None:
            return 1
        return int(self.costs.matrix[self.costs.matrix > 0].min())

    @property
    def distinguishes(self) -> bool:
        """Whether writing a wrong symbol always costs something."""
        return self.costs is None or int((self.costs.matrix == 0).sum()) == len(self.costs.matrix)

    def row(self, symbol: int) -> IntArray:
        """Return the cost in units of writing each symbol where `symbol` is true, shape (m,)."""
        row: IntArray
        if self.costs is not None:
            row = self.costs.matrix[symbol]
            return row
        row = np.ones(len(self.automaton.alphabet), dtype=np.int64)
        row[symbol] = 0
        return row

    def edge_costs(self, symbol: int, labels: IntArray) -> IntArray:
        """Return the costs in units of edges with these labels where `symbol` is true."""
        return self.pair_costs(np.asarray(symbol), labels)

    def pair_costs(self, true: IntArray, written: IntArray) -> IntArray:
        """Return the costs in units of writing one symbol for another, entry by entry."""
        costs: IntArray
        if self.costs is not None:
            costs = self.costs.matrix[true, written]
        else:
            costs = (true != written).astype(np.int64)
        return costs

    def total(self, true: IntArray, written: IntArray) -> int:
        """Return the cost of one word for another, in units."""
        if self.costs is not None:
            return self.costs.total(true, written)
        return int(np.count_nonzero(true != written))

    def ball(self, cost: int) -> arb:
        """Return exp(-a cost) as a ball at the current precision."""
        from flint import arb

        return arb(self._exact_unit * -cost).exp()

    @cached_property
    def _exact_unit(self) -> fmpq:
        from flint import fmpq

        return fmpq(self.unit_exponent.numerator, self.unit_exponent.denominator)

    # -- float64 ----------------------------------------------------------------------------------

    @cached_property
    def z(self) -> float:
        """exp(-a) under the Hamming distance, within one unit in the last place."""
        return self.float_of(1)

    def float_of(self, cost: int) -> float:
        """Return exp(-a cost) as a float64 within one unit in the last place; 0 below exp(-693)."""
        from flint import ctx

        if self.unit_exponent * cost > 693:
            return 0.0
        with ctx.workprec(FLOAT_PRECISION):
            return float(self.ball(cost).mid())

    @cached_property
    def float_table(self) -> FloatArray:
        """exp(-a c) of every pair of symbols, [true, written]; ValueError without symbol costs."""
        if self.costs is None:
            raise ValueError("the Hamming distance has no table")
        values, where = np.unique(self.costs.matrix, return_inverse=True)
        floats = np.array([self.float_of(cost) for cost in values.tolist()])
        return floats[where].reshape(self.costs.matrix.shape)

    def floats(self, costs: IntArray) -> FloatArray:
        """Return `float_of` of every entry."""
        if self.costs is None and not (costs < 0).any() and not (costs > 1).any():
            return np.where(costs == 0, 1.0, self.z)
        values, where = np.unique(costs, return_inverse=True)
        return np.array([self.float_of(cost) for cost in values.tolist()])[where]

    def start_floats(self, symbol: int) -> FloatArray:
        """Return the weights of the start's edges where `symbol` is true, multiplicity included."""
        weights = self.floats(self.edge_costs(symbol, self.automaton.start_label))
        return weights if self.start_times is None else weights * self.start_times

    @cached_property
    def degree(self) -> int:
        """Largest out-degree of a state."""
        return max(1, int(np.diff(self.automaton.indptr).max(initial=0)))

    @cached_property
    def reach(self) -> list[float]:
        """The largest entry of (z A)^k 1 for k = 0 … `MOST_STEPS` + 1, within 1e-9."""
        indptr, head = self.indices
        size, product = self.automaton.n_states, sparse_tools().csr_matvec
        layer, largest = np.ones(size), [1.0]
        for _ in range(MOST_STEPS + 1):
            after, layer = layer, np.zeros(size)
            product(size, size, indptr, head, self.uniform_data, after, layer)
            largest.append(float(layer.max(initial=0.0)))
        return largest

    @cached_property
    def row_sum(self) -> float:
        """An upper bound on the total weight of the edges that leave one state."""
        if not self.distinguishes:
            return float(self.degree)
        wrong = self.float_of(self.smallest_cost)
        return min(float(self.degree), self.same_label + wrong * self.degree) * (1 + 2**-40)

    @cached_property
    def same_label(self) -> int:
        """Most edges of one label that leave one state: 1 in a deterministic automaton."""
        a = self.automaton
        if a.is_deterministic:
            return 1
        keys = a.tail * len(a.alphabet) + a.label
        return int(np.unique(keys, return_counts=True)[1].max(initial=1))

    @property
    def roundings(self) -> int:
        """Most roundings that an entry meets from one layer to the next (E1)."""
        return self.degree + self.same_label + 5

    @cached_property
    def spacing(self) -> int:
        """After how many layers a pass rescales: none can over- or underflow in between."""
        lowest = self.float_of(1 if self.costs is None else int(self.costs.matrix.max()))
        shrink = -math.log2(lowest) if lowest > 0 else 1000.0
        return max(1, int(100 / max(shrink, math.log2(self.degree + 1))))

    @cached_property
    def loses(self) -> bool:
        """Whether some weight is below 2**-100, so that float64 may lose it altogether."""
        highest = 1 if self.costs is None else int(self.costs.matrix.max())
        return self.unit_exponent * highest > 69

    @cached_property
    def views(self) -> tuple[Any, Any, Any]:
        """(indptr, head, label) for reading one entry at a time, which numpy does slowly."""
        a = self.automaton
        return view(a.indptr), view(a.head), view(a.label)

    @cached_property
    def padded(self) -> tuple[IntArray, IntArray, FloatArray]:
        """(heads, labels, weights) of every state's edges, shape (N, degree).

        Weights are those of wrong symbols (Hamming). -1 labels of weight 0 fill up.
        """
        a = self.automaton
        heads = np.zeros((a.n_states, self.degree), dtype=np.int64)
        labels = np.full((a.n_states, self.degree), -1, dtype=np.int64)
        weights = np.zeros((a.n_states, self.degree))
        place = np.arange(a.n_edges) - a.indptr[a.tail]
        heads[a.tail, place], labels[a.tail, place] = a.head, a.label
        weights[a.tail, place] = self.uniform_data
        return heads, labels, weights

    @cached_property
    def indices(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(indptr, head) as the 32-bit integers that SciPy's products take."""
        return self.automaton.indptr.astype(np.int32), self.automaton.head.astype(np.int32)

    @cached_property
    def uniform_data(self) -> FloatArray:
        """The weight of a wrong symbol on every edge (Hamming)."""
        return np.full(self.automaton.n_edges, self.z)

    @cached_property
    def matching(self) -> tuple[IntArray, IntArray, IntArray]:
        """(pointer, tails, heads): the edges that carry each symbol, sorted by tail."""
        pointer, edges = self.automaton.by_label
        return pointer, self.automaton.tail[edges], self.automaton.head[edges]
