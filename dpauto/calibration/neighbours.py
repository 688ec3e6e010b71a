"""In how many positions words of a language differ: without adjacent ones there is no promise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpauto.arrays import BoolArray
from dpauto.errors import EmptyNeighbourhood
from dpauto.language import Language
from dpauto.words import IntArray

__all__ = ["possible_distances", "require_neighbours"]

#: Largest automaton whose pairs of states are followed from the first symbol on, to be sure.
SMALL_STATES = 300


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


def possible_distances(language: Language, most: int) -> list[int]:
    """Return the numbers of positions, 1 … most, in which two words of the language may differ.

    Parameters
    ----------
    language : Language
    most : int
        At most n.

    Returns
    -------
    list of int
        Ascending. For languages of small automata two words do differ in just so many positions;
        otherwise some may be listed without need.
    """
    everything = list(range(1, most + 1))
    if language.is_all_words or language.automaton.n_states > SMALL_STATES:
        return everything
    # Most languages show all distances among the words that part near the end.
    found: set[int] = set()
    for first in sorted({1, max(1, language.length - most)}, reverse=True):
        for pairs, is_last in _layers(language, first, most, exact=True):
            shown = pairs if is_last else pairs[pairs[:, 0] == pairs[:, 1]]
            found.update(shown[:, 2].tolist())
            if found.issuperset(everything):
                return everything
    return sorted(found - {0})


def _parting(language: Language, first: int, b: int) -> bool:
    """Whether two words within b substitutions part at position `first` or later."""
    for pairs, is_last in _layers(language, first, b, exact=False):
        merged = (pairs[:, 0] == pairs[:, 1]) & (pairs[:, 2] > 0)
        if merged.any() or (is_last and (pairs[:, 2] > 0).any()):
            return True
    return False


def _layers(
    language: Language, first: int, b: int, *, exact: bool
) -> Iterator[tuple[IntArray, bool]]:
    """Carry pairs of states of words that part at position `first` or later from layer to layer.

    Yields rows (state, state, differing symbols) and whether the layer is the last: for every pair
    of states each possible number within b, or, unless `exact`, only the least.
    """
    a, n = language.automaton, language.length
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
        pairs = np.concatenate(parts)
        pairs = np.unique(pairs[pairs[:, 2] <= b], axis=0)
        if not exact:
            pairs = _least(pairs, a.n_states)
        yield pairs, i == n
        before = np.unique(heads)


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


def _least(pairs: IntArray, N: int) -> IntArray:
    """Of sorted rows, the first of every pair of states."""
    keys = pairs[:, 0] * N + pairs[:, 1]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = np.diff(keys) != 0
    return pairs[new]
