"""How often float64 does not decide, so that a release runs again in ball arithmetic.

``python -m benchmarks.escalations`` counts over a million releases, which takes many minutes; so it
is a command of its own. Since the answer is "hardly ever", each workload is also run with a unit
roundoff coarser by 2**26: the margins around borders widen in proportion, and the share that
escalates there, divided by 2**26, says what the count is too small to say.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.workloads import epsilon_for, grid, middle, walks
from dpauto import Exponential, Language, MarkovChain, Online, PermuteAndFlip
from dpauto.mechanisms import Mechanism
from dpauto.passes import FloatPass
from dpauto.words import Word

#: Words in one call; the counting is done in this process, so they are not shared among several.
BATCH = 2000
COARSER = 26


@dataclass(frozen=True)
class Workload:
    """What is released over and over; `share` is its part of all releases."""

    name: str
    share: float
    mechanism: Mechanism
    words: list[Word]


def workloads() -> Iterator[Workload]:
    """Yield several laws, feasible words and others, short words and long ones."""
    half = epsilon_for(0.5)
    chain = MarkovChain.from_matrix(grid(8), initial=middle(8))
    feasible = chain.language(24)
    trips = walks(chain, 24, 50)
    strays = [(*trip[:12], *trip[:12]) for trip in trips]
    yield Workload("permute-and-flip, n = 24", 0.3, PermuteAndFlip(feasible, epsilon=half), trips)
    yield Workload("the same, other words", 0.1, PermuteAndFlip(feasible, epsilon=half), strays)
    yield Workload("exponential, n = 24", 0.3, Exponential(feasible, epsilon=half), trips)
    yield Workload("online, n = 24", 0.09, Online(feasible, epsilon=half), trips)
    everything = PermuteAndFlip(Language.all_words("abcd", 8), epsilon=4)
    yield Workload("permute-and-flip, all 4^8 words", 0.2, everything, [tuple("abcdabcd")])
    # Weights of such long words span more than float64's exponents do.
    far = PermuteAndFlip(chain.language(1000), epsilon=half)
    yield Workload("permute-and-flip, n = 1000", 0.01, far, walks(chain, 1000, 20))


@contextmanager
def counting_escalations() -> Iterator[list[int]]:
    """Count the releases that need a second attempt, in the one entry of the list."""
    count = [0]
    # Each class that says how to attempt a release is watched while this lasts.
    originals = {
        kind: kind.__dict__["_attempt"] for kind in _kinds() if "_attempt" in kind.__dict__
    }

    def watched(original: Any) -> Any:
        def attempt(self: Any, word: Any, tape: Any, number: int) -> Any:
            count[0] += number == 1
            return original(self, word, tape, number)

        return attempt

    try:
        for kind, original in originals.items():
            setattr(kind, "_attempt", watched(original))  # noqa: B010 - patched on purpose
        yield count
    finally:
        for kind, original in originals.items():
            setattr(kind, "_attempt", original)  # noqa: B010


def _kinds() -> set[type]:
    """Every class of mechanism."""
    found: set[type] = set()
    fresh: set[type] = {Mechanism}
    while fresh:
        found |= fresh
        fresh = {sub for kind in fresh for sub in _below(kind)} - found
    return found


def _below(kind: type) -> list[type]:
    return kind.__subclasses__()


@contextmanager
def coarser_floats(bits: int) -> Iterator[None]:
    """Let passes in float64 take their unit roundoff for 2**bits times what it is."""
    unit = FloatPass.unit
    FloatPass.unit = unit * 2.0**bits
    try:
        yield
    finally:
        FloatPass.unit = unit


def escalated(work: Workload, releases: int) -> int:
    """Return how many of so many releases need more than their first attempt."""
    with counting_escalations() as count:
        for first in range(0, releases, BATCH):
            numbers = range(first, min(first + BATCH, releases))
            batch = [work.words[k % len(work.words)] for k in numbers]
            work.mechanism.release_many(batch, workers=1)
    return count[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; always 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.escalations", description=__doc__)
    parser.add_argument("--releases", type=int, default=10**6, help="over all workloads together")
    parser.add_argument("--coarse", type=int, default=10**5, help="coarse ones")
    options = parser.parse_args(arguments)
    print("| 64-state grid | releases | escalated | coarser releases | escalated | implied rate |")
    print("|---|---:|---:|---:|---:|---:|")
    total = releases = 0
    started = time.perf_counter()
    for work in workloads():
        fine, coarse = (
            math.ceil(count * work.share) for count in (options.releases, options.coarse)
        )
        seen = escalated(work, fine)
        with coarser_floats(COARSER):
            seen_coarse = escalated(work, coarse)
        total, releases = total + seen, releases + fine
        # Nothing follows from none: such a workload hardly computes in floats.
        implied = f"{seen_coarse / coarse / 2**COARSER:.1e}" if seen_coarse else ""
        cells = (work.name, f"{fine:,}", seen, f"{coarse:,}", seen_coarse, implied)
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    seconds = time.perf_counter() - started
    print(f"\n{total} of {releases:,} releases escalated ({seconds:.0f} s)")
    return 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
