"""What certificates gain on real roads, and what they cost.

``python -m benchmarks.calibrated`` writes the two tables of the documentation's page on certified
calibration (half an hour): expected errors without and with a certificate on 43 links of Porto and
on its whole network, and the processor time and peak memory of every certificate. Needs the Porto
data (see examples/porto.py).
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dpauto
from benchmarks.harness import isolated

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT / "examples"))

FIGURES = CHECKOUT / "docs" / "accuracy" / "figures"
LENGTH = 30
EPSILONS, ADJACENCIES = (1, 2, 3, 5, 8), (1, 2, 4)
PLACES = ("neighbourhood", "network")
#: Drives through the neighbourhood: no trip stays there for so many links.
DRIVES = 200
HEADER = (
    "b",
    "ε",
    "exponential",
    "permute-and-flip",
    "calibrated",
    "less error",
    "which",
    "exponent ×",
    "seconds",
    "MiB",
)


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrated", description=__doc__)
    parser.add_argument("--places", nargs="+", choices=PLACES, default=PLACES)
    parser.add_argument("--folder", type=Path, default=FIGURES, help="where the tables go")
    options = parser.parse_args()
    for place in options.places:
        with (options.folder / f"calibrated-{place}.csv").open("w", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(HEADER)
            for row in rows(place, words(place, LENGTH)):
                table.writerow(row)
                file.flush()
                print(*row, flush=True)


def language(place: str, length: int) -> dpauto.Language:
    """Return the feasible drives of one of the places."""
    import porto

    chain: dpauto.MarkovChain
    chain = porto.neighbourhood() if place == "neighbourhood" else porto.roads()
    return chain.language(length)


def words(place: str, length: int) -> list[Sequence[Any]]:
    """Return drives to average over: the first links of the trips, or samples of the chain."""
    import porto

    if place == "network":
        return [trip[:length] for trip in porto.trips() if len(trip) >= length]
    chain, rng = porto.neighbourhood(), np.random.default_rng(1)
    return [chain.sample(length, rng) for _ in range(DRIVES)]


def rows(
    place: str,
    drives: Sequence[Sequence[Any]],
    *,
    epsilons: Sequence[int] = EPSILONS,
    adjacencies: Sequence[int] = ADJACENCIES,
) -> Iterator[list[object]]:
    """Yield the rows of a table."""
    length = len(drives[0])
    feasible = language(place, length)
    for b in adjacencies:
        found, costs = {}, {}
        for epsilon in epsilons:
            with tempfile.TemporaryDirectory() as folder:
                path = str(Path(folder) / "certificate")
                run = isolated(
                    prove, place=place, length=length, epsilon=epsilon, adjacency=b, path=path
                )
                found[epsilon] = dpauto.Certificate.load(path)
            costs[epsilon] = (f"{run.value:.0f}", f"{run.peak:.0f}")
        compared = dpauto.compare(
            feasible,
            drives,
            epsilons=epsilons,
            adjacency=b,
            mechanisms=("exponential", "permute-and-flip"),
            certificates=found,
        )
        for k, epsilon in enumerate(epsilons):
            means = [row.mean for row in compared[3 * k : 3 * k + 3]]
            yield [
                *(b, epsilon),
                *(f"{mean:#.4g}" for mean in means),
                f"{max(0.0, 100 * (1 - means[2] / min(means[:2]))):.1f} %",
                found[epsilon].mechanism,
                f"{found[epsilon].gain:.3f}",
                *costs[epsilon],
            ]


def prove(place: str, length: int, epsilon: int, adjacency: int, path: str) -> float:
    """Make a certificate, and return the seconds of processor time that it took."""
    feasible = language(place, length)
    started = time.process_time()
    dpauto.certify(feasible, epsilon=epsilon, adjacency=adjacency, mechanism="calibrated").save(
        path
    )
    return time.process_time() - started


if __name__ == "__main__":
    # By its name, since other processes import what they are to run.
    from benchmarks.calibrated import main as write

    with warnings.catch_warnings():
        # Seeds make the table repeatable; nothing here is anybody's secret.
        warnings.simplefilter("ignore", dpauto.NotPrivateWarning)
        write()
