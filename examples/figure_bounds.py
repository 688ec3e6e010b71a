"""Draw Theorem 2: the expected error on all words between its bounds, over ε, n and m.

    python examples/figure_bounds.py [FOLDER]

Needs ``pip install 'dpauto[plots]'``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import dpauto
from dpauto.drawing import plot_bounds, save_plot

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "accuracy" / "figures"
#: What stays fixed where another parameter varies.
LENGTH, SYMBOLS, EPSILON, ADJACENCY = 10, 26, 10, 1


def main(folder: Path = FIGURES) -> None:
    """Write bounds.svg."""
    plt.switch_backend("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    epsilons = np.linspace(4, 16, 97).round(3)
    lengths = np.arange(1, 61)
    sizes = np.arange(2, 121)
    panels = [
        ("ε", epsilons, [dpauto.bounds(LENGTH, SYMBOLS, e, ADJACENCY) for e in epsilons]),
        ("n", lengths, [dpauto.bounds(int(n), SYMBOLS, EPSILON, ADJACENCY) for n in lengths]),
        ("m", sizes, [dpauto.bounds(LENGTH, int(m), EPSILON, ADJACENCY) for m in sizes]),
    ]
    fixed = {"n": f"n = {LENGTH}", "m": f"m = {SYMBOLS}", "ε": f"ε = {EPSILON}"}
    _, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for ax, (name, values, found) in zip(axes, panels, strict=True):
        # The theorem's own bound, where the half of the upper one is better.
        gruss = np.array([row.gruss for row in found])
        ax.plot(values, np.where(gruss > 0, gruss, np.nan), color="#9aa5b1", label="Grüss alone")
        plot_bounds(values, found, xlabel=name, ax=ax)
        others = ", ".join(text for key, text in fixed.items() if key != name)
        ax.set_title(f"{others}, b = {ADJACENCY}", fontsize=10)
    for ax in axes[1:]:
        ax.set_ylabel("")
        ax.get_legend().remove()
    save_plot(axes[0], folder / "bounds.svg")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
