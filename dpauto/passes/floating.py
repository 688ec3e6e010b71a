"""The backward pass in float64, for one word or a block of words, with a proven error bound."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.arrays import ragged, sparse_tools
from dpauto.passes.backward_sums import BackwardSums, ldexp
from dpauto.passes.nearest import Nearest
from dpauto.passes.weights import FloatArray, Weights, stride_for, view
from dpauto.words import IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = ["FloatPass"]

#: Rescaling brings the largest entry of a word's layer to this power of two ...
TOP = 880
#: ... and sets to 0 what is then below this one. Between two rescalings no entry moves by more
#: than 2**100 either way, so none becomes infinite or subnormal.
FLOOR = 2.0**-900


class FloatPass:
    """Layers V_n … V_1 of a block of words over one automaton.

    Entry x of layer i stands for a true value within ``relative(i) * x + absolute(i)`` of it, both
    in units of 2**scale(i). The docs' error analysis proves it; "E1" and so on in the code are
    its lemmas. A layer is one flat array: state q of word b is entry q * B + b.

    Parameters
    ----------
    weights : Weights
        With symbol costs a block holds one word: each has a matrix of its own.
    words : int array, shape (B, n)
    nearest : sequence of Nearest, length B
    memory : int, optional
        Bytes that kept layers may take before only some are kept.
    """

    #: Unit roundoff; a test makes it coarse.
    unit = 2.0**-53

    def __init__(
        self,
        weights: Weights,
        words: IntArray,
        nearest: Sequence[Nearest],
        memory: int = 2**27,
    ) -> None:
        self.weights, self.words, self.nearest = weights, words, nearest
        self.width, self.length = words.shape
        self._size = weights.automaton.n_states * self.width
        self._stride = stride_for(self.length, 8 * self._size, memory)
        kept = -(-self.length // self._stride)
        self._memory = _borrow(kept * self._size)
        #: Kept layers, shape (kept, N * B): every stride-th and the last.
        self.kept = self._memory[: kept * self._size].reshape(kept, self._size)
        self._segment: tuple[int, FloatArray] = (-1, self.kept[:0])
        self._spacing = weights.spacing
        events = self.length // self._spacing + 2
        self._scales = np.zeros((events, self.width), dtype=np.int64)
        self._losses = np.zeros((events, self.width))
        self._growth = (weights.row_sum * (1 + 2**-40)) ** self._spacing
        self._list_leaving()
        self._run()
        self._weigh_leaving()

    def close(self) -> None:
        """Let the thread's next pass use this one's memory; layers must not be read after."""
        _give_back(self._memory)

    # -- error bounds -----------------------------------------------------------------------------

    def relative(self, i: int) -> float:
        """Bound on the relative error of layer i's entries; infinite when nothing is known."""
        # E1: the weight's own roundings, product, sum and correction, layer by layer.
        loss = (self.length - i) * (self.weights.degree + 6) * self.unit
        return loss / (1 - loss) if loss < 0.5 else math.inf

    def scales(self, layers: IntArray, words: IntArray) -> IntArray:
        """Powers of two in whose units these layers of these words are."""
        found: IntArray = self._scales[-(-layers // self._spacing), words]
        return found

    def losses(self, layers: IntArray, words: IntArray) -> FloatArray:
        """Bounds on the absolute error of entries of these layers of these words."""
        found: FloatArray = self._losses[-(-layers // self._spacing), words]
        return found * self._growth + self._underflow

    @cached_property
    def choice_error(self) -> float:
        """Bound on the error of a choice among edges, in parts of their total weight (E4)."""
        return 2 * self.relative(1) + (4 * self.weights.degree + 8) * self.unit

    def choice_loss(self, i: int, b: int) -> float:
        """What is added to `choice_error` for weights that come from layer i of word b."""
        loss = float(self._losses[-(-i // self._spacing), b]) * self._growth + self._underflow
        return 2.0 * self.weights.degree * loss

    @cached_property
    def _underflow(self) -> float:
        """What a stretch between rescalings may lose to weights below 2**-100 (E2)."""
        if not self.weights.loses:
            return 0.0
        return 4.0 * self.weights.degree * self._spacing * self._growth

    # -- the pass ---------------------------------------------------------------------------------

    def _run(self) -> None:
        w, n = self.weights, self.length
        last = self.kept[-1]
        last.reshape(-1, self.width)[: w.rows[n]] = w.automaton.final[: w.rows[n], np.newaxis]
        spare = [np.zeros(self._size), np.zeros(self._size)] if self._stride > 1 else []
        stride, kept, collect = self._stride, list(self.kept), self._collector()
        collect(n, last)
        if stride == 1:
            place = [last, *kept].__getitem__
        else:
            place = lambda i: spare[i % 2] if i % stride else kept[i // stride - 1]  # noqa: E731
        for i, layer in self._descend(n, 1, last, place):
            collect(i, layer)

    def _descend(
        self, top: int, bottom: int, after: FloatArray, place: Callable[[int], FloatArray]
    ) -> Iterator[tuple[int, FloatArray]]:
        """Compute layers top - 1 … bottom from layer `top`, each into ``place(i)``."""
        w, width, size = self.weights, self.width, self.weights.automaton.n_states
        indptr, head = w.indices
        rows_at, spacing = w.rows.tolist(), self._spacing
        data = w.uniform_data if w.costs is None else None
        raised = self._raised() if w.costs is None else None
        match, inverse = self._matcher(), 1.0 / w.z if raised else 0.0
        bounded = type(self)._bound is not FloatPass._bound
        product, products = sparse_tools().csr_matvec, sparse_tools().csr_matvecs
        for i in range(top - 1, bottom - 1, -1):
            layer, rows = place(i), rows_at[i]
            layer[: rows * width] = 0.0
            values = data if data is not None else self._edge_data(i, rows)
            if raised:
                at = raised[i]
                saved = after[at]
                after[at] = saved * inverse
            if width == 1:
                product(rows, size, indptr, head, values, after, layer)
            else:
                products(rows, size, width, indptr, head, values, after, layer)
            if raised:
                after[at] = saved
            elif data is not None:
                match(i, rows, after, layer)
            if bounded:
                self._bound(i, layer[:rows])
            if i % spacing == 0:
                self._rescale(i, layer[: rows * width].reshape(rows, width))
            yield i, layer
            after = layer

    def _bound(self, i: int, layer: FloatArray) -> None:
        """Set the entry of layer i that stands for states the pass leaves out."""

    def _edge_data(self, i: int, rows: int) -> FloatArray:
        """Weights of the edges at layer i under symbol costs."""
        labels = self.weights.automaton.label[: self.weights.indices[0][rows]]
        data: FloatArray = self.weights.float_table[int(self.words[0, i])][labels]
        return data

    def _matcher(self) -> Callable[[int, int, FloatArray, FloatArray], None]:
        """What raises the weight of the edges that carry the true symbol from z to 1."""
        w, width, words = self.weights, self.width, self.words
        pointer, tails, heads = w.matching
        factor = 1.0 - w.z

        def block(i: int, rows: int, after: FloatArray, layer: FloatArray) -> None:
            symbols = words[:, i]
            edges = ragged(pointer[symbols], pointer[symbols + 1])
            column = np.repeat(np.arange(width), pointer[symbols + 1] - pointer[symbols])
            inside = tails[edges] < rows
            edges, column = edges[inside], column[inside]
            entries = tails[edges] * width + column
            gain = factor * after[heads[edges] * width + column]
            if w.same_label == 1:
                layer[entries] += gain
            else:
                np.add.at(layer, entries, gain)

        return block

    def _raised(self) -> list[Any] | None:
        """For a chain, the entries of layer i + 1 whose states the true symbols of step i lead to.

        Dividing them by z for the time of a product gives the edges into them the weight 1, at less
        cost than `_matcher`. None if a symbol leads to several states, or z is too small.
        """
        states = self.weights.automaton.state_of_symbol
        if states is None or self.weights.loses:
            return None
        entries = states[self.words.T] * self.width + np.arange(self.width)
        inside = states[self.words.T] >= 0
        if self.width == 1 and inside.all():
            return list(entries[:, 0].tolist())
        return [row[keep] for row, keep in zip(entries, inside, strict=True)]

    def _rescale(self, i: int, layer: FloatArray) -> None:
        """Bring each word's largest entry near 2**TOP, set tiny ones to 0, account for it (E2)."""
        event = i // self._spacing
        # Over one word's column numpy reduces faster without an axis.
        axis = 0 if self.width > 1 else None
        top = np.atleast_1d(layer.max(axis=axis, initial=0.0))
        shift = np.where(top > 0, TOP - np.frexp(top)[1], 0)
        # Powers of two multiply exactly, and much faster than ldexp; two, as one may overflow.
        layer *= np.ldexp(1.0, shift // 2)
        layer *= np.ldexp(1.0, shift - shift // 2)
        self._scales[event] = self._scales[event + 1] - shift
        with np.errstate(over="ignore"):
            lost = self._losses[event + 1] * self._growth + self._underflow
            # Rounded up: a bound that is tiny must not become 0.
            self._losses[event] = np.ldexp(lost, shift) + (lost > 0) * 2.0**-1000
        tiny = layer < FLOOR
        self._losses[event] += np.where((tiny & (layer > 0)).any(axis=axis), FLOOR, 0.0)
        layer[tiny] = 0.0

    def layer(self, i: int) -> FloatArray:
        """Return layer i, computed again from the next kept one if need be; shape (N * B,)."""
        found: FloatArray
        if i == self.length or i % self._stride == 0:
            found = self.kept[-1 if i == self.length else i // self._stride - 1]
            return found
        first = i // self._stride * self._stride
        if self._segment[0] != first:
            top = min(self.length, first + self._stride)
            block = np.zeros((top - first - 1, self._size))
            for _ in self._descend(top, first + 1, self.layer(top), lambda j: block[j - first - 1]):
                pass
            self._segment = (first, block)
        found = self._segment[1][i - first - 1]
        return found

    # -- leaving edges ----------------------------------------------------------------------------

    def _collector(self) -> Callable[[int, FloatArray], None]:
        """What copies the entries at the heads of leaving edges while their layer is at hand."""
        entries = self._heads * self.width + self._columns
        order = np.argsort(self._steps, kind="stable")
        entries = entries[order]
        pointer = np.searchsorted(self._steps[order], np.arange(self.length + 1)).tolist()
        gathered = self._gathered
        entry, target, place = view(entries), view(gathered), view(order)

        def collect(i: int, layer: FloatArray) -> None:
            lo, hi = pointer[i - 1], pointer[i]
            if hi - lo > 12:
                gathered[order[lo:hi]] = layer[entries[lo:hi]]
            else:
                value = view(layer)
                for k in range(lo, hi):
                    target[place[k]] = value[entry[k]]

        return collect

    def _list_leaving(self) -> None:
        """Put the leaving edges of all words into one list, word after word."""
        leaving = [nearest.leaving for nearest in self.nearest]
        sizes = np.array([len(near.head) for near in leaving])
        self._bounds = np.concatenate(([0], np.cumsum(sizes)))
        self._columns = np.repeat(np.arange(self.width), sizes)
        self._steps = np.concatenate([near.steps for near in leaving])
        self._heads = np.concatenate([near.head for near in leaving])
        self._gathered = np.empty(len(self._steps))

    def _weigh_leaving(self) -> None:
        """Weigh the words that leave T by each edge, per word in units of 2**common (E3)."""
        columns, width = self._columns, self.width
        factor, shift = self._factors()
        scales = self.scales(self._steps + 1, columns) + shift
        losses = self.losses(self._steps + 1, columns)
        mantissa, exponent = np.frexp(self._gathered)
        exponent = exponent + scales
        filled = mantissa > 0
        common = np.full(width, -(2**40))
        np.maximum.at(common, columns[filled], exponent[filled])
        # A word without any weight still has a scale in which to state its error.
        highest = np.zeros(width, dtype=np.int64)
        np.maximum.at(highest, columns, scales + TOP)
        self.common = np.where(common > -(2**40), common, highest)
        terms = ldexp(mantissa * factor, exponent - self.common[columns])
        # A factor below 2**-1000 reads as 0 and loses its term.
        lost = losses * factor + np.where(factor == 0, 2.0**-999 * self._gathered, 0)
        self._weighed = (mantissa * factor, exponent, lost, scales)
        lost = ldexp(lost, scales - self.common[columns])
        sizes = np.diff(self._bounds)
        self.leaving_relative = self.relative(1) + 1.01 * (sizes + 6) * self.unit
        # ldexp may have dropped what is below 2**-1074 beside the largest term.
        uncertain = np.bincount(columns, filled | (losses > 0), width) > 0
        self.leaving_absolute = np.where(
            uncertain,
            np.bincount(columns, lost, width) * (1 + 2**-20) + sizes * 2.0**-1000,
            0.0,
        )
        #: Cumulative weights of each word's leaving edges.
        self.cumulative = [
            np.cumsum(terms[lo:hi]) for lo, hi in itertools.pairwise(self._bounds.tolist())
        ]

    def backward(self, b: int) -> BackwardSums:
        """Return the sums of word b's leaving edges from the last backwards."""
        part = slice(self._bounds[b], self._bounds[b + 1])
        mantissa, exponent, lost, scales = self._weighed
        return BackwardSums(
            self._steps[part],
            mantissa[part],
            exponent[part],
            lost[part],
            scales[part],
            self._spacing,
        )

    def _factors(self) -> tuple[FloatArray, IntArray]:
        """Mantissa and exponent of each leaving edge's own factor: prefixes times weight."""
        w = self.weights
        mantissas, exponents = [], []
        for nearest in self.nearest:
            leaving = nearest.leaving
            if leaving.prefixes is None or isinstance(leaving.prefixes, np.ndarray):
                times = 1 if leaving.prefixes is None else leaving.prefixes
                mantissas.append(w.floats(leaving.cost) * times)
                exponents.append(np.zeros(len(leaving.cost), dtype=np.int64))
                continue
            parts = [
                _split(w.ball(cost - nearest.distance) * prefixes)
                for cost, prefixes in zip(leaving.cost.tolist(), leaving.prefixes, strict=True)
            ]
            mantissas.append(np.array([p[0] for p in parts]))
            exponents.append(np.array([p[1] for p in parts], dtype=np.int64))
        return np.concatenate(mantissas), np.concatenate(exponents)


def _split(value: arb) -> tuple[float, int]:
    """A positive ball's midpoint as float mantissa and power of two."""
    mantissa, power = value.mid().man_exp()
    excess = max(0, int(mantissa).bit_length() - 60)
    return float(int(mantissa) >> excess), int(power) + excess


_local = threading.local()


def _borrow(size: int) -> FloatArray:
    """Return memory for `size` entries: the thread's spare one if it is large enough, else new.

    The first writing of fresh memory would take as long as the products do.
    """
    spare: FloatArray | None = getattr(_local, "spare", None)
    _local.spare = None
    return spare if spare is not None and spare.size >= size else np.zeros(size)


def _give_back(memory: FloatArray) -> None:
    """Keep a pass's memory for the thread's next one, which overwrites it."""
    if memory.nbytes <= 2**27:
        _local.spare = memory
