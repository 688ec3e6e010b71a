"""The backward pass in float64, for one word or a block of words, with a proven error bound."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.arrays import ragged, sparse_tools
from dpauto.passes.leaving_sums import LeavingSums
from dpauto.passes.nearest import Nearest
from dpauto.passes.weights import FLOAT_PRECISION, FloatArray, Weights, stride_for
from dpauto.words import IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = ["FloatPass"]

#: Rescaling brings the largest entry of a word's layer to this power of two ...
TOP = 880
#: ... and sets to 0 what is then below this one. Between two rescalings no entry moves by more
#: than 2**100 either way, so none becomes infinite or subnormal; and one that the next rescaling
#: lowers by as much again is still seen to be positive.
FLOOR = 2.0**-870

#: Layers that are prepared together take no more, where they are several.
STRETCH_BYTES = 2**21


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

    #: Most layers that are prepared together.
    longest = 64

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
        extra = self._stride if self._stride > 1 else 0
        self._memory = _borrow((kept + extra) * self._size)
        rows = self._memory[: (kept + extra) * self._size].reshape(kept + extra, self._size)
        #: Kept layers, shape (kept, N * B): every stride-th and the last.
        self.kept = rows[:kept]
        #: Where the layers first, first + 1, … between two kept ones are, for one `first`.
        self._segment, self._first = rows[kept:], -1
        self._spacing = weights.spacing
        events = self.length // self._spacing + 2
        self._scales = np.zeros((events, self.width), dtype=np.int64)
        self._losses = np.zeros((events, self.width))
        self._growth = (weights.row_sum * (1 + 2**-40)) ** self._spacing
        self._list_leaving()
        self._run()
        #: Sums of the weights of each word's leaving edges.
        self.leaving = self._weigh_leaving()

    def close(self) -> None:
        """Let the thread's next pass use this one's memory; layers must not be read after."""
        _give_back(self._memory)

    # -- error bounds -----------------------------------------------------------------------------

    def relative(self, i: int) -> float:
        """Bound on the relative error of layer i's entries; infinite when nothing is known (E1)."""
        loss = (self.length - i) * self.weights.roundings * self.unit
        return loss / (1 - loss) if loss < 0.5 else math.inf

    def scales(self, layers: IntArray | int, words: IntArray | int) -> IntArray:
        """Powers of two in whose units these layers of these words are."""
        found: IntArray = self._scales[-(-layers // self._spacing), words]
        return found

    def losses(self, layers: IntArray | int, words: IntArray | int) -> FloatArray:
        """Bounds on the absolute error of entries of these layers of these words."""
        found: FloatArray = self._losses[-(-layers // self._spacing), words]
        # An infinite bound leaves every decision to the balls.
        with np.errstate(over="ignore"):
            return found * self._growth + self._underflow

    @cached_property
    def choice_error(self) -> float:
        """Bound on the error of a choice among edges, in parts of their total weight (E4)."""
        return 2 * self.relative(1) + (4 * self.weights.degree + 8) * self.unit

    def choice_losses(self, layers: IntArray | int, words: IntArray | int) -> FloatArray:
        """What is added to `choice_error` for weights that come from these layers."""
        return 2.0 * self.weights.degree * self.losses(layers, words)

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
        last[:] = 0.0
        last.reshape(-1, self.width)[: w.rows[n]] = w.automaton.final[: w.rows[n], np.newaxis]
        if self._stride == 1:
            self._descend(n, last, self.kept[:-1])
            self._collect(1, self.kept)
            return
        self._collect(n, self.kept[-1:])
        for first in range((n - 1) // self._stride * self._stride, -1, -self._stride):
            self._collect(max(first, 1), self._fill(first))
            if first:
                self.kept[first // self._stride - 1] = self._segment[0]

    def _descend(self, top: int, after: FloatArray, block: FloatArray) -> None:
        """Compute the layers below layer `top`, which is `after`, into the rows of `block`.

        Python's own steps cost as much as a product with a small matrix, so layers are prepared a
        stretch at a time.
        """
        bottom, w = top - len(block), self.weights
        rows_at, raised, product = w.rows.tolist(), self._raised, self._product()
        inverse = 1.0 / w.z if raised else 0.0
        for low, high in self._stretches(bottom, top):
            part = block[low - bottom : high - bottom + 1]
            part[:, : rows_at[high] * self.width] = 0.0
            self._before(low, high, part)
            for i, layer in zip(range(high, low - 1, -1), part[::-1], strict=True):
                if raised:
                    at = raised[i]
                    saved = after[at]
                    after[at] = saved * inverse
                    product(i, rows_at[i], after, layer)
                    after[at] = saved
                else:
                    product(i, rows_at[i], after, layer)
                    if w.costs is None:
                        self._match(i, rows_at[i], after, layer)
                after = layer
            self._after(low, high, part)
            if low % self._spacing == 0:
                rows = rows_at[low]
                self._rescale(low, after[: rows * self.width].reshape(rows, self.width))

    def _stretches(self, bottom: int, top: int) -> Iterator[tuple[int, int]]:
        """Cut the layers from `bottom` to before `top` into (low, high), the highest first.

        A rescaled layer is the lowest of its stretch.
        """
        longest = max(1, min(self.longest, STRETCH_BYTES // (8 * self._size)))
        high = top - 1
        while high >= bottom:
            low = max(bottom, high - high % self._spacing, high - longest + 1)
            yield low, high
            high = low - 1

    def _before(self, low: int, high: int, part: FloatArray) -> None:
        """Set what the products of these layers leave alone; nothing in a pass over everything."""

    def _after(self, low: int, high: int, part: FloatArray) -> None:
        """Look at these layers before a rescaling; nothing to see in a pass over everything."""

    def _product(self) -> Callable[[int, int, FloatArray, FloatArray], None]:
        """What adds to the first rows of layer i the products of layer i + 1."""
        w, words = self.weights, self.words
        tools, size, width = sparse_tools(), w.automaton.n_states, self.width
        indptr, head = w.indices
        if w.costs is not None:
            table, label = w.float_table, w.automaton.label

            def with_costs(i: int, rows: int, after: FloatArray, layer: FloatArray) -> None:
                values = table[int(words[0, i])][label[: indptr[rows]]]
                tools.csr_matvec(rows, size, indptr, head, values, after, layer)

            return with_costs
        data, vector, block = w.uniform_data, tools.csr_matvec, tools.csr_matvecs
        if width == 1:
            return lambda _, rows, after, layer: vector(
                rows, size, indptr, head, data, after, layer
            )
        return lambda _, rows, after, layer: block(
            rows, size, width, indptr, head, data, after, layer
        )

    def _match(self, i: int, rows: int, after: FloatArray, layer: FloatArray) -> None:
        """Raise the weight of the edges that carry the true symbol from z to 1."""
        w, width, symbols = self.weights, self.width, self.words[:, i]
        pointer, tails, heads = w.matching
        edges = ragged(pointer[symbols], pointer[symbols + 1])
        column = np.repeat(np.arange(width), pointer[symbols + 1] - pointer[symbols])
        inside = tails[edges] < rows
        edges, column = edges[inside], column[inside]
        entries = tails[edges] * width + column
        gain = (1.0 - w.z) * after[heads[edges] * width + column]
        if w.same_label == 1:
            layer[entries] += gain
        else:
            np.add.at(layer, entries, gain)

    @cached_property
    def _raised(self) -> list[Any] | None:
        """For a chain, the entries of layer i + 1 whose states the true symbols of step i lead to.

        Dividing them by z for the time of a product gives the edges into them the weight 1, at less
        cost than `_match`. None with costs, if a symbol leads to several states, or z is too small.
        """
        if self.weights.costs is not None:
            return None
        states = self.weights.automaton.state_of_symbol
        if states is None or self.weights.loses:
            return None
        led_to = states[self.words.T]
        entries = led_to * self.width + np.arange(self.width)
        # Beyond a layer's rows there is no entry.
        inside = (led_to >= 0) & (led_to < self.weights.rows[1:, np.newaxis])
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
        tiny = (layer < FLOOR) & (layer > 0)
        some = tiny.any(axis=axis)
        if some.any():
            self._losses[event] += np.where(some, FLOOR, 0.0)
            layer[tiny] = 0.0

    def layer(self, i: int) -> FloatArray:
        """Return layer i, computed again from the next kept one if need be; shape (N * B,)."""
        found: FloatArray
        if i == self.length or i % self._stride == 0:
            found = self.kept[-1 if i == self.length else i // self._stride - 1]
            return found
        first = i // self._stride * self._stride
        if first != self._first:
            self._fill(first)
        found = self._segment[i - first]
        return found

    def _fill(self, first: int) -> FloatArray:
        """Compute the layers from `first`, or 1, to the next kept one; return them."""
        top, bottom = min(self.length, first + self._stride), max(first, 1)
        block = self._segment[bottom - first : top - first]
        self._descend(top, self.layer(top), block)
        self._first = first
        return block

    # -- leaving edges ----------------------------------------------------------------------------

    def _list_leaving(self) -> None:
        """Put the leaving edges of all words into one list, word after word."""
        leaving = [nearest.leaving for nearest in self.nearest]
        sizes = np.array([len(near.head) for near in leaving])
        self._bounds = np.concatenate(([0], np.cumsum(sizes)))
        self._columns = np.repeat(np.arange(self.width), sizes)
        self._steps = np.concatenate([near.steps for near in leaving])
        heads = np.concatenate([near.head for near in leaving])
        self._gathered = np.empty(len(self._steps))
        #: Places in the list of entries for the start's edges.
        self._starts = np.flatnonzero(heads < 0)
        # By step, for `_collect`: places in the list, and entries in a table of layers 1 … n.
        order = np.argsort(self._steps, kind="stable")
        self._order = order[heads[order] >= 0]
        entries = self._steps * self._size + heads * self.width + self._columns
        self._entries = entries[self._order]
        self._pointer = np.searchsorted(
            self._steps[self._order], np.arange(self.length + 1)
        ).tolist()

    def _collect(self, low: int, block: FloatArray) -> None:
        """Copy the entries at the heads of leaving edges from layer `low` and those above it."""
        edges = slice(self._pointer[low - 1], self._pointer[low - 1 + len(block)])
        entries = self._entries[edges] - (low - 1) * self._size
        self._gathered[self._order[edges]] = block.reshape(-1)[entries]

    def _weigh_leaving(self) -> LeavingSums:
        """Weigh the words that leave T by each edge (E3)."""
        factor, shift = self._factors()
        scales = self.scales(self._steps + 1, self._columns) + shift
        losses = self.losses(self._steps + 1, self._columns)
        # A factor below 2**-999 may read as 0 and lose its term.
        unread = np.where(factor == 0, self._gathered + losses, 0.0)
        for k in self._starts.tolist():
            values, floats = self._start_edges(int(self._columns[k]))
            self._gathered[k] = (values * floats).sum()
            unread[k] = (values[floats == 0] + losses[k]).sum()
            losses[k] = float(losses[k]) * float(floats.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            lost = losses * factor + 2.0**-999 * unread
        # Infinite times 0 is a bound that says nothing, and none may underflow to 0.
        lost[np.isnan(lost)] = np.inf
        lost += np.where((unread > 0) | (losses > 0), 2.0**-1074, 0.0)
        mantissa, exponent = np.frexp(self._gathered)
        return LeavingSums(
            self._bounds,
            self._steps,
            mantissa * factor,
            exponent + scales,
            lost,
            scales,
            self._spacing,
        )

    def _start_edges(self, b: int) -> tuple[FloatArray, FloatArray]:
        """Entries at the heads of the start's edges, and the edges' weights; 0 for w's own."""
        heads, own = self.weights.automaton.start_head, self.nearest[b].leaving.own
        values = self.layer(1)[heads * self.width + b]
        floats = self.weights.start_floats(int(self.words[b, 0]))
        if own >= 0:
            values[own] = floats[own] = 0.0
        return values, floats

    def start_weights(self, b: int) -> tuple[FloatArray, float, float]:
        """Weights of the start's edges but w's own, with the errors of a choice among them (E4).

        Returns
        -------
        tuple
            The weights, and what the margin is relative to their total and beside it.
        """
        values, floats = self._start_edges(b)
        relative = 2 * self.relative(1) + (4 * len(values) + 8) * self.unit
        return values * floats, relative, 2.0 * float(floats.sum()) * float(self.losses(1, b))

    def leaving_relative(self, b: int) -> float:
        """Bound on the relative error of the sums of word b's leaving edges."""
        # An entry for the start is a sum of its own.
        edges = int(self._bounds[b + 1] - self._bounds[b]) + len(self.weights.automaton.start_head)
        entries = self.relative(1)
        return entries + (1 + entries) * 1.01 * (edges + 6) * self.unit

    def _factors(self) -> tuple[FloatArray, IntArray]:
        """Mantissa and exponent of each leaving edge's own factor: prefixes times weight."""
        from flint import ctx

        w = self.weights
        costs = np.concatenate([nearest.leaving.cost for nearest in self.nearest])
        mantissa, exponent = w.floats(np.maximum(costs, 0)), np.zeros(len(costs), dtype=np.int64)
        for b, nearest in enumerate(self.nearest):
            part = slice(int(self._bounds[b]), int(self._bounds[b + 1]))
            prefixes = nearest.leaving.prefixes
            if isinstance(prefixes, np.ndarray):
                mantissa[part] *= prefixes
            elif prefixes is not None:
                # Numbers of prefixes may be of any size, and costs relative to T negative.
                with ctx.workprec(FLOAT_PRECISION):
                    balls = [
                        _split(w.ball(cost - nearest.distance) * times)
                        for cost, times in zip(costs[part].tolist(), prefixes, strict=True)
                    ]
                mantissa[part] = [ball[0] for ball in balls]
                exponent[part] = [ball[1] for ball in balls]
        return mantissa, exponent


def _split(value: arb) -> tuple[float, int]:
    """A positive ball's midpoint as float mantissa and power of two."""
    mantissa, power = value.mid().man_exp()
    excess = max(0, int(mantissa).bit_length() - 60)
    return float(int(mantissa) >> excess), int(power) + excess


_local = threading.local()

if hasattr(os, "register_at_fork"):
    # To a forked process, memory that it shares with its parent is slower than new memory.
    os.register_at_fork(after_in_child=_local.__dict__.clear)


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
