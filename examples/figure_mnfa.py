"""Draw an MNFA with its policy: on all words, and over the feasible words of a small chain.

    python examples/figure_mnfa.py [FOLDER]

An edge shows its symbol and the probability of the policy; a node how many words it leads to.
Needs Graphviz, or ``pip install 'dpauto[draw]'``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dpauto

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "accuracy" / "figures"


def main(folder: Path = FIGURES) -> None:
    """Write mnfa-all-words.svg and mnfa-triangle.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    everything = dpauto.Language.all_words("ab", 4)
    dpauto.mnfa("abba", 2, everything).show_diagram(folder / "mnfa-all-words.svg")

    triangle = dpauto.MarkovChain(
        states="abc",
        transitions={
            "a": {"a": 0.5, "b": 0.5},
            "b": {"b": 0.5, "c": 0.5},
            "c": {"c": 0.5, "a": 0.5},
        },
        initial="a",
    )
    dpauto.mnfa("abca", 2, triangle.language(4)).show_diagram(folder / "mnfa-triangle.svg")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
