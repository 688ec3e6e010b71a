"""The backward pass in float64, for one word or a block of words, with a proven error bound."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.arrays import BoolArray, ragged
from dpauto.passes.layers import Layers, Undecided
from dpauto.passes.nearest import Nearest
from dpauto.passes.weights import FloatArray, Weights, stride_for, view
from dpauto.randomness import Tape
from dpauto.words import IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = ["FloatLayers", "FloatPass"]

#: Rescaling brings the largest entry of a word's layer to this power of two ...
TOP = 880
#: ... and sets to 0 what is then below this one. Between two rescalings no entry moves by more
#: than 2**100 either way, so none becomes infinite or subnormal.
FLOOR = 2.0**-900


class FloatPass:
    """Layers V_n … V_1 of a block of words over one automaton.

    Entry x of layer i stands for a true value within ``relative(i) * x + absolute(i)`` of it, both
    in units of 2**scale(i). The docs' error analysis proves it; "E1" and so on in this module are
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
        from scipy.sparse import _sparsetools

        w, width, size = self.weights, self.width, self.weights.automaton.n_states
        indptr, head = w.indices
        rows_at, spacing = w.rows.tolist(), self._spacing
        data = w.uniform_data if w.costs is None else None
        raised = self._raised() if w.costs is None else None
        match, inverse = self._matcher(), 1.0 / w.z if raised else 0.0
        bounded = type(self)._bound is not FloatPass._bound
        product, products = _sparsetools.csr_matvec, _sparsetools.csr_matvecs
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
        terms = _ldexp(mantissa * factor, exponent - self.common[columns])
        lost = _ldexp(losses * factor, scales - self.common[columns])
        # A factor below 2**-1000 reads as 0 and loses its term.
        lost += np.where(
            factor == 0, 2.0**-999 * _ldexp(mantissa, exponent - self.common[columns]), 0
        )
        sizes = np.diff(self._bounds)
        self.leaving_relative = self.relative(1) + 1.01 * (sizes + 6) * self.unit
        # ldexp may have dropped what is below 2**-1074 beside the largest term.
        uncertain = np.bincount(columns, filled | (losses > 0), width) > 0
        self.leaving_absolute = np.where(
            uncertain,
            np.bincount(columns, lost, width) * (1 + 2**-20) + sizes * 2.0**-1000,
            0.0,
        )
        parts = [terms[lo:hi] for lo, hi in itertools.pairwise(self._bounds.tolist())]
        #: Cumulative weights of each word's leaving edges, from the first and from the last.
        self.cumulative = [np.cumsum(part) for part in parts]
        self.backward = [np.cumsum(part[::-1]) for part in parts]

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

    # -- draws ------------------------------------------------------------------------------------

    def draw_outside(
        self, asking: Sequence[int], tapes: Sequence[Tape]
    ) -> dict[int, IntArray | None]:
        """Draw a word outside T for each of the words `asking`; undecided ones are left out."""
        starts: list[tuple[int, int, int]] = []
        written = np.empty((len(asking), self.length), dtype=np.int64)
        for b in asking:
            try:
                starts.append((b, *FloatLayers(self, b).leave(written[len(starts)], tapes[b])))
            except Undecided:
                continue
        if not starts:
            return {}
        decided = self._walk_together(starts, written, tapes)
        return {b: written[row] for row, (b, _, _) in enumerate(starts) if decided[row]}

    def _walk_together(
        self, starts: Sequence[tuple[int, int, int]], written: IntArray, tapes: Sequence[Tape]
    ) -> BoolArray:
        """Complete words from (b, layer, state), all in step; returns which were decided.

        The decisions are those of `Layers.walk`, on the same uniforms.
        """
        words = [FloatLayers(self, b) for b, _, _ in starts]
        column = np.array([b for b, _, _ in starts], dtype=np.int64)
        layer = np.array([i for _, i, _ in starts], dtype=np.int64)
        state = np.array([q for _, _, q in starts], dtype=np.int64)
        trip = np.array([self._trip(b) for b in column.tolist()])
        first = [tapes[b].reserve(self.length - i) for b, i, _ in starts]
        uniforms = np.zeros((len(starts), self.length))
        for row, (b, i, _) in enumerate(starts):
            uniforms[row, i:] = tapes[b].leading(first[row], self.length - i) * 2.0**-64
        decided = np.ones(len(starts), dtype=bool)
        for i in range(int(layer.min(initial=self.length)), self.length):
            rows = np.flatnonzero(layer == i)
            if not rows.size:
                continue
            back = state[rows] == trip[rows, i - 1]
            for row in rows[back].tolist():
                try:
                    place = first[row] + i - starts[row][1]
                    k = words[row].choose_later(i, tapes[column[row]], place)
                except Undecided:
                    decided[row], layer[row] = False, self.length
                    continue
                leaving = words[row].nearest.leaving
                step = self.length if k is None else int(leaving.steps[k])
                written[row, i:step] = words[row].word[i:step]
                layer[row] = step + 1
                if k is not None:
                    written[row, step], state[row] = leaving.label[k], leaving.head[k]
            rows = rows[~back]
            state[rows], written[rows, i], certain = self._choose_edges(
                i, state[rows], column[rows], uniforms[rows, i]
            )
            decided[rows] &= certain
            layer[rows] = i + 1
        return decided

    def _trip(self, b: int) -> list[int]:
        """States of word b's run, or states that do not exist."""
        return self.nearest[b].states or [-1] * self.length

    def _choose_edges(
        self, i: int, state: IntArray, column: IntArray, uniform: FloatArray
    ) -> tuple[IntArray, IntArray, BoolArray]:
        """Draw an edge from each state at layer i: its head, its label, whether it is certain."""
        heads, labels = self.weights.padded
        weights = self.layer(i + 1)[heads[state] * self.width + column[:, np.newaxis]]
        weights[labels[state] < 0] = 0.0
        weights[labels[state] != self.words[column, i][:, np.newaxis]] *= self.weights.z
        reached = np.cumsum(weights, axis=1)
        total = reached[:, -1]
        loss = 2.0 * self.weights.degree * self.losses(np.full(len(state), i + 1), column)
        margin = total * (self.choice_error + 2.0**-52) + loss
        target = uniform * total
        edge = (reached <= (target + margin)[:, np.newaxis]).sum(axis=1)
        before = np.where(edge > 0, reached[np.arange(len(state)), edge - 1], -np.inf)
        certain = (edge < reached.shape[1]) & (before < target - margin)
        edge = np.minimum(edge, reached.shape[1] - 1)
        return heads[state, edge], labels[state, edge], certain


