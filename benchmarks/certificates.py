"""How tight certificates are: certified against true losses, and a sweep for soundness.

``python -m benchmarks.certificates --languages 5000`` draws random chains, deterministic and
nondeterministic automata, and compares each proven bound with the loss by enumeration. It prints
quantiles of certified / true, and fails on the first bound that is too low.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpauto import EmptyNeighbourhood, Language
from dpauto.calibration import boxes, proof
from dpauto.calibration.chain import as_chain
from dpauto.calibration.neighbours import require_neighbours
from dpauto.calibration.proof import Budget, Prover
from dpauto.privacy import Privacy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

#: Floats of the enumeration are this accurate.
ORACLE = 1e-9
KINDS = ("chain", "dfa", "reversed dfa", "automaton")
#: Ways of keeping boxes, which sizes choose where they are left alone; the table is of the first.
WAYS = ("as its size tells", "pooled", "near")
HEADER = ("languages of", "mechanism", "b", "bounds", "median", "90 %", "largest")


class Bound(NamedTuple):
    """A proven bound beside the truth."""

    family: str
    mechanism: str
    b: int
    way: str
    proven: float
    true: float


def main() -> int:
    """Compare, print the table; return 1 at a bound below the truth."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certificates", description=__doc__)
    parser.add_argument("--languages", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table as CSV too")
    options = parser.parse_args()
    ratios: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    bounds = 0
    for found in _bounds(random.Random(options.seed), options.languages):
        if found.proven < found.true - ORACLE:
            print(f"UNSOUND: {found}")
            return 1
        bounds += 1
        if found.way == WAYS[0]:
            ratios[found.family, found.mechanism, found.b].append(found.proven / found.true)
    table = [HEADER, *(_line(key, found) for key, found in sorted(ratios.items()))]
    for line in table:
        print("  ".join(f"{cell:>16}" for cell in line))
    print(f"{bounds:,} bounds on {options.languages:,} languages, none below the true loss")
    if options.output is not None:
        with options.output.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(table)
    return 0


def _line(key: tuple[str, str, int], found: list[float]) -> tuple[str, ...]:
    family, mechanism, b = key
    quantiles = np.quantile(found, [0.5, 0.9, 1])
    return (family, mechanism, str(b), str(len(found)), *(f"{q:.3f}" for q in quantiles))


def _bounds(rng: random.Random, languages: int) -> Iterator[Bound]:
    """Draw languages that have neighbours, and bound their losses."""
    from small_languages import small_language

    drawn = 0
    while drawn < languages:
        language = small_language(rng, rng.choice(KINDS))
        b, exponent = rng.randint(1, 4), Fraction(rng.randint(1, 45), 10)
        if language is None:
            continue
        try:
            require_neighbours(language, b)
        except EmptyNeighbourhood:
            continue
        yield from _bounds_of(rng, language, exponent, b)
        drawn += 1


def _bounds_of(
    rng: random.Random, language: Language, exponent: Fraction, b: int
) -> Iterator[Bound]:
    from losses import true_loss

    words = list(language.words())
    family = _family(language)
    # Large chains keep boxes for less; here small ones do too.
    ways = (WAYS[0], rng.choice(WAYS[1:])) if family == "chain" else WAYS[:1]
    for mechanism in ("exponential", "permute-and-flip"):
        truth = true_loss(words, float(exponent), b, mechanism)
        if truth is None:
            raise RuntimeError("a language with neighbours has a loss")
        for way in ways:
            prover = Prover(language, Privacy.of(epsilon=1, adjacency=b), mechanism, Budget(2000))
            if way != WAYS[0]:
                prover.__dict__["is_placed"] = False
            if way == "near":
                prover.__dict__["is_dense"] = False
                proof.RADIUS, boxes.ALL_LENGTHS = rng.randint(0, 2), rng.choice((0, 50))
            # The table is of the tightest bounds; elsewhere the first one may be all there is.
            target = Fraction(truth + ORACLE) if way == WAYS[0] or rng.random() < 0.5 else 0
            proven = float(prover.prove(exponent, Fraction(target)).loss)
            yield Bound(family, mechanism, b, way, proven, truth)


def _family(language: Language) -> str:
    """What the language's automaton is, whatever model it came from."""
    if as_chain(language) is not None:
        return "chain"
    return "DFA" if language.automaton.is_deterministic else "NFA"


if __name__ == "__main__":
    sys.exit(main())
