"""Real trips through the command line, from the start of the process to the renamed output."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Finding, amount, isolated, need, row

CHECKOUT = Path(__file__).resolve().parent.parent


@row("porto", trips=3)
def porto(rounds: int, *, trips: int | None = None) -> Iterator[Finding]:
    """All Porto taxi trips through the command line: wall time and peak memory.

    1,737 walks of 5 to 174 links over a network of 11,095 links; a trip may start on any link.
    """
    folder = Path(os.environ.get("DPAUTO_DATA", CHECKOUT.parent / "shared" / "data")) / "porto_taxi"
    need(folder.is_dir(), "the real data are not here; set DPAUTO_DATA to their folder")
    with tempfile.TemporaryDirectory() as scratch:
        routes = folder / "porto_routes.txt.gz"
        if trips is not None:
            routes = _first_trips(routes, Path(scratch) / "trips.txt", trips)
        runs = [
            isolated(
                dpauto_release,
                trips=str(routes),
                model=str(folder / "porto_edges.csv.gz"),
                output=str(Path(scratch) / "released.txt"),
            )
            for _ in range(rounds)
        ]
    count = f"{runs[0].value:,} Porto trips through the command line, ε = 3, b = 2"
    yield amount(
        count,
        [run.seconds for run in runs],
        "s",
        at_most=20,
        detail="wall time, interpreter and reading the network included",
    )
    yield amount(
        f"peak memory, {count}",
        [run.peak for run in runs],
        "MiB",
        detail="of the main process",
    )


def dpauto_release(trips: str, model: str, output: str) -> int:
    """Run ``dpauto release`` and return the number of trips it wrote."""
    from dpauto.cli import main

    arguments = ["release", trips, "--model", model, "--states", "links", "--after", ":"]
    status = main([*arguments, "--epsilon", "3", "--adjacency", "2", "-o", output])
    if status:
        raise RuntimeError(f"dpauto release ended with exit status {status}")
    lines = Path(output).read_text(encoding="utf-8").splitlines()
    return sum(not line.startswith("#") for line in lines)


def _first_trips(routes: Path, part: Path, count: int) -> Path:
    with gzip.open(routes, "rt", encoding="utf-8") as lines:
        part.write_text("".join(line for line, _ in zip(lines, range(count + 1), strict=False)))
    return part
