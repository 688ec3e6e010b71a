"""Backward passes: the weight of all completions from every state, layer by layer.

With V_n = 1 on final states, V_i(q) is the sum over edges q → q' of the edge's weight times
V_{i+1}(q'). A pass keeps some layers and computes the others again when a walk asks for them, so a
long word needs memory for about twice the square root of its length.

There are two arithmetics with one interface: float64 with a proven error bound (`FloatLayers`) and
balls of any precision (`BallLayers`). Both raise `Undecided` when a uniform is too close to a border.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.passes.nearest import Nearest
from dpauto.passes.weights import FloatArray, Weights
from dpauto.randomness import Tape
from dpauto.words import IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = ["BallLayers", "FloatLayers", "Layers", "Undecided", "uniform_ball"]


class Undecided(Exception):  # noqa: N818 - a signal between passes, never seen by users
    """The bits read so far do not decide; run again with more."""


def uniform_ball(tape: Tape) -> arb:
    """Return the tape's next uniform as a ball that contains it."""
    from flint import arb

    u, bits = tape.uniform()
    return arb((2 * u + 1, -bits - 1), (1, -bits - 1))


class Layers(ABC):
    """Layers V_n … V_1 of one word, and the three draws that a release takes from them."""

    def __init__(self, weights: Weights, word: IntArray, nearest: Nearest) -> None:
        self.weights, self.word, self.nearest = weights, word, nearest

    @property
    def count(self) -> int:
        """N0, the number of nearest words."""
        return self.nearest.count

    def draw_nearest(self, tape: Tape) -> IntArray:
        """Return a uniform random word of T, shape (n,)."""
        return self.nearest.word(tape)

    def weight(self, word: IntArray) -> arb:
        """Return the weight of a word relative to one of T, at most 1, as a ball."""
        return self.weights.ball(self.weights.total(self.word, word) - self.nearest.distance)

    @property
    def largest(self) -> arb:
        """A bound on the weight of every word outside T, below 1, as a ball."""
        least = 1 if self.nearest.distance else self.weights.smallest_cost
        return self.weights.ball(least)

    def close(self) -> None:
        """Say that the pass is read no more."""

    @property
    @abstractmethod
    def outside(self) -> arb:
        """Z', the total weight of the words outside T relative to one word of T, as a ball."""

    @abstractmethod
    def choose_leaving(self, tape: Tape) -> int:
        """Draw the edge by which a word outside T leaves it, in proportion to the words' weight."""

    @abstractmethod
    def walk(self, i: int, state: int, tape: Tape) -> list[int]:
        """Complete a word from `state` at layer i, in proportion to its weight.

        Every step reads one uniform; returns the n - i symbols written.
        """

    def draw_outside(self, tape: Tape) -> IntArray:
        """Return a word outside T, drawn in proportion to its weight; shape (n,)."""
        leaving = self.nearest.leaving
        k = self.choose_leaving(tape)
        prefix = self.nearest.prefix(k, tape)
        i = len(prefix)
        written = np.empty(len(self.word), dtype=np.int64)
        written[:i] = prefix
        written[i] = leaving.label[k]
        written[i + 1 :] = self.walk(i + 1, int(leaving.head[k]), tape)
        return written


#: A pass in float64 brings the largest entry of a layer to this power of two ...
_TOP = 900
#: ... and sets to 0 what is then below this one. Between two rescalings no entry moves by more
#: than 2**100 either way, so none becomes infinite or subnormal.
_FLOOR = 2.0**-900


