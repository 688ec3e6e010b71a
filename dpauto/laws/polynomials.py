"""Backward passes whose cells are polynomials in the distance, in floats.

Every sum is of positive terms, so the relative error of a coefficient stays near n times the degree
of the automaton times 2^-53.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dpauto.errors import StateLimitExceeded
from dpauto.language import Language
from dpauto.laws.errorlaw import FloatArray
from dpauto.words import IntArray

__all__ = ["Layer", "Weigh", "distance_polynomial", "fits", "layer", "level_counts_in_floats"]

#: Most entries of one layer of polynomials (512 MiB).
CELL_LIMIT = 1 << 26


@dataclass(frozen=True, eq=False)
class Layer:
    """The edges from layer i to layer i + 1, sorted by tail.

    Attributes
    ----------
    i : int
        Symbols written before.
    indptr, head, label, tail : int arrays
    n_heads : int
        States that matter at layer i + 1.
    """

    i: int
    indptr: IntArray
    head: IntArray
    label: IntArray
    tail: IntArray
    n_heads: int

    def matrix(self, weights: FloatArray) -> Any:
        """The edges as a sparse matrix, shape (tails, heads)."""
        from scipy.sparse import csr_array

        shape = (len(self.indptr) - 1, self.n_heads)
        return csr_array((weights, self.head, self.indptr), shape=shape)


#: Weights of a layer's edges where they write the true symbol, and where they do not.
Weigh: TypeAlias = Callable[[Layer], tuple[FloatArray, FloatArray]]


def layer(language: Language, i: int) -> Layer:
    """Return the edges from layer `i` on; layer 0 is the start alone."""
    a, rows = language.automaton, language.rows
    if i == 0:
        head, label = a.start_head, a.start_label
        indptr, tail = np.array([0, len(head)]), np.zeros_like(head)
    else:
        indptr = a.indptr[: rows[i] + 1]
        head, label, tail = a.head[: indptr[-1]], a.label[: indptr[-1]], a.tail[: indptr[-1]]
    return Layer(i, indptr, head, label, tail, int(rows[i + 1]))


def fits(language: Language) -> bool:
    """Whether a layer of polynomials stays within the budget."""
    return int(language.rows[-1]) * (language.length + 1) <= CELL_LIMIT


def distance_polynomial(language: Language, weigh: Weigh) -> FloatArray:
    """Return the weight of all words by the number of wrong symbols, shape (n + 1,).

    Raises
    ------
    StateLimitExceeded
        If states times length is too large.
    """
    if not fits(language):
        raise StateLimitExceeded(
            f"the exact law needs {int(language.rows[-1])} states times {language.length + 1}"
            " distances; mean and variance can be had without it"
        )
    n = language.length
    values = language.automaton.final[: language.rows[n]].astype(np.float64)[:, None]
    for i in range(n - 1, -1, -1):
        edges = layer(language, i)
        right, wrong = weigh(edges)
        grown = np.zeros((len(edges.indptr) - 1, n - i + 1))
        grown[:, 1:] = edges.matrix(wrong) @ values
        # Few edges are right: add them one by one.
        chosen = np.flatnonzero(right)
        np.add.at(
            grown[:, :-1], edges.tail[chosen], right[chosen, None] * values[edges.head[chosen]]
        )
        values = grown
    total: FloatArray = values[0]
    return total


def level_counts_in_floats(language: Language, word: IntArray) -> FloatArray:
    """Return N_0 … N_n in floats, shape (n + 1,); the language has at most 2**1000 words.

    Much quicker than the exact counts on large networks, and good to about 13 digits.
    """

    def weigh(edges: Layer) -> tuple[FloatArray, FloatArray]:
        right = (edges.label == word[edges.i]).astype(np.float64)
        return right, 1 - right

    return distance_polynomial(language, weigh)
