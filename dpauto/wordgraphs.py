"""Automata of given words: of all over an alphabet, and of a list."""

from __future__ import annotations

import numpy as np

from dpauto.arrays import Automaton
from dpauto.words import Alphabet, IntArray

__all__ = ["every_word", "word_graph"]


def every_word(alphabet: Alphabet) -> Automaton:
    """Return the automaton of all words: one state, one loop per symbol."""
    symbols = np.arange(len(alphabet))
    zeros = np.zeros(len(alphabet), dtype=np.int64)
    return Automaton.of(
        alphabet=alphabet,
        states=("any",),
        start="any",
        start_edges=(zeros, symbols),
        edges=(zeros, zeros, symbols),
        final=np.ones(1, dtype=bool),
    )


def word_graph(alphabet: Alphabet, rows: IntArray) -> Automaton:
    """Return the smallest deterministic automaton of the listed words.

    Words are cut from the back: two prefixes share a state when the same endings complete them.

    Parameters
    ----------
    alphabet : Alphabet
    rows : int array, shape (words, n)
        Distinct words as symbol numbers, in alphabetical order.

    Examples
    --------
    >>> word_graph(Alphabet("ab"), np.array([[0, 0], [1, 0]])).n_edges  # and two from the start
    1
    """
    count, length = rows.shape
    edges: list[IntArray] = []
    # state[k]: the state of word k after i symbols; at the end all words share one.
    state = np.zeros(count, dtype=np.int64)
    next_state = 1
    for i in range(length - 1, -1, -1):
        # Prefixes of length i are runs of equal rows, since the rows are sorted.
        same = np.all(rows[1:, :i] == rows[:-1, :i], axis=1)
        group = np.concatenate(([0], np.cumsum(~same)))
        pairs = np.stack([group, rows[:, i], state], axis=1)
        pairs = np.unique(pairs, axis=0)
        starts = np.searchsorted(pairs[:, 0], np.arange(group[-1] + 2))
        seen: dict[bytes, int] = {}
        of_group = np.empty(group[-1] + 1, dtype=np.int64)
        for g in range(group[-1] + 1):
            endings = pairs[starts[g] : starts[g + 1], 1:]
            key = endings.tobytes()
            if key not in seen:
                seen[key] = next_state + len(seen)
                tails = np.full(len(endings), seen[key])
                edges.append(np.column_stack([tails, endings[:, 1], endings[:, 0]]))
            of_group[g] = seen[key]
        next_state += len(seen)
        state = of_group[group]
    start = int(state[0])
    flat = np.concatenate(edges)
    first = flat[:, 0] == start
    return Automaton.of(
        alphabet=alphabet,
        states=range(next_state),
        start=start,
        start_edges=(flat[first, 1], flat[first, 2]),
        edges=(flat[~first, 0], flat[~first, 1], flat[~first, 2]),
        final=np.arange(next_state) == 0,
    )
