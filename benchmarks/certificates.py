"""How tight certificates are: certified against true losses, and a sweep for soundness.

``python -m benchmarks.certificates --languages 2000`` draws random chains, and compares each proven
bound with the loss by enumeration. It prints quantiles of certified / true, and fails on the first
bound that is too low.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpauto import EmptyNeighbourhood
from dpauto.calibration.neighbours import require_neighbours
from dpauto.calibration.proof import Budget, Prover
from dpauto.privacy import Privacy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

#: Floats of the enumeration are this accurate.
ORACLE = 1e-9


def main() -> int:
    """Compare, print the table; return 1 at a bound below the truth."""
    from losses import true_loss
    from small_languages import small_language

    parser = argparse.ArgumentParser(prog="python -m benchmarks.certificates", description=__doc__)
    parser.add_argument("--languages", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    ratios: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    compared = 0
    while compared < options.languages:
        kind = rng.choice(["chain", "chain", "automaton"])
        language = small_language(rng, kind)
        b, exponent = rng.randint(1, 4), Fraction(rng.randint(1, 45), 10)
        if language is None:
            continue
        try:
            require_neighbours(language, b)
        except EmptyNeighbourhood:
            continue
        words = list(language.words())
        for mechanism in ("exponential", "permute-and-flip"):
            privacy = Privacy.of(epsilon=1, adjacency=b)
            prover = Prover(language, privacy, mechanism, Budget(contexts=2000))
            bound = float(prover.prove(exponent, Fraction(0)).loss)
            truth = true_loss(words, float(exponent), b, mechanism)
            if truth is None or bound < truth - ORACLE:
                print(f"UNSOUND: {kind} {compared}, {mechanism}, b = {b}: {bound} < {truth}")
                return 1
            ratios[kind, mechanism, b].append(bound / truth)
        compared += 1
    print("kind       mechanism         b  languages  median  90 %    worst (certified / true)")
    for (kind, mechanism, b), found in sorted(ratios.items()):
        middle, high, worst = np.quantile(found, [0.5, 0.9, 1])
        row = f"{kind:10} {mechanism:17} {b}  {len(found):9}  {middle:.4f}  {high:.4f}  {worst:.4f}"
        print(row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
