"""Drawings: models as Graphviz diagrams, results as plots.

`diagram` draws an automaton, a chain, an MDP, a language or an `MNFA`; its DOT text needs nothing
but dpauto, an image needs Graphviz. The plots need matplotlib (``pip install 'dpauto[plots]'``).

A drawing shows what is drawn. That of a Hamming automaton or an `MNFA` shows the sensitive word.
"""

from __future__ import annotations

from dpauto.drawing.diagrams import Diagram, diagram, mimebundle
from dpauto.drawing.figures import save_plot
from dpauto.drawing.maps import plot_trip
from dpauto.drawing.plots import plot_bounds, plot_errors, plot_law

__all__ = [
    "Diagram",
    "diagram",
    "mimebundle",
    "plot_bounds",
    "plot_errors",
    "plot_law",
    "plot_trip",
    "save_plot",
]
