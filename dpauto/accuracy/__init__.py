"""Accuracy: Theorem 2, comparing mechanisms, choosing epsilon, and what a guarantee hides.

The exact laws themselves are in `dpauto.laws`.
"""

from dpauto.accuracy.choosing import choose_epsilon
from dpauto.accuracy.comparing import Comparison, compare
from dpauto.accuracy.neighbours import NeighbourReport, neighbour_report, sampled_neighbours
from dpauto.accuracy.theorem import Bounds, bounds
from dpauto.laws import ErrorLaw

__all__ = [
    "Bounds",
    "Comparison",
    "ErrorLaw",
    "NeighbourReport",
    "bounds",
    "choose_epsilon",
    "compare",
    "neighbour_report",
    "sampled_neighbours",
]
