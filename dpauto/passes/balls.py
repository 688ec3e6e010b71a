"""The backward pass in interval arithmetic, for what float64 cannot decide."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.passes.layers import Layers, Undecided, uniform_ball
from dpauto.passes.nearest import Nearest
from dpauto.passes.weights import Weights, stride_for
from dpauto.randomness import Tape
from dpauto.words import IntArray

if TYPE_CHECKING:
    from flint import arb

__all__ = ["BallLayers"]


class BallLayers(Layers):
    """The pass in interval arithmetic, at the working precision that the caller has set in flint.

    Parameters
    ----------
    weights : Weights
    word : int array, shape (n,)
    nearest : Nearest
    memory : int, optional
        Bytes that kept layers may take, about.
    """

    def __init__(
        self, weights: Weights, word: IntArray, nearest: Nearest, memory: int = 2**28
    ) -> None:
        super().__init__(weights, word, nearest)
        n = len(word)
        self._stride = stride_for(n, 128 * weights.automaton.n_states, memory)
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
        heads, costs = leaving.head.tolist(), leaving.cost.tolist()
        pointer = np.searchsorted(leaving.steps, np.arange(n + 1)).tolist()
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
                if heads[k] < 0:
                    terms[k] = sum(self._start_terms(layer), zero)
                    continue
                term = self._ball(costs[k] - self.nearest.distance) * layer[heads[k]]
                terms[k] = term if leaving.prefixes is None else term * int(leaving.prefixes[k])
        self._terms = terms
        self._outside = sum(terms, zero)

    def _start_terms(self, layer: list[Any]) -> list[Any]:
        """Weights of the start's edges but w's own, from layer 1."""
        a, own, times = self.weights.automaton, self.nearest.leaving.own, self.weights.start_times
        terms = self._edge_terms(0, a.start_head, a.start_label, times, layer)
        if own >= 0:
            terms[own] = terms[own] * 0
        return terms

    def _advance(self, i: int, after: list[Any]) -> list[Any]:
        """Compute layer i from layer i + 1."""
        from flint import arb

        indptr = self.weights.automaton.layer(i, self.weights.rows).indptr.tolist()
        terms = self._edge_weights(i, slice(0, indptr[-1]), after)
        layer = [sum(terms[lo:hi], arb(0)) for lo, hi in itertools.pairwise(indptr)]
        self._bound(i, layer)
        return layer

    def _edge_weights(self, i: int, edges: slice, after: list[Any]) -> list[Any]:
        """Weights of the completions through some edges at layer i."""
        w, a = self.weights, self.weights.automaton
        times = None if w.times is None else w.times[edges]
        return self._edge_terms(i, a.head[edges], a.label[edges], times, after)

    def _edge_terms(
        self,
        i: int,
        heads: IntArray,
        labels: IntArray,
        times: IntArray | None,
        after: list[Any],
    ) -> list[Any]:
        costs = self.weights.edge_costs(int(self.word[i]), labels).tolist()
        terms = [
            after[head] if cost == 0 else self._ball(cost) * after[head]
            for cost, head in zip(costs, heads.tolist(), strict=True)
        ]
        if times is None:
            return terms
        return [term * k for term, k in zip(terms, times.tolist(), strict=True)]

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
        # The last edges come first, as in `LeavingSums`.
        return len(self._terms) - 1 - _choose(self._terms[::-1], uniform_ball(tape))

    def choose_start(self, tape: Tape) -> int:
        """Draw one of the start's edges; `Undecided` near a border."""
        return _choose(self._start_terms(self.layer(1)), uniform_ball(tape))

    def detour(
        self, i: int, state: int, written: IntArray, tape: Tape, first: int
    ) -> tuple[int, int]:
        """Walk on until the word ends or is back on w's run; `Undecided` near a border."""
        a, run = self.weights.automaton, self.nearest.states
        while i < len(written) and state != self.stop and not (run and run[i - 1] == state):
            lo, hi = int(a.indptr[state]), int(a.indptr[state + 1])
            terms = self._edge_weights(i, slice(lo, hi), self.layer(i + 1))
            edge = lo + _choose(terms, uniform_ball(tape, first + i))
            written[i], state = a.label[edge], int(a.head[edge])
            i += 1
        return i, state

    def choose_later(self, i: int, tape: Tape, index: int) -> int | None:
        """Draw where the word leaves w later; `Undecided` near a border."""
        from flint import arb

        first = int(np.searchsorted(self.nearest.leaving.steps, i))
        # The last edges come first, and staying, which weighs 1, comes last.
        chosen = _choose([*self._terms[first:][::-1], arb(1)], uniform_ball(tape, index))
        stays = len(self._terms) - first
        return None if chosen == stays else len(self._terms) - 1 - chosen


def _choose(terms: list[Any], uniform: Any) -> int:
    """Draw an index in proportion to balls."""
    zero = terms[0] - terms[0]
    target, reached = uniform * sum(terms, zero), zero
    # A uniform below 1 never reaches beyond the last term, so there is no border to come near.
    last = max(k for k, term in enumerate(terms) if not term.is_zero())
    for k, term in enumerate(terms):
        reached = reached + term
        if k == last or target < reached:
            return k
        if not target > reached:
            raise Undecided
    raise Undecided
