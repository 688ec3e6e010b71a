"""Backward passes: the weight of all completions from every state, layer by layer.

With V_n = 1 on final states, V_i(q) is the sum over edges q → q' of the edge's weight times
V_{i+1}(q'). A pass keeps all layers if they fit into the memory it may take. Else it keeps about
the square root of their number and computes the others again when a walk asks for them.

There are two arithmetics with one interface: float64 with a proven error bound (`FloatLayers`, in
`draws`) and balls of any precision (`BallLayers`, in `balls`). Both raise `Undecided` when a
uniform is too close to a border.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.passes.nearest import Nearest
from dpauto.passes.weights import Weights
from dpauto.randomness import Tape
from dpauto.words import IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = ["Layers", "Undecided", "uniform_ball"]


class Undecided(Exception):
    """The bits read so far do not decide; run again with more."""


def uniform_ball(tape: Tape, index: int | None = None) -> arb:
    """Return the tape's next uniform, or the one with this number, as a ball that contains it."""
    from flint import arb

    u, bits = tape.uniform() if index is None else tape.at(index)
    return arb((2 * u + 1, -bits - 1), (1, -bits - 1))


class Layers(ABC):
    """Layers V_n … V_1 of one word, and the draws that a release takes from them.

    Draws raise `Undecided` when a uniform is too close to a border.
    """

    #: The state at which a walk stops before the word's end; none.
    stop = -1

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

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Say that the pass is read no more."""

    def _bound(self, i: int, layer: Any) -> None:  # noqa: B027 - nothing to bound in a whole pass
        """Set the entry of layer i that stands for states a pass leaves out."""

    @property
    @abstractmethod
    def outside(self) -> arb:
        """Z', the total weight of the words outside T relative to one word of T, as a ball."""

    @abstractmethod
    def choose_leaving(self, tape: Tape) -> int:
        """Draw the edge by which a word outside T leaves it, in proportion to the words' weight."""

    @abstractmethod
    def choose_start(self, tape: Tape) -> int:
        """Draw one of the start's edges but w's own, in proportion to the words' weight."""

    @abstractmethod
    def detour(
        self, i: int, state: int, written: IntArray, tape: Tape, first: int
    ) -> tuple[int, int]:
        """Walk from `state` at layer i to the word's end, the run of w, or the state `stop`.

        Every step draws an edge in proportion to the completions' weight. The one from layer j
        reads the uniform with number first + j.

        Returns
        -------
        tuple
            The layer and the state at which the detour ended.
        """

    @abstractmethod
    def choose_later(self, i: int, tape: Tape, index: int) -> int | None:
        """Draw where a word that is w's own at layer i leaves it later; None if it never does.

        It reads the uniform with number `index`.
        """

    def walk(self, i: int, state: int, written: IntArray, tape: Tape) -> int:
        """Complete a word from `state` at layer i, in proportion to its weight.

        Wherever the walk is back on the run of w, one draw says where it leaves it again: so it
        costs what its detours cost. Layer j's decision reads the uniform set aside for layer j.

        Returns
        -------
        int
            The layer at which the walk ended: n, or where it met the state `stop`.
        """
        n, run = len(self.word), self.nearest.states
        first = tape.reserve(n - i) - i
        while i < n and state != self.stop:
            if run is not None and state == run[i - 1]:
                i, state = self.jump(i, written, tape, first + i)
            else:
                i, state = self.detour(i, state, written, tape, first)
        return i

    def jump(self, i: int, written: IntArray, tape: Tape, index: int) -> tuple[int, int]:
        """Follow w from layer i to where the word leaves it next, or to its end.

        Returns
        -------
        tuple
            The layer and the state after the edge that leaves.
        """
        leaving, k = self.nearest.leaving, self.choose_later(i, tape, index)
        if k is None:
            written[i:] = self.word[i:]
            return len(written), -1
        step = int(leaving.steps[k])
        written[i:step], written[step] = self.word[i:step], leaving.label[k]
        return step + 1, int(leaving.head[k])

    def draw_outside(self, tape: Tape) -> IntArray | None:
        """Return a word outside T, drawn in proportion to its weight; shape (n,)."""
        written = np.empty(len(self.word), dtype=np.int64)
        i, state = self.leave(written, tape)
        self.walk(i, state, written, tape)
        return written

    def leave(self, written: IntArray, tape: Tape) -> tuple[int, int]:
        """Write the first part of a word outside T, up to and with the edge that leaves T.

        Returns
        -------
        tuple
            The layer and the state from which a walk completes the word.
        """
        leaving = self.nearest.leaving
        k = self.choose_leaving(tape)
        prefix = self.nearest.prefix(k, tape)
        if leaving.edge[k] < 0:
            edge, a = self.choose_start(tape), self.weights.automaton
            written[0] = a.start_label[edge]
            return 1, int(a.start_head[edge])
        i = len(prefix)
        written[:i] = prefix
        written[i] = leaving.label[k]
        return i + 1, int(leaving.head[k])
