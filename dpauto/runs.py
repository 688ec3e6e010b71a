"""Accepting runs of words, on arrays."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dpauto.arrays import Automaton
from dpauto.words import IntArray

__all__ = ["RunFinder"]


class RunFinder:
    """Finds the accepting run of a word in the quickest way that an automaton allows.

    Parameters
    ----------
    automaton : Automaton
        Unambiguous.
    """

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton

    def find(self, word: IntArray) -> IntArray | None:
        """Return the accepting run of a word, or None if it has none.

        Parameters
        ----------
        word : int array, shape (n,)

        Returns
        -------
        int array, shape (n,), or None
            Entry 0 numbers the start's edges, the others the automaton's edges.
        """
        a = self._automaton
        states = a.state_of_symbol
        # Keys of pairs of states have to fit into 64 bits.
        if states is not None and a.n_states < 2**31:
            return self._by_keys(states[word])
        return _deterministic(a, word) if a.is_deterministic else _unambiguous(a, word)

    @cached_property
    def _edge_keys(self) -> tuple[IntArray, IntArray]:
        """Keys tail * N + head in ascending order, and their edges."""
        a = self._automaton
        keys = a.tail * a.n_states + a.head
        order = np.argsort(keys)
        return keys[order], order

    def _by_keys(self, states: IntArray) -> IntArray | None:
        """The run when a word is its state sequence: every edge found at once."""
        a = self._automaton
        keys, order = self._edge_keys
        first = np.flatnonzero(a.start_head == states[0])
        if (states < 0).any() or not first.size or not a.final[states[-1]]:
            return None
        wanted = states[:-1] * a.n_states + states[1:]
        if not len(keys):
            return first[:1] if not len(wanted) else None
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        if (keys[place] != wanted).any():
            return None
        return np.concatenate((first[:1], order[place]))


def _deterministic(a: Automaton, word: IntArray) -> IntArray | None:
    """Follow the one edge for each symbol."""
    edges = np.empty(len(word), dtype=np.int64)
    lo, labels, heads = 0, a.start_label, a.start_head
    for i, symbol in enumerate(word.tolist()):
        edge = int(np.searchsorted(labels, symbol))
        if edge == len(labels) or labels[edge] != symbol:
            return None
        edges[i] = lo + edge
        state = int(heads[edge])
        lo, hi = int(a.indptr[state]), int(a.indptr[state + 1])
        labels, heads = a.label[lo:hi], a.head[lo:hi]
    return edges if a.final[state] else None


def _unambiguous(a: Automaton, word: IntArray) -> IntArray | None:
    """Keep every state a prefix may be in with the edge that led there, then read backwards."""
    first = np.flatnonzero(a.start_label == word[0])
    trail: list[tuple[IntArray, IntArray]] = [(a.start_head[first], first)]
    for symbol in word[1:].tolist():
        edges = a.out_edges(np.unique(trail[-1][0]))
        edges = edges[a.label[edges] == symbol]
        trail.append((a.head[edges], edges))
    heads, edges = trail[-1]
    accepted = edges[a.final[heads]]
    if not accepted.size:
        return None
    run = [int(accepted[0])]
    for heads, edges in trail[-2::-1]:
        run.append(int(edges[heads == a.tail[run[-1]]][0]))
    return np.array(run[::-1], dtype=np.int64)
