"""True privacy losses on listed languages, in plain floats and from the definitions alone.

For thousands of small languages; `oracles.true_epsilon` does the same in many digits.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

#: Gauss's rule with so many nodes is exact for the polynomials that permute-and-flip integrates,
#: as long as the language has at most twice as many words.
NODES = 96
GAUSS_NODES, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(NODES)


def distances(words: Sequence[Sequence[Hashable]]) -> np.ndarray:
    """Hamming distances of all pairs of words."""
    numbers = [
        np.unique([repr(s) for s in column], return_inverse=True)[1]
        for column in zip(*words, strict=True)
    ]
    return sum(np.not_equal.outer(column, column).astype(int) for column in numbers)


def true_loss(
    words: Sequence[Sequence[Hashable]], exponent: float, b: int, mechanism: str
) -> float | None:
    """The largest log ratio over all pairs within b and all outputs; None without pairs."""
    d = distances(words)
    rows, columns = np.nonzero((d > 0) & (d <= b))
    if not len(rows):
        return None
    if mechanism == "exponential":
        log_p = -exponent * d - np.log(np.exp(-exponent * d).sum(axis=1))[:, None]
    else:
        log_p = np.stack([_flip_row(row, exponent) for row in d])
    return float((log_p[rows] - log_p[columns]).max())


def _flip_row(d: np.ndarray, exponent: float) -> np.ndarray:
    """Log probabilities of permute-and-flip from one word, Definition 4 as an integral."""
    assert len(d) <= 2 * NODES
    t, weights = (GAUSS_NODES + 1) / 2, GAUSS_WEIGHTS / 2
    factors = 1 - np.exp(-exponent * d)[:, None] * t[None, :]
    log_all = np.log(factors).sum(axis=0)
    integrals = (weights * np.exp(log_all - np.log(factors))).sum(axis=1)
    return -exponent * d + np.log(integrals)
