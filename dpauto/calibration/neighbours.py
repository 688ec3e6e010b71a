"""Whether a language has adjacent words at all: without any, a certificate would say nothing."""

from __future__ import annotations

import numpy as np

from dpauto.arrays import BoolArray
from dpauto.errors import EmptyNeighbourhood
from dpauto.language import Language
from dpauto.words import IntArray

__all__ = ["require_neighbours"]


def require_neighbours(language: Language, adjacency: int) -> None:
    """Raise EmptyNeighbourhood unless two different words lie within `adjacency` substitutions.

    Parameters
    ----------
    language : Language
    adjacency : int
        b, at least 1.

    Raises
    ------
    EmptyNeighbourhood
        If the largest loss would be one over no pair of words. Releasing w itself would then be
        allowed, and is refused.
    """
    if language.is_all_words:
        found = len(language.alphabet) > 1
    else:
        # Most languages show a pair among the words that part at the very end.
        n = language.length
        found = _parting(language, max(1, n - 1), adjacency) or _parting(language, 1, adjacency)
    if not found:
        raise EmptyNeighbourhood(
            f"adjacency: no two words of the language lie within {adjacency} substitutions, so a"
            " guarantee about neighbours would say nothing; take a larger adjacency"
        )


def _parting(language: Language, first: int, b: int) -> bool:
    """Whether two words within b substitutions part at position `first` or later.

    Pairs of states are carried from layer to layer with the least number of differing symbols.
    """
    a, n = language.automaton, language.length
    N = a.n_states
    pairs = np.empty((0, 3), dtype=np.int64)
    before = np.empty(0, dtype=np.int64)
    for i in range(1, n + 1):
        alive = language.finishing(n - i)
        if i == 1:
            heads, labels = a.start_head, a.start_label
            group = np.zeros(len(heads), dtype=np.int64)
        else:
            edges = a.out_edges(before)
            group = np.repeat(np.arange(len(before)), np.diff(a.indptr)[before])
            heads, labels = a.head[edges], a.label[edges]
        keep = alive[heads]
        group, heads, labels = group[keep], heads[keep], labels[keep]
        parts = [_followed(language, pairs, alive)]
        if i >= first:
            parts.append(_together(group, heads, labels))
        pairs = _least(np.concatenate(parts), N, b)
        merged = (pairs[:, 0] == pairs[:, 1]) & (pairs[:, 2] > 0)
        if merged.any() or (i == n and (pairs[:, 2] > 0).any()):
            return True
        before = np.unique(heads)
    return False


def _together(group: IntArray, heads: IntArray, labels: IntArray) -> IntArray:
    """Pairs of different edges out of one state, as rows (state, state, differing symbols)."""
    starts = np.searchsorted(group, group, side="left")
    sizes = np.arange(len(group)) - starts
    later = np.repeat(np.arange(len(group)), sizes)
    offset = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    earlier = starts[later] + offset
    differ = (labels[later] != labels[earlier]).astype(np.int64)
    low, high = np.minimum(heads[later], heads[earlier]), np.maximum(heads[later], heads[earlier])
    return np.stack((low, high, differ), axis=1)


def _followed(language: Language, pairs: IntArray, alive: BoolArray) -> IntArray:
    """Pairs of states after one more symbol each."""
    a = language.automaton
    sizes = np.diff(a.indptr)
    edges = a.out_edges(pairs[:, 0])
    row = np.repeat(np.arange(len(pairs)), sizes[pairs[:, 0]])
    other = a.out_edges(pairs[row, 1])
    again = np.repeat(np.arange(len(row)), sizes[pairs[row, 1]])
    edges, row = edges[again], row[again]
    keep = alive[a.head[edges]] & alive[a.head[other]]
    edges, other, row = edges[keep], other[keep], row[keep]
    errors = pairs[row, 2] + (a.label[edges] != a.label[other])
    low = np.minimum(a.head[edges], a.head[other])
    high = np.maximum(a.head[edges], a.head[other])
    return np.stack((low, high, errors), axis=1)


def _least(pairs: IntArray, N: int, b: int) -> IntArray:
    """The pairs within b errors, each once, with its least number of errors."""
    pairs = pairs[pairs[:, 2] <= b]
    keys = pairs[:, 0] * N + pairs[:, 1]
    order = np.lexsort((pairs[:, 2], keys))
    pairs, keys = pairs[order], keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = np.diff(keys) != 0
    return pairs[new]
