"""The race that permute-and-flip is, integrated over its cells.

Give every word v an independent uniform arrival time in [0, 1] and accept it with probability p_v;
the first accepted word is released (Ding et al., arXiv 2105.07260). With u = Z t a word of cell k
wins with probability

    (p_k / Z) * integral over 0 <= u <= Z of F(u) / (1 - y_k u),   F(u) = prod_k (1 - y_k u)^(N_k)

which is the integral form of Definition 4 of Benvenuti, Rao and Hale (arXiv 2603.28903).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from dpauto.laws.cells import Cells
from dpauto.laws.errorlaw import FloatArray

__all__ = ["gains", "panels"]

#: Since F(u) <= exp(-u), what lies beyond is below 1e-19.
CUTOFF = 45.0
PANEL = 2.5
NODES = 24
#: Cells with less than this share do not move F.
NEGLIGIBLE = 1e-25
#: Entries of one block of the (cells x nodes) matrix: 32 MiB.
BLOCK = 1 << 22


@lru_cache(maxsize=1)
def _rule() -> tuple[FloatArray, FloatArray]:
    points, weights = np.polynomial.legendre.leggauss(NODES)
    return points, weights


def panels(total: float) -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre nodes and weights for an integral over u from 0 to min(Z, 45).

    The integrands are polynomials in u of the size of exp(-u), with all zeros at Z or beyond, so
    panels of width 2.5 with 24 nodes each leave an error below the rounding.
    """
    points, weights = _rule()
    end = min(total, CUTOFF)
    edges = np.linspace(0.0, end, int(np.ceil(end / PANEL)) + 1)
    half = np.diff(edges) / 2
    nodes = (edges[:-1] + half)[:, None] + half[:, None] * points
    return nodes.ravel(), (half[:, None] * weights).ravel()


def gains(cells: Cells) -> FloatArray:
    """Return G_k = integral of F(u) y_k u / (1 - y_k u) du for every cell, shape (k,).

    G tells how permute-and-flip differs from the exponential mechanism, whose law is x:

        P(cell k) = x_k (1 + G_k - sum_j x_j G_j)

    because the probabilities sum to 1, which fixes the integral of F itself. Nothing cancels: that
    integral is at least 1/2.
    """
    nodes, weights = panels(cells.total)
    survival = np.exp(-_integrated_hazard(cells, nodes)) * weights
    gain = np.empty(len(cells.rate))
    for part in _blocks(len(cells.rate), len(nodes)):
        y = np.multiply.outer(cells.rate[part], nodes)
        gain[part] = (y / (1 - y)) @ survival
    return gain


def _integrated_hazard(cells: Cells, nodes: FloatArray) -> FloatArray:
    """-log F at the nodes: sum of x_k u g(y_k u), with g(y) = -log(1 - y) / y."""
    chosen = cells.share > NEGLIGIBLE
    share, rate = cells.share[chosen], cells.rate[chosen]
    hazard = np.zeros(len(nodes))
    for part in _blocks(len(rate), len(nodes)):
        y = np.multiply.outer(rate[part], nodes)
        # g(y) = 1 + y/2 + …, and a subnormal y has no digits left to divide by.
        tiny = y < 1e-290
        g = np.where(tiny, 1.0, -np.log1p(-y) / np.where(tiny, 1.0, y))
        hazard += share[part] @ g
    return hazard * nodes


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    step = max(1, BLOCK // columns)
    for start in range(0, rows, step):
        yield slice(start, start + step)
