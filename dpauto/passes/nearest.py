"""The words nearest to w, and the edges by which every other word leaves them.

Let D_i(y) be the least cost to finish from state y after i symbols. The reduced cost of an edge,
c(e) + D(head) - D(tail), is not negative, and the words at the least distance d* are the paths of
zero reduced cost. Every other word has a *first* edge of positive reduced cost, so the words
outside are counted, weighed and drawn by that edge: no subtraction, hence no cancellation.

When w is feasible and every wrong symbol costs something, w alone is nearest, and its run gives
everything (`WordItself`). Otherwise a min-plus pass finds D (`NearestWords`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpauto.arrays import ragged, reduce_rows
from dpauto.passes.weights import Weights
from dpauto.randomness import Tape
from dpauto.words import IntArray

__all__ = ["Leaving", "Nearest", "NearestWords", "WordItself", "words_themselves"]


@dataclass(frozen=True, eq=False)
class Leaving:
    """Edges of positive reduced cost that start at a prefix of a nearest word.

    Attributes
    ----------
    steps : int array, shape (K,)
        Step of each entry, ascending: step i leads from layer i to layer i + 1.
    edge, head, label : int arrays, shape (K,)
        Edge numbers (of the start's edges at step 0), heads and labels. All -1 where the entry
        stands for all edges of the start but `own`: there may be one for each state of a network.
    cost : int array, shape (K,)
        What prefix and edge cost: d* - D(tail) + c(e), in units. The weight relative to a
        nearest word counts this less d*; it may be negative, V making up for it.
    prefixes : int array, sequence of int, or None
        How many times each entry counts: prefixes of zero reduced cost that end in its tail, of any
        size, or edges that it stands for. None where it is always 1.
    own : int, optional
        Number of the start's edge that w's run takes, which no entry stands for; -1 if there is
        none.
    """

    steps: IntArray
    edge: IntArray
    head: IntArray
    label: IntArray
    cost: IntArray
    prefixes: IntArray | Sequence[int] | None
    own: int = -1


class Nearest(Protocol):
    """The nearest words T of a word: their number, their draws, and the way out of them."""

    count: int
    distance: int
    leaving: Leaving
    #: States of w's run at layers 1 … n where T = {w}, else None.
    states: list[int] | None

    def word(self, tape: Tape) -> IntArray:
        """Return a uniform random word of T."""
        ...

    def prefix(self, k: int, tape: Tape) -> IntArray:
        """Return a uniform random prefix of zero reduced cost that ends where edge k leaves."""
        ...


class WordItself:
    """T = {w}: a feasible word is nearest to itself; see `words_themselves`.

    Parameters
    ----------
    word : int array, shape (n,)
    states : list of int
        States of its run at layers 1 … n.
    leaving : Leaving
    """

    count = 1
    distance = 0

    def __init__(self, word: IntArray, states: list[int], leaving: Leaving) -> None:
        self._word, self.leaving = word, leaving
        self.states: list[int] | None = states

    def word(self, tape: Tape) -> IntArray:
        """Return w; no random bit is read."""
        return self._word

    def prefix(self, k: int, tape: Tape) -> IntArray:
        """Return the prefix of w that edge k leaves; no random bit is read."""
        return self._word[: self.leaving.steps[k]]


def words_themselves(weights: Weights, words: IntArray, runs: IntArray) -> list[WordItself]:
    """Return what is nearest to some feasible words: each to itself.

    Parameters
    ----------
    weights : Weights
        Every wrong symbol costs something.
    words, runs : int arrays, shape (B, n)
        Symbols and edge numbers of their accepting runs.
    """
    a, (count, length) = weights.automaton, words.shape
    states = np.concatenate((a.start_head[runs[:, :1]], a.head[runs[:, 1:]]), axis=1)
    # Step 0 has one entry for the start's other edges, the others the edges of the state before.
    first, last = np.zeros_like(runs), np.full_like(runs, len(a.start_head) > 1)
    first[:, 1:], last[:, 1:] = a.indptr[states[:, :-1]], a.indptr[states[:, :-1] + 1]
    edges = ragged(first.reshape(-1), last.reshape(-1))
    place = np.repeat(np.arange(count * length), (last - first).reshape(-1))
    edges[place % length == 0] = -1
    off = edges != runs.reshape(-1)[place]
    edges, place = edges[off], place[off]
    steps, later = place % length, edges >= 0
    head, label, cost = np.full_like(edges, -1), np.full_like(edges, -1), np.zeros_like(edges)
    head[later], label[later] = a.head[edges[later]], a.label[edges[later]]
    cost[later] = weights.pair_costs(words.reshape(-1)[place[later]], label[later])
    times = np.ones_like(edges)
    if weights.times is not None:
        times[later] = weights.times[edges[later]]
    bounds = np.searchsorted(place, np.arange(count + 1) * length).tolist()
    found = []
    for b, (lo, hi) in enumerate(itertools.pairwise(bounds)):
        leaving = Leaving(
            steps=steps[lo:hi],
            edge=edges[lo:hi],
            head=head[lo:hi],
            label=label[lo:hi],
            cost=cost[lo:hi],
            prefixes=None if weights.times is None else times[lo:hi],
            own=int(runs[b, 0]),
        )
        found.append(WordItself(words[b], states[b].tolist(), leaving))
    return found


class NearestWords:
    """T found by a min-plus pass, for any word and any costs.

    Parameters
    ----------
    weights : Weights
    word : int array, shape (n,)
    """

    states: list[int] | None = None

    def __init__(self, weights: Weights, word: IntArray) -> None:
        self._weights, self._word = weights, word
        a, n = weights.automaton, len(word)
        least = _least_costs(weights, word)
        first = weights.edge_costs(int(word[0]), a.start_label) + least[1][a.start_head]
        self.distance = int(first.min())
        states = np.zeros(1, dtype=np.int64)
        counts = np.ones(1, dtype=object)
        # Zero edges of each step as (edge, tail, head), and prefix counts of each layer.
        self._zero: list[tuple[IntArray, IntArray, IntArray]] = []
        self._counts: list[dict[int, int]] = [{-1: 1}]
        parts: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []
        prefixes: list[int] = []
        sizes: list[int] = []
        for i in range(n):
            if i == 0:
                edges = np.arange(len(a.start_head))
                tails, heads, labels = np.full(len(edges), -1), a.start_head, a.start_label
                position = np.zeros(len(edges), dtype=np.int64)
                to_go = np.full(1, self.distance)
            else:
                edges = a.out_edges(states)
                tails, heads, labels = a.tail[edges], a.head[edges], a.label[edges]
                position = np.searchsorted(states, tails)
                to_go = least[i][states]
            cost = weights.edge_costs(int(word[i]), labels)
            after = least[i + 1][heads]
            zero = cost + after == to_go[position]
            out = ~zero & (after < _FAR)
            self._zero.append((edges[zero], tails[zero], heads[zero]))
            parts.append(
                (
                    edges[out],
                    heads[out],
                    labels[out],
                    self.distance + cost[out] - to_go[position[out]],
                )
            )
            prefixes += counts[position[out]].tolist()
            sizes.append(int(out.sum()))
            states = np.unique(heads[zero])
            ahead = np.zeros(len(states), dtype=object)
            np.add.at(ahead, np.searchsorted(states, heads[zero]), counts[position[zero]])
            counts = ahead
            self._counts.append(dict(zip(states.tolist(), counts.tolist(), strict=True)))
        self.count = sum(self._counts[n].values())
        edge, head, label, cost = (np.concatenate(column) for column in zip(*parts, strict=True))
        steps = np.repeat(np.arange(n), sizes)
        self.leaving = Leaving(steps, edge, head, label, cost, prefixes)

    def word(self, tape: Tape) -> IntArray:
        """Return a uniform random word of T."""
        ends = self._counts[-1]
        return self._backwards(len(self._word), _pick(list(ends), list(ends.values()), tape), tape)

    def prefix(self, k: int, tape: Tape) -> IntArray:
        """Return a uniform random prefix of zero reduced cost that ends where edge k leaves."""
        step = int(self.leaving.steps[k])
        tail = int(self._weights.automaton.tail[self.leaving.edge[k]]) if step else -1
        return self._backwards(step, tail, tape)

    def _backwards(self, steps: int, state: int, tape: Tape) -> IntArray:
        a = self._weights.automaton
        symbols = np.empty(steps, dtype=np.int64)
        for i in range(steps - 1, -1, -1):
            edges, tails, heads = self._zero[i]
            into = np.flatnonzero(heads == state)
            weights = [self._counts[i][tail] for tail in tails[into].tolist()]
            chosen = _pick(into.tolist(), weights, tape)
            symbols[i] = a.label[edges[chosen]] if i else a.start_label[edges[chosen]]
            state = int(tails[chosen])
        return symbols


#: Stands for "cannot finish" in the min-plus pass; adding costs to it cannot overflow.
_FAR = 2**61


def _least_costs(weights: Weights, word: IntArray) -> list[IntArray]:
    """Return D_1 … D_n (entry 0 unused): least cost to finish, `_FAR` or more if impossible."""
    a, n = weights.automaton, len(word)
    least = [np.where(a.final[: weights.rows[n]], 0, _FAR)]
    for i in range(n - 1, 0, -1):
        layer = a.layer(i, weights.rows)
        through = weights.edge_costs(int(word[i]), layer.label) + least[-1][layer.head]
        least.append(np.minimum(reduce_rows(np.minimum, through, layer.indptr, _FAR), _FAR))
    return [least[-1], *least[::-1]]


def _pick(items: Sequence[int], weights: Sequence[int], tape: Tape) -> int:
    """Return one of `items`, drawn in proportion to positive integer weights."""
    rest = tape.below(sum(weights))
    for item, weight in zip(items, weights, strict=True):
        if rest < weight:
            return item
        rest -= weight
    raise ValueError("weights must be positive")
