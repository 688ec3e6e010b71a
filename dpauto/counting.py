"""Topological dynamic programming with exact integers on the arrays of an automaton.

Shared precondition: the automaton is unambiguous, so that paths are words. `rows[i]` says how many
states, from number 0 on, matter at layer i (a compiled language numbers its states by the first
step that reaches them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpauto.arrays import Automaton, reduce_rows
from dpauto.errors import StateLimitExceeded
from dpauto.words import IntArray

__all__ = ["count_paths", "joint_level_counts", "level_counts", "path_counts"]

#: Integers of any size (Python ints in an object array), or int64 while they surely fit.
Counts = NDArray[Any]

#: Most additions of a joint count by distance and cost: about half a minute.
JOINT_LIMIT = 10_000_000


def path_counts(automaton: Automaton, length: int, rows: IntArray) -> list[Counts]:
    """Count the accepting completions from every state.

    Parameters
    ----------
    automaton : Automaton
    length : int
        n, at least 1.
    rows : int array, shape (length + 1,)
        States that matter at each layer.

    Returns
    -------
    list of arrays
        Entry i, shape (rows[i],): number of accepting paths of length n - i from each state at
        layer i, for i = 1 … n; entry 0, shape (1,): those from the start.
    """
    return list(_path_counts(automaton, length, rows))[::-1]


def count_paths(automaton: Automaton, length: int, rows: IntArray) -> int:
    """Return the number of accepting paths of a length from the start, one layer at a time."""
    for layer in _path_counts(automaton, length, rows):
        last = layer
    return int(last[0])


def _path_counts(automaton: Automaton, length: int, rows: IntArray) -> Iterator[Counts]:
    """Yield the layers of `path_counts`, from the last to the start's."""
    layer: Counts = automaton.final[: rows[length]].astype(np.int64)
    yield layer
    bound = 1
    for i in range(length - 1, -1, -1):
        edges = automaton.layer(i, rows)
        bound *= int(np.diff(edges.indptr).max(initial=1))
        if bound >= 2**62 and layer.dtype != object:
            layer = layer.astype(object)
        layer = reduce_rows(np.add, layer[edges.head], edges.indptr, 0)
        yield layer


def level_counts(automaton: Automaton, word: IntArray, rows: IntArray) -> list[int]:
    """Count the words of the language at every Hamming distance from `word`.

    Parameters
    ----------
    automaton : Automaton
    word : int array, shape (n,)
        Symbol numbers; the word need not be in the language.
    rows : int array, shape (n + 1,)

    Returns
    -------
    list of int
        N_0 … N_n, exact; they sum to the number of words.

    Notes
    -----
    One backward pass. The cell of a state is the polynomial sum of x^(matches) over its
    completions, packed into one integer by evaluating it at x = 2^B, with B above the bits of the
    total count. Matches are shifted rather than errors because few edges match.
    """
    length = len(word)
    total = count_paths(automaton, length, rows)
    width = max(1, total.bit_length())
    cells: Counts = automaton.final[: rows[length]].astype(np.int64).astype(object)
    for i in range(length - 1, -1, -1):
        edges = automaton.layer(i, rows)
        values = cells[edges.head]
        values[edges.label == word[i]] <<= width
        cells = reduce_rows(np.add, values, edges.indptr, 0)
    (packed,) = cells.tolist()
    mask = (1 << width) - 1
    by_matches = [packed >> (width * k) & mask for k in range(length + 1)]
    return by_matches[::-1]


def joint_level_counts(
    automaton: Automaton, word: IntArray, rows: IntArray, costs: IntArray
) -> dict[tuple[int, int], int]:
    """Count the words of the language at every Hamming distance and cost from `word`.

    Parameters
    ----------
    automaton : Automaton
    word : int array, shape (n,)
    rows : int array, shape (n + 1,)
    costs : int64 array, shape (symbols, symbols)
        What writing a symbol costs: [true, written].

    Returns
    -------
    dict {(distance, cost): int}
        Exact, without the empty cells.

    Raises
    ------
    StateLimitExceeded
        If too many different totals are possible.
    """
    length = len(word)
    cells = [Counter({(0, 0): 1}) if end else Counter() for end in automaton.final[: rows[length]]]
    work = 0
    for i in range(length - 1, -1, -1):
        edges = automaton.layer(i, rows)
        steps = list(zip(edges.head.tolist(), edges.label.tolist(), strict=True))
        before = []
        for lo, hi in pairwise(edges.indptr.tolist()):
            cell: Counter[tuple[int, int]] = Counter()
            for q, symbol in steps[lo:hi]:
                wrong, cost = int(symbol != word[i]), int(costs[word[i], symbol])
                for (d, c), count in cells[q].items():
                    cell[d + wrong, c + cost] += count
                work += len(cells[q])
            if work > JOINT_LIMIT:
                raise StateLimitExceeded(
                    "costs take too many different totals to count words by distance and cost;"
                    " mean and variance can be had without"
                )
            before.append(cell)
        cells = before
    return dict(cells[0])
