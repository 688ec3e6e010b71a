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
        return self.find_all(word[np.newaxis])[0]

    def find_all(self, words: IntArray) -> list[IntArray | None]:
        """Return the accepting run of each word, None where it has none.

        Parameters
        ----------
        words : int array, shape (B, n)
        """
        a = self._automaton
        states = a.state_of_symbol
        # Keys of pairs of states have to fit into 64 bits.
        if states is not None and a.n_states < 2**31:
            return self._by_keys(states[words])
        find = _deterministic if a.is_deterministic else _unambiguous
        return [find(a, word) for word in words]

    @cached_property
    def _edge_keys(self) -> tuple[IntArray, IntArray]:
        """Keys tail * N + head in ascending order, and their edges; a last one is no edge's."""
        a = self._automaton
        keys = a.tail * a.n_states + a.head
        order = np.argsort(keys)
        return np.append(keys[order], np.iinfo(np.int64).max), np.append(order, -1)

    def _by_keys(self, states: IntArray) -> list[IntArray | None]:
        """The runs when words are their state sequences: every edge found at once."""
        a = self._automaton
        keys, order = self._edge_keys
        wanted = states[:, :-1] * a.n_states + states[:, 1:]
        place = np.searchsorted(keys, wanted)
        runs = np.empty_like(states)
        runs[:, 0], runs[:, 1:] = a.start_edge_into[states[:, 0]], order[place]
        accepted = (states >= 0).all(axis=1) & (runs[:, 0] >= 0) & a.final[states[:, -1]]
        accepted &= (keys[place] == wanted).all(axis=1)
        return [run if good else None for run, good in zip(runs, accepted.tolist(), strict=True)]


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