class FloatLayers(Layers):
    """The pass in float64, with the error bound of the docs' page on exact arithmetic.

    Every entry x of layer i stands for a true value within ``relative(i) * x + absolute[i]`` of it,
    both in units of 2**scale[i].

    Parameters
    ----------
    weights : Weights
    word : int array, shape (n,)
    nearest : Nearest
    memory : int, optional
        Bytes that kept layers may take before only some are kept.
    """

    #: Unit roundoff; a test makes it coarse.
    unit = 2.0**-53

    def __init__(
        self, weights: Weights, word: IntArray, nearest: Nearest, memory: int = 2**26
    ) -> None:
        super().__init__(weights, word, nearest)
        n, size = len(word), weights.automaton.n_states
        self._stride = _stride(n, 8 * size, memory)
        self.scale = [0] * (n + 1)
        self.absolute = [0.0] * (n + 1)
        self._memory = _borrow(-(-n // self._stride), size)
        self._kept: dict[int, FloatArray] = dict(
            zip(
                [*range(self._stride, n, self._stride), n],
                self._memory,
                strict=True,
            )
        )
        self._segment: dict[int, FloatArray] = {}
        self._gathered = np.empty(len(nearest.leaving.head))
        self._symbols: list[int] = word.tolist()
        self._rows: list[int] = weights.rows.tolist()
        self._growth = weights.row_sum * (1 + 2**-40)
        self._backward()
        self._sum_leaving()

    def close(self) -> None:
        """Let the thread's next pass use this one's memory; the layers must not be read after."""
        self._kept = {}
        _give_back(self._memory)

    def relative(self, i: int) -> float:
        """Bound on the relative error of layer i's entries; infinite when nothing is known."""
        # Roundings per layer: the product (1), the weight's own (1), a sum of `degree` terms
        # (degree - 1), and the correction on matching edges (3); 2 to spare.
        loss = (len(self.word) - i) * (self.weights.degree + 6) * self.unit
        return loss / (1 - loss) if loss < 0.5 else math.inf

    def _backward(self) -> None:
        w, n, size = self.weights, len(self.word), self.weights.automaton.n_states
        pointer, heads = self.nearest.leaving.pointer.tolist(), self.nearest.leaving.head
        layer = self._kept[n]
        layer[: w.rows[n]] = w.automaton.final[: w.rows[n]]
        spare = [np.zeros(size), np.zeros(size)]
        for i in range(n, 0, -1):
            if i < n:
                ahead = self._kept[i] if i % self._stride == 0 else spare[i % 2]
                self._advance(i, layer, ahead)
                layer = ahead
            _gather(layer, heads, self._gathered, pointer[i - 1], pointer[i])

    def _advance(self, i: int, after: FloatArray, layer: FloatArray) -> None:
        """Compute layer i from layer i + 1, and its scale and absolute error."""
        w = self.weights
        rows, symbol = self._rows[i], self._symbols[i]
        layer[:rows] = 0.0
        if w.costs is None:
            w.product(rows, w.uniform_data, after, layer)
            w.add_matching(symbol, rows, 1.0 - w.z, after, layer)
        else:
            labels = w.automaton.label[: w.indices[0][rows]]
            w.product(rows, w.float_table[symbol][labels], after, layer)
        self.scale[i] = self.scale[i + 1]
        self.absolute[i] = self.absolute[i + 1] * self._growth
        if w.loses:
            # A weight below 2**-100 may have been lost altogether, or its product be subnormal.
            self.absolute[i] += w.degree * (2.0 + 2.0**-1000)
        if i % w.spacing == 0:
            self._rescale(i, layer[:rows])

    def _rescale(self, i: int, layer: FloatArray) -> None:
        """Bring the largest entry near 2**_TOP, set tiny ones to 0 and account for them."""
        top = float(layer.max(initial=0.0))
        if top == 0.0:
            return
        shift = _TOP - math.frexp(top)[1]
        np.ldexp(layer, shift, out=layer)
        self.scale[i] -= shift
        self.absolute[i] = _ldexp(self.absolute[i], shift)
        tiny = layer < _FLOOR
        if bool(layer[tiny].any()):
            layer[tiny] = 0.0
            self.absolute[i] += _FLOOR

    def layer(self, i: int) -> FloatArray:
        """Return layer i, computed again from the next kept one if need be."""
        found = self._kept.get(i)
        if found is None:
            found = self._segment.get(i)
        if found is None:
            self._segment = {}
            top = min(len(self.word), -(-i // self._stride) * self._stride)
            after = self._kept[top]
            for j in range(top - 1, max(top - self._stride, 0), -1):
                here = np.zeros(len(after))
                self._advance(j, after, here)
                self._segment[j] = after = here
            found = self._segment[i]
        return found

    def _sum_leaving(self) -> None:
        """Add up the weights of the words that leave T by each edge."""
        leaving, n = self.nearest.leaving, len(self.word)
        # Everything in units of 2**common.
        mantissa, exponent = np.frexp(self._gathered)
        factor, shift = self._factors()
        steps = np.repeat(np.arange(1, n + 1), np.diff(leaving.pointer))
        scales = np.array(self.scale)[steps] + shift
        exponent = exponent + scales
        common = int(exponent[mantissa > 0].max(initial=-(2**40)))
        if common == -(2**40):
            common = int(scales.max(initial=0)) + _TOP
        terms = _ldexp_array(mantissa * factor, exponent - common)
        self._cumulative = np.cumsum(terms)
        self._common = common
        lost = _ldexp_array(np.array(self.absolute)[steps] * factor, scales - common)
        self._leaving_relative = self.relative(1) + 1.01 * (len(terms) + 6) * self.unit
        self._leaving_absolute = 0.0
        if terms.any() or lost.any():
            # ldexp may have dropped what is below 2**-1074 beside the largest term.
            self._leaving_absolute = float(lost.sum()) * (1 + 2**-20) + len(terms) * 2.0**-1000

    def _factors(self) -> tuple[FloatArray, IntArray]:
        """Mantissa and exponent of each leaving edge's own factor: prefixes times weight."""
        leaving, w = self.nearest.leaving, self.weights
        if leaving.prefixes is None:
            return w.floats(leaving.cost), np.zeros(len(leaving.cost), dtype=np.int64)
        mantissas, exponents = [], []
        for cost, prefixes in zip(leaving.cost.tolist(), leaving.prefixes, strict=True):
            value = w.ball(cost - self.nearest.offset) * prefixes
            mantissa, power = _split(value)
            mantissas.append(mantissa)
            exponents.append(power)
        return np.array(mantissas), np.array(exponents, dtype=np.int64)

    @property
    def outside(self) -> arb:
        """Z' as a ball."""
        from flint import arb

        if not len(self._cumulative):
            return arb(0)
        total = float(self._cumulative[-1])
        error = total * self._leaving_relative + self._leaving_absolute
        return arb(total, error * (1 + 2**-20)) * arb((1, self._common))

    def choose_leaving(self, tape: Tape) -> int:
        """Draw the leaving edge; `Undecided` near a border."""
        cumulative = self._cumulative
        total = float(cumulative[-1])
        u, bits = tape.uniform()
        target = _unit_float(u, bits) * total
        margin = total * (2 * self._leaving_relative + 8 * self.unit) + 2 * self._leaving_absolute
        k = int(np.searchsorted(cumulative, target + margin, side="right"))
        if k == len(cumulative) or (k and cumulative[k - 1] >= target - margin):
            raise Undecided
        return k

    def walk(self, i: int, state: int, tape: Tape) -> list[int]:
        """Complete a word from `state` at layer i; `Undecided` near a border."""
        indptr, head, label = self.weights.views
        n, written = len(self.word), []
        uniforms = (tape.uniforms(n - i) * 2.0**-64).tolist()
        relative = 2 * self.relative(1) + (4 * self.weights.degree + 8) * self.unit
        absolute = 2 * self.weights.degree * max(1.0, self._growth)
        while i < n:
            view = self._view(i + 1)
            lo = indptr[state]
            heads, labels = head[lo : indptr[state + 1]], label[lo : indptr[state + 1]]
            if view is not None:
                weights = self._edge_weights(i, labels, [view[q] for q in heads])
                inner = None
            else:
                # The layer between two kept ones: its few entries are cheaper made than kept.
                view = memoryview(self._kept[i + 2])
                inner = [
                    self._edge_weights(
                        i + 1, label[indptr[q] : indptr[q + 1]], [view[p] for p in head[indptr[q] : indptr[q + 1]]]
                    )
                    for q in heads
                ]
                weights = self._edge_weights(i, labels, [sum(values) for values in inner])
            k = _pick(weights, uniforms[i - n], relative, absolute * self.absolute[i + 1])
            written.append(labels[k])
            state = heads[k]
            i += 1
            if inner is not None:
                lo = indptr[state]
                k = _pick(inner[k], uniforms[i - n], relative, absolute * self.absolute[i + 1])
                written.append(label[lo + k])
                state = head[lo + k]
                i += 1
        return written

    def _view(self, i: int) -> memoryview | None:
        """Layer i for reading entries one by one, or None if it is cheaper made entry by entry."""
        if self._stride == 2 and i not in self._kept:
            return None
        return memoryview(self.layer(i))

    def _edge_weights(self, i: int, labels: memoryview, after: list[float]) -> list[float]:
        """Weights of edges at layer i, given their labels and the weights after them."""
        symbol, w = self._symbols[i], self.weights
        if w.costs is not None:
            row = memoryview(w.float_table[symbol])
            return [row[s] * v for s, v in zip(labels, after, strict=True)]
        z = w.z
        return [v if s == symbol else z * v for s, v in zip(labels, after, strict=True)]


def _gather(
    layer: FloatArray, heads: IntArray, gathered: FloatArray, lo: int, hi: int
) -> None:
    """Copy the entries of `layer` at ``heads[lo:hi]`` to ``gathered[lo:hi]``."""
    if hi - lo > 12:
        gathered[lo:hi] = layer[heads[lo:hi]]
    else:
        # A few entries are read faster one by one than by numpy's indexing.
        for k in range(lo, hi):
            gathered[k] = layer[heads[k]]


def _pick(weights: list[float], uniform: float, relative: float, absolute: float) -> int:
    """Return the index that `uniform` falls on; `Undecided` within the error of the weights.

    `relative` bounds the error of cumulative sums and target in parts of the total; `absolute` is
    added to it.
    """
    total = sum(weights)
    target = uniform * total
    margin = total * relative + absolute
    here, before = 0.0, -math.inf
    for k, value in enumerate(weights):
        here += value
        if here > target + margin:
            if before >= target - margin:
                break
            return k
        before = here
    raise Undecided


def _unit_float(u: int, bits: int) -> float:
    """The uniform [u, u + 1] / 2**bits as a float, within 2**-53 relative and 2**-bits."""
    return math.ldexp(u, -bits) if u < 2**1000 else float(u >> (bits - 64)) * 2.0**-64


def _stride(steps: int, layer_bytes: int, memory: int) -> int:
    """Every how manyeth layer to keep: all if they are small, else half, else the square root."""
    if steps * layer_bytes <= min(memory, 2**21):
        return 1
    if steps * layer_bytes <= 2 * memory:
        return 2
    return max(3, math.isqrt(steps))


_local = threading.local()


def _borrow(count: int, size: int) -> FloatArray:
    """Return memory for `count` layers: the thread's spare one if it is large enough, else new.

    The first writing of fresh memory would take as long as the products do.
    """
    spare: FloatArray | None = getattr(_local, "spare", None)
    _local.spare = None
    if spare is None or spare.size < count * size:
        spare = np.zeros(count * size)
    return spare[: count * size].reshape(count, size)


def _give_back(memory: FloatArray) -> None:
    """Keep a pass's memory for the thread's next one, which overwrites it."""
    whole = memory.base
    if isinstance(whole, np.ndarray) and whole.nbytes <= 2**27:
        _local.spare = whole


def _ldexp(value: float, shift: int) -> float:
    """math.ldexp that rounds up: infinite on overflow, positive on underflow."""
    if value == 0.0:
        return 0.0
    try:
        return math.ldexp(value, shift) or 2.0**-1074
    except OverflowError:
        return math.inf


def _ldexp_array(values: FloatArray, shift: IntArray) -> FloatArray:
    """np.ldexp for shifts of any size."""
    return np.ldexp(values, np.clip(shift, -4000, 4000).astype(np.int32))


def _split(value: arb) -> tuple[float, int]:
    """A positive ball's midpoint as float mantissa and power of two."""
    mantissa, power = value.mid().man_exp()
    excess = max(0, int(mantissa).bit_length() - 60)
    return float(int(mantissa) >> excess), int(power) + excess


class BallLayers(Layers):
    """The pass in interval arithmetic at a stated precision, for what float64 cannot decide.

    Parameters
    ----------
    weights : Weights
    word : int array, shape (n,)
    nearest : Nearest
    precision : int
        Bits; the caller has set flint's working precision to it.
    """

    def __init__(
        self, weights: Weights, word: IntArray, nearest: Nearest, memory: int = 2**28
    ) -> None:
        super().__init__(weights, word, nearest)
        n = len(word)
        self._stride = _stride(n, 128 * weights.automaton.n_states, memory)
        self._balls: dict[int, arb] = {}
        self._kept: dict[int, list[Any]] = {}
        self._segment: dict[int, list[Any]] = {}
        self._backward()

    def _ball(self, cost: int) -> arb:
        found = self._balls.get(cost)
        if found is None:
            found = self._balls[cost] = self.weights.ball(cost)
        return found

    def _backward(self) -> None:
        from flint import arb

        w, n = self.weights, len(self.word)
        leaving = self.nearest.leaving
        pointer, heads, costs = leaving.pointer.tolist(), leaving.head.tolist(), leaving.cost.tolist()
        zero, one = arb(0), arb(1)
        layer: list[Any] = [one if f else zero for f in w.automaton.final[: w.rows[n]].tolist()]
        self._kept[n] = layer
        terms: list[Any] = [zero] * len(heads)
        for i in range(n, 0, -1):
            if i < n:
                layer = self._advance(i, layer)
                if i % self._stride == 0:
                    self._kept[i] = layer
            for k in range(pointer[i - 1], pointer[i]):
                term = self._ball(costs[k] - self.nearest.offset) * layer[heads[k]]
                terms[k] = term if leaving.prefixes is None else term * leaving.prefixes[k]
        self._terms = terms
        self._outside = sum(terms, zero)

    def _advance(self, i: int, after: list[Any]) -> list[Any]:
        """Compute layer i from layer i + 1."""
        from flint import arb

        w, a = self.weights, self.weights.automaton
        indptr = a.indptr[: w.rows[i] + 1].tolist()
        heads = a.head[: indptr[-1]].tolist()
        costs = w.edge_costs(int(self.word[i]), a.label[: indptr[-1]]).tolist()
        zero, layer = arb(0), []
        for lo, hi in zip(indptr[:-1], indptr[1:], strict=True):
            total = zero
            for e in range(lo, hi):
                value = after[heads[e]]
                if value is not zero:
                    total = total + (value if costs[e] == 0 else self._ball(costs[e]) * value)
            layer.append(total)
        return layer

    def layer(self, i: int) -> list[Any]:
        """Return layer i, computed again from the next kept one if need be."""
        found = self._kept.get(i) or self._segment.get(i)
        if found is None:
            self._segment = {}
            top = min(len(self.word), -(-i // self._stride) * self._stride)
            after = self._kept[top]
            for j in range(top - 1, max(top - self._stride, 0), -1):
                self._segment[j] = after = self._advance(j, after)
            found = self._segment[i]
        return found

    @property
    def outside(self) -> arb:
        """Z' as a ball."""
        return self._outside

    def choose_leaving(self, tape: Tape) -> int:
        """Draw the leaving edge; `Undecided` near a border."""
        return _choose(self._terms, self._outside, tape)

    def walk(self, i: int, state: int, tape: Tape) -> list[int]:
        """Complete a word from `state` at layer i; `Undecided` near a border."""
        from flint import arb

        a, written = self.weights.automaton, []
        for i in range(i, len(self.word)):
            lo, hi = int(a.indptr[state]), int(a.indptr[state + 1])
            costs = self.weights.edge_costs(int(self.word[i]), a.label[lo:hi]).tolist()
            after = self.layer(i + 1)
            terms = [
                self._ball(cost) * after[head]
                for cost, head in zip(costs, a.head[lo:hi].tolist(), strict=True)
            ]
            edge = lo + _choose(terms, sum(terms, arb(0)), tape)
            written.append(int(a.label[edge]))
            state = int(a.head[edge])
        return written


def _choose(terms: list[Any], total: Any, tape: Tape) -> int:
    """Draw an index in proportion to balls."""
    target = uniform_ball(tape) * total
    reached = terms[0] - terms[0]
    for k, term in enumerate(terms):
        reached = reached + term
        if target < reached:
            return k
        if not target > reached:
            raise Undecided
    raise Undecided
