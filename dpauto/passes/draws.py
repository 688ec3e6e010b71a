"""Draws from a float pass: for one word, and for the words of a block in step."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpauto.passes.floating import FloatPass
from dpauto.passes.layers import Layers, Undecided
from dpauto.passes.leaving_sums import WordSums
from dpauto.passes.weights import view
from dpauto.randomness import Tape
from dpauto.words import IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = ["FloatLayers", "draw_outside"]


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
        self.block, self.b = block, b
        self._symbols: list[int] = block.words[b].tolist()

    @cached_property
    def _sums(self) -> WordSums:
        return self.block.leaving.of(self.b)

    @property
    def outside(self) -> arb:
        """Z' as a ball."""
        from flint import arb

        total, absolute, unit = self._sums.total
        error = total * self.block.leaving_relative(self.b) + absolute
        return arb(total, error * (1 + 2**-20)) * arb((1, unit))

    def choose_leaving(self, tape: Tape) -> int:
        """Draw the leaving edge; `Undecided` near a border."""
        return self._sums.choose(*tape.uniform(), self._relative)

    def choose_start(self, tape: Tape) -> int:
        """Draw one of the start's edges (E4).

        Raises
        ------
        Undecided
            Near a border.
        """
        weights, relative, loss = self.block.start_weights(self.b)
        reached = np.cumsum(weights)
        total, (u, bits) = float(reached[-1]), tape.uniform()
        target = math.ldexp(u, -bits) * total
        margin = total * (relative + 2.0 ** (1 - bits)) + loss
        k = int(np.searchsorted(reached, target + margin, side="right"))
        if k == len(reached) or (k and reached[k - 1] >= target - margin):
            raise Undecided
        return k

    def choose_later(self, i: int, tape: Tape, index: int) -> int | None:
        """Draw where the word leaves w later; `Undecided` near a border."""
        return self._sums.choose_later(i, *tape.at(index), self._relative)

    @cached_property
    def _relative(self) -> float:
        """Bound on the relative error of a choice's sums, products and total."""
        return self.block.leaving_relative(self.b) + 4 * self.block.unit

    def detour(
        self, i: int, state: int, written: IntArray, tape: Tape, first: int
    ) -> tuple[int, int]:
        """Walk on until the word ends, is back on w's run or at `stop` (E4).

        Raises
        ------
        Undecided
            Near a border.
        """
        w, block, width, b = self.weights, self.block, self.block.width, self.b
        indptr, head, label = w.views
        symbols, run, stop = self._symbols, self.nearest.states, self.stop
        z, times, table = w.z, w.times, None if w.costs is None else w.float_table
        error, scale = block.choice_error + 2.0 ** (1 - tape.bits), 2.0**-tape.bits
        losses = self._choice_losses
        while i < len(symbols) and state != stop and not (run and run[i - 1] == state):
            after, symbol = view(block.layer(i + 1)), symbols[i]
            lo, hi = indptr[state], indptr[state + 1]
            total, reached = 0.0, []
            for e in range(lo, hi):
                weight = after[head[e] * width + b]
                if table is not None:
                    weight *= table[symbol, label[e]]
                elif label[e] != symbol:
                    weight *= z
                if times is not None:
                    weight *= times[e]
                total += weight
                reached.append(total)
            target = tape.at(first + i)[0] * scale * total
            margin = total * error + losses[i + 1]
            k = bisect_right(reached, target + margin)
            if k == len(reached) or (k and reached[k - 1] >= target - margin):
                raise Undecided
            written[i], state = label[lo + k], head[lo + k]
            i += 1
        return i, state

    @cached_property
    def _choice_losses(self) -> list[float]:
        """What a choice among weights of layer i adds to its margin, by i."""
        layers = np.arange(self.block.length + 1)
        losses: list[float] = self.block.choice_losses(
            layers, np.full_like(layers, self.b)
        ).tolist()
        return losses

    def close(self) -> None:
        """Let the thread's next pass use the memory of a block that is this word alone."""
        if self.block.width == 1:
            self.block.close()


