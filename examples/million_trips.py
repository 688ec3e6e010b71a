"""Make a table of synthetic trips through a road network, as large as you like.

    python examples/million_trips.py roads.csv.gz --states links --trips 1000000 -o trips.csv

Each trip is a walk of 20 to 40 symbols that turns at random, so the table holds nothing of anybody.
Release it with

    dpauto release trips.csv --model roads.csv.gz --states links --epsilon 5 --adjacency 2 \
        --key-file release.key --id id --resume -o released.csv
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpauto import MarkovChain
from dpauto.formats import read_model, text_of
from dpauto.outputs import writing

#: Trips that walk in step.
TOGETHER = 10_000


def walks(chain: MarkovChain, trips: int, low: int, high: int, seed: int) -> Iterator[list[Any]]:
    """Yield random walks, many of which walk in step; those that come to a dead end begin again."""
    rng = np.random.default_rng(seed)
    steps = chain.to_matrix()
    degree = np.diff(steps.indptr)
    while trips > 0:
        count = min(TOGETHER, trips)
        lengths = rng.integers(low, high + 1, count)
        places = np.empty((count, high), dtype=np.int64)
        places[:, 0] = rng.integers(len(chain.states), size=count)
        alive = np.ones(count, dtype=bool)
        for step in range(1, high):
            here = places[:, step - 1]
            alive &= (degree[here] > 0) | (step >= lengths)
            turn = rng.integers(np.maximum(degree[here], 1))
            edge = np.minimum(steps.indptr[here] + turn, len(steps.indices) - 1)
            places[:, step] = steps.indices[edge]
        for row in np.flatnonzero(alive).tolist():
            yield [chain.states[place] for place in places[row, : lengths[row]].tolist()]
        trips -= int(np.count_nonzero(alive))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--states", choices=["nodes", "links"], default="nodes")
    parser.add_argument("--trips", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, nargs=2, default=[20, 40], metavar=("LOW", "HIGH"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", default="trips.csv")
    given = parser.parse_args()
    chain: Any = read_model(given.model, states=given.states)
    with writing(given.output) as out:
        table = csv.writer(Text(out), lineterminator="\n")
        table.writerow(["id", "person", "trip"])
        for number, walk in enumerate(walks(chain, given.trips, *given.length, given.seed)):
            table.writerow([number, number // 10, " ".join(map(text_of, walk))])


class Text:
    """Text in, bytes out."""

    def __init__(self, out: Any) -> None:
        self._out = out

    def write(self, text: str) -> None:
        """Write text as UTF-8."""
        self._out.write(text.encode())


if __name__ == "__main__":
    main()