class FloatLayers(Layers):
    """One word of a float pass: its total outside T, and the draws from it.

    Parameters
    ----------
    block : FloatPass
    b : int, optional
        The word's number in the block.
    """

    def __init__(self, block: FloatPass, b: int = 0) -> None:
        super().__init__(block.weights, block.words[b], block.nearest[b])
        self._pass, self._b = block, b
        self._symbols: list[int] = block.words[b].tolist()

    @property
    def outside(self) -> arb:
        """Z' as a ball."""
        from flint import arb

        cumulative = self._pass.cumulative[self._b]
        if not len(cumulative):
            return arb(0)
        total = float(cumulative[-1])
        relative = float(self._pass.leaving_relative[self._b])
        error = total * relative + float(self._pass.leaving_absolute[self._b])
        return arb(total, error * (1 + 2**-20)) * arb((1, int(self._pass.common[self._b])))

    def choose_leaving(self, tape: Tape) -> int:
        """Draw the leaving edge; `Undecided` near a border."""
        cumulative, unit = self._pass.cumulative[self._b], self._pass.unit
        relative = 2 * self._pass.leaving_relative[self._b] + 8 * unit
        total = float(cumulative[-1])
        u, bits = tape.uniform()
        target = math.ldexp(float(u), -bits) * total
        margin = total * (relative + 2.0 ** (1 - bits)) + 2 * self._pass.leaving_absolute[self._b]
        k = int(np.searchsorted(cumulative, target + margin, side="right"))
        if k == len(cumulative) or (k and cumulative[k - 1] >= target - margin):
            raise Undecided
        return k

    def choose_edge(self, i: int, state: int, tape: Tape, index: int) -> int:
        """Draw the edge from `state` at layer i; `Undecided` near a border."""
        w, block, width, b = self.weights, self._pass, self._pass.width, self._b
        indptr, head, label = w.views
        lo, hi, symbol, z = indptr[state], indptr[state + 1], self._symbols[i], w.z
        after = view(block.layer(i + 1))
        total, reached = 0.0, []
        for e in range(lo, hi):
            weight = after[head[e] * width + b]
            if w.costs is not None:
                weight *= w.float_table[symbol, label[e]]
            elif label[e] != symbol:
                weight *= z
            if w.times is not None:
                weight *= w.times[e]
            total += weight
            reached.append(total)
        u, bits = tape.at(index)
        margin = total * (block.choice_error + 2.0 ** (1 - bits)) + block.choice_loss(i + 1, b)
        target = math.ldexp(u, -bits) * total
        for k, value in enumerate(reached):
            if value > target + margin:
                if k and reached[k - 1] >= target - margin:
                    break
                return int(lo + k)
        raise Undecided

    def choose_later(self, i: int, tape: Tape, index: int) -> int | None:
        """Draw where the word leaves w later; `Undecided` near a border."""
        block, b = self._pass, self._b
        steps, backward = self.nearest.leaving.steps, block.backward[b]
        count = len(steps) - int(np.searchsorted(steps, i))
        ways_out = float(backward[count - 1]) if count else 0.0
        total = ways_out + math.ldexp(1.0, max(-2000, -int(block.common[b])))
        u, bits = tape.at(index)
        target = math.ldexp(u, -bits) * total
        relative = 2 * float(block.leaving_relative[b]) + 8 * block.unit + 2.0 ** (1 - bits)
        margin = total * relative + 2 * float(block.leaving_absolute[b])
        # The last edges come first, and staying, which weighs 1, comes last.
        if target > ways_out + margin:
            return None
        k = int(np.searchsorted(backward[:count], target + margin, side="right"))
        if k == count or (k and backward[k - 1] >= target - margin):
            raise Undecided
        return len(steps) - 1 - k

    def close(self) -> None:
        """Let the thread's next pass use the memory of a block that is this word alone."""
        if self._pass.width == 1:
            self._pass.close()


def _ldexp(values: FloatArray, shift: IntArray) -> FloatArray:
    """np.ldexp for shifts of any size; too large is infinite."""
    with np.errstate(over="ignore"):
        return np.ldexp(values, np.clip(shift, -4000, 4000).astype(np.int32))


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
