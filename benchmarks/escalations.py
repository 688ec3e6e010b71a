"""How often float64 does not decide, so that a release runs again in ball arithmetic.

``python -m benchmarks.escalations`` counts over a million releases, which takes many minutes; so it
is a command of its own. Since the answer is "hardly ever", each workload is also run with a unit
roundoff coarser by 2**26: the margins around borders widen in proportion, and the share that
escalates there, divided by 2**26, says what the count is too small to say.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.workloads import epsilon_for, grid, middle, walks
from dpauto import Exponential, Language, MarkovChain, Online, PermuteAndFlip
from dpauto.mechanisms import Mechanism
from dpauto.passes import FloatPass
from dpauto.words import Word

#: Words in one call; the counting is done in this process, so they are not shared among several.
BATCH = 2000
COARSER = 26


def workloads() -> Iterator[tuple[str, Mechanism, list[Word]]]:
    """Yield (name, mechanism, words): several laws, feasible words and others."""
    chain = MarkovChain.from_matrix(grid(8), initial=middle(8))
    feasible = chain.language(24)
    trips = walks(chain, 24, 50)
    strays = [(*trip[:12], *trip[:12]) for trip in trips]
    half = epsilon_for(0.5)
    yield "permute-and-flip, 64-state grid, n = 24", PermuteAndFlip(feasible, epsilon=half), trips
    yield "the same, infeasible words", PermuteAndFlip(feasible, epsilon=half), strays
    yield "exponential, 64-state grid, n = 24", Exponential(feasible, epsilon=half), trips
    yield "online, 64-state grid, n = 24", Online(feasible, epsilon=half), trips
    everything = Language.all_words("abcd", 8)
    yield (
        "permute-and-flip, all 4^8 words",
        PermuteAndFlip(everything, epsilon=4),
        [tuple("abcdabcd")],
    )


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
        fresh = {sub for kind in fresh for sub in kind.__subclasses__()} - found
    return found


@contextmanager
def coarser_floats(bits: int) -> Iterator[None]:
    """Let passes in float64 take their unit roundoff for 2**bits times what it is."""
    unit = FloatPass.unit
    FloatPass.unit = unit * 2.0**bits
    try:
        yield
    finally:
        FloatPass.unit = unit


def escalated(mechanism: Mechanism, words: Sequence[Word], releases: int) -> int:
    """Return how many of so many releases need more than their first attempt."""
    with counting_escalations() as count:
        for first in range(0, releases, BATCH):
            size = min(BATCH, releases - first)
            batch = [words[(first + k) % len(words)] for k in range(size)]
            mechanism.release_many(batch, workers=1)
    return count[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; always 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.escalations", description=__doc__)
    parser.add_argument("--releases", type=int, default=10**6, help="over all workloads together")
    parser.add_argument("--coarse", type=int, default=20_000, help="coarse releases per workload")
    options = parser.parse_args(arguments)
    chosen = list(workloads())
    each = -(-options.releases // len(chosen))
    print("| workload | releases | escalated | coarser releases | escalated | implied rate |")
    print("|---|---:|---:|---:|---:|---:|")
    total = 0
    started = time.perf_counter()
    for name, mechanism, words in chosen:
        real = escalated(mechanism, words, each)
        with coarser_floats(COARSER):
            coarse = escalated(mechanism, words, options.coarse)
        total += real
        # Nothing follows from none: such a workload hardly computes in floats.
        implied = f"{coarse / options.coarse / 2**COARSER:.1e}" if coarse else ""
        print(
            f"| {name} | {each:,} | {real} | {options.coarse:,} | {coarse} | {implied} |",
            flush=True,
        )
    print(
        f"\n{total} of {each * len(chosen):,} releases escalated"
        f" ({time.perf_counter() - started:.0f} s)"
    )
    return 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
