"""Draws from a float pass: for one word, and for the words of a block in step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpauto.arrays import BoolArray
from dpauto.passes.floating import FloatPass
from dpauto.passes.layers import Layers, Undecided
from dpauto.passes.leaving_sums import WordSums
from dpauto.passes.weights import FloatArray, view
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
        self._pass, self._b = block, b
        self._symbols: list[int] = block.words[b].tolist()

    @cached_property
    def _sums(self) -> WordSums:
        return self._pass.leaving.of(self._b)

    @property
    def outside(self) -> arb:
        """Z' as a ball."""
        from flint import arb

        total, absolute, unit = self._sums.total
        error = total * self._pass.leaving_relative(self._b) + absolute
        return arb(total, error * (1 + 2**-20)) * arb((1, unit))

    def choose_leaving(self, tape: Tape) -> int:
        """Draw the leaving edge; `Undecided` near a border."""
        return self._sums.choose(*tape.uniform(), self._relative)

    def choose_later(self, i: int, tape: Tape, index: int) -> int | None:
        """Draw where the word leaves w later; `Undecided` near a border."""
        return self._sums.choose_later(i, *tape.at(index), self._relative)

    @cached_property
    def _relative(self) -> float:
        """Bound on the relative error of a choice's sums, products and total."""
        return self._pass.leaving_relative(self._b) + 4 * self._pass.unit

    def detour(
        self, i: int, state: int, written: IntArray, tape: Tape, first: int
    ) -> tuple[int, int]:
        """Walk on until the word ends or is back on w's run; `Undecided` near a border."""
        w, block, width, b = self.weights, self._pass, self._pass.width, self._b
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
        layers = np.arange(self._pass.length + 1)
        losses: list[float] = self._pass.choice_losses(
            layers, np.full_like(layers, self._b)
        ).tolist()
        return losses

    def close(self) -> None:
        """Let the thread's next pass use the memory of a block that is this word alone."""
        if self._pass.width == 1:
            self._pass.close()


def draw_outside(
    block: FloatPass, asking: Sequence[int], tapes: Sequence[Tape]
) -> dict[int, IntArray | None]:
    """Draw a word outside T for some words of a block, in step.

    Parameters
    ----------
    block : FloatPass
        Under the Hamming distance.
    asking : sequence of int
        Numbers of the words.
    tapes : sequence of Tape
        Of all words of the block.

    Returns
    -------
    dict
        The word drawn for each number; undecided ones are left out.
    """
    starts: list[tuple[int, int, int]] = []
    written = np.empty((len(asking), block.length), dtype=np.int64)
    for b in asking:
        try:
            starts.append((b, *FloatLayers(block, b).leave(written[len(starts)], tapes[b])))
        except Undecided:
            continue
    if not starts:
        return {}
    decided = _walk_together(block, starts, written, tapes)
    return {b: written[row] for row, (b, _, _) in enumerate(starts) if decided[row]}


def _walk_together(
    block: FloatPass,
    starts: Sequence[tuple[int, int, int]],
    written: IntArray,
    tapes: Sequence[Tape],
) -> BoolArray:
    """Complete words from (b, layer, state), all in step; returns which were decided.

    The decisions are those of `Layers.walk`, on the same uniforms.
    """
    length = block.length
    words = [FloatLayers(block, b) for b, _, _ in starts]
    column = np.array([b for b, _, _ in starts], dtype=np.int64)
    layer = np.array([i for _, i, _ in starts], dtype=np.int64)
    state = np.array([q for _, _, q in starts], dtype=np.int64)
    # States of each word's own run, or states that do not exist.
    runs = np.array([block.nearest[b].states or [-1] * length for b in column.tolist()])
    first = [tapes[b].reserve(length - i) for b, i, _ in starts]
    uniforms = np.zeros((len(starts), length))
    for row, (b, i, _) in enumerate(starts):
        uniforms[row, i:] = tapes[b].leading(first[row], length - i) * 2.0**-64
    decided = np.ones(len(starts), dtype=bool)
    for i in range(int(layer.min(initial=length)), length):
        rows = np.flatnonzero(layer == i)
        if not rows.size:
            continue
        back = state[rows] == runs[rows, i - 1]
        for row in rows[back].tolist():
            try:
                place = first[row] + i - starts[row][1]
                k = words[row].choose_later(i, tapes[column[row]], place)
            except Undecided:
                decided[row], layer[row] = False, length
                continue
            leaving = words[row].nearest.leaving
            step = length if k is None else int(leaving.steps[k])
            written[row, i:step] = words[row].word[i:step]
            layer[row] = step + 1
            if k is not None:
                written[row, step], state[row] = leaving.label[k], leaving.head[k]
        rows = rows[~back]
        state[rows], written[rows, i], certain = _choose_edges(
            block, i, state[rows], column[rows], uniforms[rows, i]
        )
        decided[rows] &= certain
        layer[rows] = i + 1
    return decided


def _choose_edges(
    block: FloatPass, i: int, state: IntArray, column: IntArray, uniform: FloatArray
) -> tuple[IntArray, IntArray, BoolArray]:
    """Draw an edge from each state at layer i: its head, its label, whether it is certain."""
    heads, labels = block.weights.padded
    weights = block.layer(i + 1)[heads[state] * block.width + column[:, np.newaxis]]
    weights[labels[state] < 0] = 0.0
    weights[labels[state] != block.words[column, i][:, np.newaxis]] *= block.weights.z
    reached = np.cumsum(weights, axis=1)
    total = reached[:, -1]
    losses = block.choice_losses(np.full(len(state), i + 1), column)
    margin = total * (block.choice_error + 2.0**-52) + losses
    target = uniform * total
    edge = (reached <= (target + margin)[:, np.newaxis]).sum(axis=1)
    before = np.where(edge > 0, reached[np.arange(len(state)), edge - 1], -np.inf)
    certain = (edge < reached.shape[1]) & (before < target - margin)
    edge = np.minimum(edge, reached.shape[1] - 1)
    return heads[state, edge], labels[state, edge], certain
