"""What is measured on: grids, their walks, and the products that a release is compared with."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dpauto import MarkovChain
from dpauto.words import Word

__all__ = ["bare_products", "cut_out", "epsilon_for", "grid", "middle", "walks"]


def grid(side: int) -> Any:
    """Return the transition matrix of a walk on a grid of side × side cells.

    A step goes to one of the four neighbours, all equally likely. Cells (i, j) with i and j
    multiples of 10 are also joined to (i + 1, j + 1), both ways: so there is no parity, which would
    halve the work of a pass.

    Returns
    -------
    scipy.sparse.csr_array, shape (side², side²)
        With 32-bit indices, the faster ones.
    """
    from scipy.sparse import csr_array

    cell = np.arange(side * side, dtype=np.int32)
    i, j = np.divmod(cell, side)
    right, down = cell[j < side - 1], cell[i < side - 1]
    across = cell[(i % 10 == 0) & (j % 10 == 0) & (i < side - 1) & (j < side - 1)]
    tails = np.concatenate((right, down, across))
    heads = np.concatenate((right + 1, down + side, across + side + 1))
    tails, heads = np.concatenate((tails, heads)), np.concatenate((heads, tails))
    return _uniform(csr_array((np.ones(len(tails)), (tails, heads)), shape=(side**2, side**2)))


def middle(side: int) -> int:
    """Return the number of the cell in the middle of a grid."""
    return side // 2 * side + side // 2


def cut_out(matrix: Any, start: int, steps: int) -> tuple[Any, list[int]]:
    """Return the part of a walk within some steps of a cell, and the numbers of its cells."""
    found = np.zeros(matrix.shape[0], dtype=bool)
    found[start] = True
    for _ in range(steps):
        found |= (matrix.T @ found) > 0
    cells = np.flatnonzero(found)
    return _uniform(matrix[cells][:, cells]), cells.tolist()


def _uniform(matrix: Any) -> Any:
    """Make all steps from a cell equally likely."""
    matrix.sort_indices()
    degree = np.diff(matrix.indptr)
    matrix.data[:] = 1 / np.repeat(degree, degree)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def walks(chain: MarkovChain, length: int, count: int, *, seed: int = 1) -> list[Word]:
    """Return distinct words sampled from a chain."""
    rng = np.random.default_rng(seed)
    words: dict[Word, None] = {}
    while len(words) < count:
        words[chain.sample(length, rng)] = None
    return list(words)


def bare_products(matrix: Any, block: Any, steps: int) -> Any:
    """Multiply a vector or a block of vectors by a matrix, again and again; keep the last."""
    for _ in range(steps):
        block = matrix @ block
    return block


def epsilon_for(exponent: Fraction | float, adjacency: int = 1) -> Fraction:
    """Return the ε at which ε / (2 b) is the given exponent."""
    return 2 * adjacency * Fraction(exponent)
