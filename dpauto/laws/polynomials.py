"""Backward passes whose cells are polynomials in the distance, in floats.

Every sum is of positive terms, so the relative error of a coefficient stays near n times the degree
of the automaton times 2^-53.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dpauto.arrays import Layer
from dpauto.errors import StateLimitExceeded
from dpauto.language import Language
from dpauto.laws.errorlaw import FloatArray
from dpauto.words import IntArray

__all__ = ["Weigh", "distance_polynomial", "fits", "level_counts_in_floats", "matrix"]

#: Most entries of one layer of polynomials (512 MiB).
CELL_LIMIT = 1 << 26


#: Weights of a layer's edges where they write the true symbol, and where they do not.
Weigh: TypeAlias = Callable[[Layer], tuple[FloatArray, FloatArray]]


def matrix(layer: Layer, weights: FloatArray, n_heads: int) -> Any:
    """Return the edges of a layer as a sparse matrix, shape (tails, heads)."""
    from scipy.sparse import csr_array

    return csr_array((weights, layer.head, layer.indptr), shape=(layer.n_tails, n_heads))


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
        edges = language.layer(i)
        right, wrong = weigh(edges)
        grown = np.zeros((edges.n_tails, n - i + 1))
        grown[:, 1:] = matrix(edges, wrong, len(values)) @ values
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
