"""Exact error laws of the online mechanism: symbol by symbol, from the previous output state.

With s successors from which a word of the language can still be completed, the true symbol is kept
with probability e^r / (e^r + s - 1), r = epsilon / b, if it is one of them, and every other one is
written with probability 1 / (e^r + s - 1); if it is not, the choice is uniform (Chen et al.,
arXiv 2202.03325; docs/accuracy/laws.md). On all words this is randomized response.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dpauto.arrays import Layer
from dpauto.language import Language
from dpauto.laws.cells import Cells
from dpauto.laws.errorlaw import ErrorLaw, FloatArray, Moments
from dpauto.laws.polynomials import distance_polynomial, matrix
from dpauto.words import IntArray

__all__ = ["online_law", "online_moments"]


def online_law(language: Language, word: IntArray, rate: Fraction) -> ErrorLaw:
    """Return the exact error law of the online mechanism.

    Parameters
    ----------
    language : Language
        Determinised if it is not deterministic.
    word : int array, shape (n,)
        Symbol numbers; the word need not be feasible.
    rate : Fraction
        r = epsilon / b (not halved: online spends the whole epsilon on one symbol).

    Returns
    -------
    ErrorLaw
        Accurate to 1e-13 for lengths up to thousands.

    Raises
    ------
    StateLimitExceeded
        If states times length is too large; `online_moments` needs no such table.
    """
    if language.is_all_words:
        return ErrorLaw.of(_all_words(language, rate).share)
    walk = language.deterministic()

    def weigh(edges: Layer) -> tuple[FloatArray, FloatArray]:
        return _probabilities(walk, edges, word, rate)

    return ErrorLaw.of(distance_polynomial(walk, weigh))


def online_moments(language: Language, word: IntArray, rate: Fraction) -> Moments:
    """Return mean and variance of the online mechanism's error, by one pass of three columns.

    Parameters are those of `online_law`.
    """
    if language.is_all_words:
        return ErrorLaw.of(_all_words(language, rate).share).moments()
    walk = language.deterministic()
    n = walk.length
    end = walk.rows[n]
    mean, variance = np.zeros(end), np.zeros(end)
    # Reaching an end is certain from every state that can finish; the others have no weight.
    alive = walk.automaton.final[:end].astype(np.float64)
    unchanged = alive
    for i in range(n - 1, -1, -1):
        edges = walk.layer(i)
        right, wrong = (
            matrix(edges, weights, len(mean)) for weights in _probabilities(walk, edges, word, rate)
        )
        mean_after, variance_after = mean, variance
        chance = wrong @ alive
        mean = (right + wrong) @ mean_after + chance
        # Law of total variance: about the mean at the tail, so that nothing cancels.
        variance = (right + wrong) @ variance_after
        variance += _spread(right, mean_after, mean) + _spread(wrong, mean_after + 1, mean)
        unchanged = right @ unchanged
        alive = right @ alive + chance
    return Moments(float(mean[0]), float(variance[0]), float(unchanged[0]))


def _all_words(language: Language, rate: Fraction) -> Cells:
    # The same binomial as the exponential mechanism's, at twice its exponent.
    return Cells.all_words(language.length, len(language.alphabet), rate)


def _probabilities(
    walk: Language, edges: Layer, word: IntArray, rate: Fraction
) -> tuple[FloatArray, FloatArray]:
    """Probabilities of a layer's edges, as right ones and as wrong ones."""
    n_tails, tail = edges.n_tails, edges.tail
    alive = walk.finishing(walk.length - edges.i - 1)[edges.head]
    match = alive & (edges.label == word[edges.i])
    successors = np.bincount(tail[alive], minlength=n_tails)
    can_keep = np.bincount(tail[match], minlength=n_tails) > 0
    # Divided by e^r throughout, which overflows when epsilon is large.
    small = math.exp(-rate)
    other = np.where(
        can_keep,
        small / (1 + (successors - 1) * small),
        1 / np.maximum(successors, 1),
    )
    keep = 1 / (1 + np.maximum(successors - 1, 0) * small)
    return np.where(match, keep[tail], 0.0), np.where(alive & ~match, other[tail], 0.0)


def _spread(steps: Any, values: FloatArray, centre: FloatArray) -> FloatArray:
    """Sum over each row of probability times (value at the head - centre at the tail) squared."""
    tail = np.repeat(np.arange(steps.shape[0]), np.diff(steps.indptr))
    terms = steps.data * (values[steps.indices] - centre[tail]) ** 2
    sums: FloatArray = np.bincount(tail, weights=terms, minlength=steps.shape[0]).astype(np.float64)
    return sums