def draw_outside(layers: Sequence[FloatLayers], tapes: Sequence[Tape]) -> list[IntArray | None]:
    """Draw a word outside T for some words of a block, in step.

    Parameters
    ----------
    layers : sequence of FloatLayers
        Different words of one block, under the Hamming distance.
    tapes : sequence of Tape
        One for each.

    Returns
    -------
    list
        The words drawn, None where the bits do not decide.
    """
    if not layers:
        return []
    walks = _Walks(layers, tapes)
    for i in range(walks.length):
        walks.step(i)
    decided = walks.decided.tolist()
    return [word if certain else None for word, certain in zip(walks.written, decided, strict=True)]


class _Walks:
    """Words of a block that are written in step.

    The decisions are those of `Layers.draw_outside`, on the same uniforms. Row r is the word of
    ``layers[r]``, written up to layer[r] and then in state[r].
    """

    def __init__(self, layers: Sequence[FloatLayers], tapes: Sequence[Tape]) -> None:
        self._layers, self._tapes, self._block = layers, tapes, layers[0].block
        count, n = len(layers), self._block.length
        self.length, self.written = n, np.empty((count, n), dtype=np.int64)
        self.decided = np.ones(count, dtype=bool)
        self._layer, self._state = np.zeros((2, count), dtype=np.int64)
        self._column = np.array([one.b for one in layers])
        # States of each word's own run, or states that do not exist.
        self._runs = np.array([one.nearest.states or [-1] * n for one in layers])
        self._uniforms = np.zeros((count, n))
        #: The decision of word r at layer i reads the uniform with number first[r] + i.
        self._first = [0] * count
        for row, (one, tape) in enumerate(zip(layers, tapes, strict=True)):
            try:
                i, self._state[row] = one.leave(self.written[row], tape)
            except Undecided:
                self._give_up(row)
                continue
            self._layer[row], self._first[row] = i, tape.reserve(n - i) - i
            self._uniforms[row, i:] = tape.leading(self._first[row] + i, n - i)
        self._uniforms *= 2.0**-64

    def _give_up(self, row: int) -> None:
        self.decided[row], self._layer[row] = False, self.length

    def step(self, i: int) -> None:
        """Write on the words that have come to layer i."""
        rows = np.flatnonzero(self._layer == i)
        if not rows.size:
            return
        back = self._state[rows] == self._runs[rows, i - 1]
        for row in rows[back].tolist():
            one, index = self._layers[row], self._first[row] + i
            try:
                found = one.jump(i, self.written[row], self._tapes[row], index)
                self._layer[row], self._state[row] = found
            except Undecided:
                self._give_up(row)
        self._choose_edges(i, rows[~back])

    def _choose_edges(self, i: int, rows: IntArray) -> None:
        """Draw the next edge of each of these words."""
        block, weights = self._block, self._block.weights
        heads, labels, wrong = weights.padded
        state, column = self._state[rows], self._column[rows]
        symbols = labels[state]
        factors = np.where(symbols == block.words[column, i, np.newaxis], 1.0, wrong[state])
        entries = heads[state] * block.width + column[:, np.newaxis]
        reached = np.cumsum(factors * block.layer(i + 1)[entries], axis=1)
        total = reached[:, -1]
        margin = total * (block.choice_error + 2.0**-52) + block.choice_losses(i + 1, column)
        target = self._uniforms[rows, i] * total
        edge = (reached <= (target + margin)[:, np.newaxis]).sum(axis=1)
        # Nothing comes before the first edge, and nothing can be chosen beyond the last.
        before = np.where(edge > 0, reached[np.arange(len(rows)), edge - 1], -np.inf)
        certain = (edge < reached.shape[1]) & (before < target - margin)
        edge = np.minimum(edge, reached.shape[1] - 1)
        self.written[rows, i] = symbols[np.arange(len(rows)), edge]
        self._state[rows] = heads[state, edge]
        self._layer[rows] = np.where(certain, i + 1, self.length)
        self.decided[rows] = certain
